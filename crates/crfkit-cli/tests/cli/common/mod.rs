//! What the tests of the program share.
#![allow(dead_code)] // each test file uses its part

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The program.
pub fn crfkit() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit"));
    command.env_remove("CRFKIT_SIMD").env_remove("CRFKIT_CHECKPOINT_SECONDS");
    command
}

/// Sequences of the training part that tests use: enough to learn from, few enough to be quick.
const TRAIN: usize = 300;

/// The demo's files, and a small part of its training data as `small.tsv`. Made once, read only.
pub fn demo() -> PathBuf {
    static DEMO: OnceLock<TempDir> = OnceLock::new();
    let directory = DEMO.get_or_init(|| {
        let directory = TempDir::new().unwrap();
        crfkit().arg("demo").arg("--write").arg(directory.path()).assert().success();
        let train = std::fs::read_to_string(directory.path().join("train.tsv")).unwrap();
        let small: String = train.split_inclusive("\n\n").take(TRAIN).collect();
        std::fs::write(directory.path().join("small.tsv"), small).unwrap();
        directory
    });
    directory.path().to_owned()
}

/// An empty directory.
pub fn scratch() -> TempDir {
    TempDir::new().unwrap()
}

/// Standard output of a command that must succeed.
pub fn output(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

/// Standard error of a command that must fail with this status.
pub fn failure(command: &mut Command, status: i32) -> String {
    let message = String::from_utf8(command.assert().code(status).get_output().stderr.clone()).unwrap();
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// The JSON objects of a text, one a line.
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The data of a page.
pub fn page_data(page: &Path) -> serde_json::Value {
    let html = std::fs::read_to_string(page).unwrap();
    let data = html.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}
