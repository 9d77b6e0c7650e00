//! `crfkit watch`: the page of `crfkit report`, served while training runs.

use super::report::{named_runs, read_log};
use crate::args::WatchArgs;
use crate::error::{INTERRUPTED, stdout_failed};
use anyhow::{Context, Result};
use crfkit_report::http::{self, Response};
use crfkit_report::{Page, Run};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

/// Serves until Ctrl-C.
pub fn run(args: &WatchArgs) -> Result<ExitCode> {
    read(&args.runs)?; // a file that is not a log is rejected here, not in the browser
    let name = format!("127.0.0.1:{}", args.port);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).with_context(|| name.clone())?;
    let address = listener.local_addr().context(name)?;
    ctrlc::set_handler(|| std::process::exit(INTERRUPTED.into())).context("cannot listen for Ctrl-C")?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{address}/").and_then(|()| stdout.flush()).map_err(stdout_failed)?;
    let runs = args.runs.clone();
    http::serve(&listener, address.port(), move |path| answer(path, &runs));
    Ok(ExitCode::SUCCESS)
}

/// The page is at `/`; it asks for `/data` again and again.
fn answer(path: &str, runs: &[PathBuf]) -> Response {
    let write = match path {
        "/" => Page::write_html,
        "/data" => Page::write_data,
        _ => return Response::text(404, "this server has only / and /data"),
    };
    let mut body = Vec::new();
    let made = read(runs).and_then(|runs| {
        let page = Page { runs, live: true, ..Page::default() };
        Ok(write(&page, &mut body)?)
    });
    match made {
        Err(error) => Response::text(500, &format!("{error:#}")),
        Ok(()) if path == "/" => Response { status: 200, kind: "text/html; charset=utf-8", body },
        Ok(()) => Response { status: 200, kind: "application/json", body },
    }
}

/// The runs in their present state; a log that does not exist yet is a run that has not begun.
fn read(paths: &[PathBuf]) -> Result<Vec<Run>> {
    named_runs(paths, |path| if path.exists() { read_log(path) } else { Ok(Run::default()) })
}
