//! `crfkit report`, `crfkit watch` and `crfkit train --report`.

use crate::common;

use common::{crfkit, demo, failure, page_data as data, scratch};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Trains a little and returns nothing but files: `NAME` and `NAME.jsonl`.
fn train(directory: &Path, name: &str, arguments: &[&str]) {
    let mut command = crfkit();
    command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(directory.join(name));
    command.arg("--log").arg(directory.join(format!("{name}.jsonl")));
    command.args(["--quiet", "--passes", "3"]).args(arguments).assert().success();
}

#[test]
fn runs_a_model_and_its_mistakes_become_a_page() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    train(directory.path(), "a", &["--dev", demo().join("test.tsv").to_str().unwrap()]);
    train(directory.path(), "b", &["--sigma", "0.5"]);
    let mut command = crfkit();
    command.arg("report").args([path("a.jsonl"), path("b.jsonl")]).arg("-m").arg(path("a"));
    command.arg("--test").arg(demo().join("test.tsv")).arg("-o").arg(path("page.html"));
    command.assert().success().stdout("").stderr("");
    let page = data(&path("page.html"));
    assert_eq!(page["runs"].as_array().unwrap().len(), 2);
    assert_eq!((&page["runs"][0]["name"], &page["runs"][1]["name"]), (&"a".into(), &"b".into()));
    assert_eq!(page["runs"][1]["start"]["settings"]["sigma"], 0.5);
    assert!(page["runs"][0]["evals"].as_array().unwrap().len() >= 2);
    assert_eq!(page["model"]["labels"].as_array().unwrap().len(), 13);
    // The scores are those of `crfkit eval`.
    let scores =
        common::output(crfkit().args(["eval", "--json", "-m"]).arg(path("a")).arg(demo().join("test.tsv")));
    assert_eq!(page["evaluations"][0]["scores"], serde_json::from_str::<serde_json::Value>(&scores).unwrap());
    let samples = page["evaluations"][0]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 40);
    assert!(samples[0]["tokens"].as_array().unwrap().iter().any(|t| t["gold"] != t["predicted"]));

    // The reasons for mistakes are those of `crfkit explain`.
    let mut explain = crfkit();
    explain.args(["explain", "--only-wrong", "--output", "json", "--top", "6", "-m"]).arg(path("a"));
    let explained = common::output(explain.arg(demo().join("test.tsv")));
    let mut explained =
        explained.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let tokens = samples[0]["tokens"].as_array().unwrap();
    let wrong = tokens.iter().position(|t| t["gold"] != t["predicted"]).unwrap();
    let reason = &tokens[wrong]["reason"];
    let place = samples[0]["place"].as_str().unwrap();
    let of = |case: &serde_json::Value| format!("{}:{}", case["input"].as_str().unwrap(), case["line"]);
    let case = explained.find(|case| of(case) == place && case["token"] == wrong).unwrap();
    assert_eq!((&reason["rival"], &reason["difference"]), (&case["rival"], &case["difference"]));
    assert_eq!((&reason["rest"], &reason["others"]), (&case["others"]["amount"], &case["others"]["count"]));
    let amounts = |parts: &serde_json::Value| -> Vec<f64> {
        parts.as_array().unwrap().iter().map(|part| part["amount"].as_f64().unwrap()).collect()
    };
    assert_eq!(amounts(&reason["parts"]), amounts(&case["contributions"]));
    assert!(reason["parts"][0]["labels"].as_str().unwrap().contains(", not "));
    assert!(tokens.iter().all(|t| t["gold"] != t["predicted"] || t["reason"].is_null()));

    // The number of threads changes no byte.
    let pages = ["1", "2"].map(|threads| {
        let mut command = crfkit();
        command
            .args(["report", "--threads", threads, "-m"])
            .arg(path("a"))
            .arg("--test")
            .arg(demo().join("test.tsv"));
        command.arg("-o").arg(path(threads)).assert().success();
        fs::read(path(threads)).unwrap()
    });
    assert_eq!(pages[0], pages[1]);
}

#[test]
fn logs_of_one_name_are_told_apart() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    train(directory.path(), "a", &[]);
    fs::create_dir(path("other")).unwrap();
    fs::copy(path("a.jsonl"), path("other/a.jsonl")).unwrap();
    let mut command = crfkit();
    command.current_dir(directory.path()).args(["report", "a.jsonl", "other/a.jsonl", "-o", "page.html"]);
    command.assert().success();
    let page = data(&path("page.html"));
    assert_eq!(
        (&page["runs"][0]["name"], &page["runs"][1]["name"]),
        (&"a.jsonl".into(), &"other/a.jsonl".into())
    );
}

