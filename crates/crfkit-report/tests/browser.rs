//! The page in a real browser: headless Chromium, if the machine has one (or `CRFKIT_CHROMIUM` names it); else the tests say
//! loudly that they were skipped.

mod sample;

use sample::{HOSTILE, page};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

/// The browser; `None`, said on standard error and in the list that `CRFKIT_SKIPPED` names, where there is none.
fn chromium(test: &str) -> Option<PathBuf> {
    let works =
        |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|o| o.status.success());
    let named = std::env::var_os("CRFKIT_CHROMIUM").map(PathBuf::from);
    let found = match named {
        Some(path) => Some(path), // what is named must work
        None => ["chromium", "chromium-browser", "google-chrome"].map(PathBuf::from).into_iter().find(works),
    };
    if found.is_none() {
        eprintln!("SKIPPED: {test}: there is no Chromium; install one, or name it in CRFKIT_CHROMIUM");
        if let Some(list) = std::env::var_os("CRFKIT_SKIPPED") {
            let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
            // In one piece: other tests append at the same time.
            list.write_all(format!("{test} (needs Chromium)\n").as_bytes()).unwrap();
        }
    }
    found
}

/// The document at `address` after its scripts have run for some seconds of their time. Nothing may be said on the console.
fn document(chromium: &PathBuf, address: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args([
            "--window-size=1300,900",
            "--enable-logging=stderr",
            "--virtual-time-budget=8000",
            "--dump-dom",
        ])
        .arg(address)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "on the console: {console:#?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_reader_can_use_the_page_on_screens_of_every_width() {
    let Some(chromium) = chromium("a_reader_can_use_the_page_on_screens_of_every_width") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut html = Vec::new();
    page().write_html(&mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    let hostile = serde_json::to_string(HOSTILE).unwrap().replace('<', "\\u003c");
    let reader =
        format!("<script>const HOSTILE = {hostile};\n{}</script></body>", include_str!("browser.js"));
    fs::write(directory.path().join("page.html"), html.replace("</body>", &reader)).unwrap();
    for width in [1200, 768, 360] {
        // A frame can be narrower than any window.
        let frame = format!(
            "<!doctype html><iframe src=page.html width={width} height=800></iframe><pre>nothing heard</pre>\
             <script>onmessage = event => document.querySelector('pre').textContent = event.data</script>"
        );
        let path = directory.path().join("frame.html");
        fs::write(&path, frame).unwrap();
        let seen = document(&chromium, &format!("file://{}", path.display()));
        assert!(seen.contains("<pre>all right</pre>"), "{width} pixels wide: {seen}");
    }
}

#[test]
fn a_live_page_follows_its_server() {
    let Some(chromium) = chromium("a_live_page_follows_its_server") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    // Serves a run that goes on, and from the third question on one that has ended.
    std::thread::spawn(move || {
        let mut questions = 0;
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = [0; 4096];
            let length = connection.read(&mut request).unwrap();
            let mut page = page();
            page.live = true;
            let mut body = Vec::new();
            if request[..length].starts_with(b"GET /data") {
                questions += 1;
                if questions < 3 {
                    page.runs.iter_mut().for_each(|run| run.stop = None);
                }
                page.write_data(&mut body).unwrap();
            } else {
                page.runs.iter_mut().for_each(|run| run.stop = None);
                page.write_html(&mut body).unwrap();
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(&body));
        }
    });
    let seen = document(&chromium, &address);
    assert!(seen.contains("Live: training has ended."), "{seen}");
    assert!(seen.contains("tolerance reached"), "{seen}");
}