#[test]
fn training_writes_its_own_page() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let hostile = "</script><script>alert(1)</script>";
    let small = fs::read_to_string(demo().join("small.tsv")).unwrap();
    fs::write(path("train.tsv"), format!("{hostile}\tO\n\n{small}")).unwrap();
    fs::write(path("dev.tsv"), format!("{hostile}\tB-NAME\n")).unwrap();
    let mut command = crfkit();
    command.current_dir(directory.path()).args([
        "train",
        "train.tsv",
        "--dev",
        "dev.tsv",
        "-m",
        "m",
        "--passes",
        "3",
    ]);
    let said = command.args(["--report", "page.html"]).assert().success();
    let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
    assert!(said.contains("report: page.html"), "{said}");
    let html = fs::read_to_string(path("page.html")).unwrap();
    assert!(!html.contains(hostile) && html.matches("</script>").count() == 2);
    let page = data(&path("page.html"));
    assert_eq!(page["runs"][0]["name"], "m");
    assert!(page["runs"][0]["progress"].as_array().unwrap().len() >= 3);
    assert!(page["runs"][0]["stop"]["model_bytes"].as_u64().unwrap() > 0);
    assert_eq!(page["evaluations"][0]["samples"][0]["tokens"][0]["text"], hostile);

    // The page changes nothing about the model; without development data it has no scores.
    command = crfkit();
    command.current_dir(directory.path()).args(["train", "train.tsv", "-m", "m", "--passes", "3", "--quiet"]);
    command.assert().success();
    let model = fs::read(path("m")).unwrap();
    command.args(["--report", "page.html", "--log", "first-run.jsonl"]).assert().success();
    assert!(fs::read(path("m")).unwrap() == model);
    let page = data(&path("page.html"));
    assert!(page["evaluations"].as_array().unwrap().is_empty() && page["runs"][0]["name"] == "first-run");

    // --quiet is quiet, also about labels that the model does not know.
    fs::write(path("dev.tsv"), "flour\tB-UNSEEN\n").unwrap();
    command.args(["--dev", "dev.tsv"]).assert().success().stderr("");
    assert_eq!(data(&path("page.html"))["evaluations"][0]["samples"][0]["tokens"][0]["p_gold"], 0.0);
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    train(directory.path(), "a", &[]);
    fs::write(path("empty.jsonl"), "").unwrap();
    let report = |arguments: &[&str], status| {
        let mut command = crfkit();
        command.current_dir(directory.path()).arg("report").args(arguments);
        let message = failure(&mut command, status);
        assert!(!path("page.html").exists());
        message
    };
    let small = demo().join("small.tsv");
    let cases: [(&[&str], &str); 4] = [
        (&["no.jsonl", "-o", "page.html"], "no.jsonl: "),
        (
            &[small.to_str().unwrap(), "-o", "page.html"],
            "small.tsv:1: this is not an event of a training log",
        ),
        (&["empty.jsonl", "-o", "page.html"], "empty.jsonl: no run in it"),
        (&["a.jsonl", "-o", "no/page.html"], "no/page.html: there is no directory no"),
    ];
    for (arguments, expected) in cases {
        let message = report(arguments, 1);
        assert!(message.contains(expected), "{message}");
    }
    report(&["-o", "page.html"], 2);
    report(&["a.jsonl"], 2);
    report(&["a.jsonl", "a.jsonl", "-o", "page.html"], 2);
    report(&["a.jsonl", "--test", "x", "-o", "page.html"], 2);
    // A page that cannot be written is found out before training.
    let mut command = crfkit();
    command.args(["train", "no-data", "-m"]).arg(path("m")).arg("--report").arg(path("no/page.html"));
    assert!(failure(&mut command, 1).contains("no/page.html"));
}

/// A server that ends with the test.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Watch {
    /// Serves a log; returns the address without `http://`, too.
    fn start(log: &Path) -> (Watch, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit"));
        let mut child = command.arg("watch").arg(log).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().strip_suffix('/').unwrap();
        (Watch(child), address.to_owned())
    }
}

/// Status line and body of the answer to a request for `path` from the server that calls itself `host`.
fn ask(address: &str, path: &str, host: &str) -> (String, String) {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn a_run_can_be_watched_from_this_computer_only() {
    let directory = scratch();
    let log = directory.path().join("run.jsonl");
    let (_server, address) = Watch::start(&log);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let run = || -> serde_json::Value {
        let (status, body) = ask(&address, "/data", &address);
        assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
        let page: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(page["live"], true);
        page["runs"][0].clone()
    };
    assert!(run()["start"].is_null(), "the log is not there yet");
    assert_eq!(run()["name"], "run");
    let mut file = fs::File::create(&log).unwrap();
    writeln!(file, "{{\"event\":\"settings\",\"format\":1}}").unwrap();
    for steps in 1..4 {
        writeln!(file, "{{\"event\":\"progress\",\"passes\":{steps},\"seconds\":1,\"objective\":9}}")
            .unwrap();
        write!(file, "{{\"event\":").unwrap(); // the next line, half written
        assert_eq!(run()["progress"].as_array().unwrap().len(), steps);
        writeln!(file, "\"other\"}}").unwrap();
    }
    let (status, body) = ask(&address, "/", &address);
    assert!(
        status.ends_with("200 OK")
            && body.starts_with("<!doctype html>")
            && body.contains("connect-src 'self'")
    );
    let (status, body) = ask(&address, "/data", "evil.example");
    assert!(status.ends_with("403 Forbidden") && !body.contains("event"), "{status}");
    assert!(ask(&address, "/etc/passwd", &address).0.ends_with("404 Not Found"));
    // A log that turns out to be none is said, and the server lives on.
    fs::write(&log, "word B-NP\n").unwrap();
    let (status, body) = ask(&address, "/data", &address);
    assert!(
        status.ends_with("500 Internal Server Error") && body.contains("run.jsonl:1: this is not an event"),
        "{body}"
    );
    assert!(ask(&address, "/nowhere", &address).0.ends_with("404 Not Found"));
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let message = failure(crfkit().args(["watch", "x.jsonl", "--port", &port]), 1);
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
    failure(crfkit().args(["watch"]), 2);
    failure(crfkit().arg("watch").arg(demo().join("small.tsv")), 1);
}
