//! `crfkit tag` in a pipe: whoever sends a sequence and waits gets its answer.

use crate::common;

use common::{crfkit, demo, failure, output, scratch};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Far more than any answer takes; a program that waits for more input waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `crfkit tag` that reads from a pipe.
struct Conversation {
    program: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Conversation {
    fn begin(arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_crfkit"))
            .arg("tag")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let answers = BufReader::new(program.stdout.take().unwrap());
        std::thread::spawn(move || answers.lines().try_for_each(|line| sender.send(line.unwrap())));
        Conversation { input: program.stdin.take(), program, lines }
    }

    fn say(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// The next line of the answer, while the input is still open.
    fn hear(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer, before more input is sent")
    }

    /// Closes the input; returns what else is answered.
    fn end(mut self) -> Vec<String> {
        self.input = None;
        let rest = self.lines.iter().collect();
        assert!(self.program.wait().unwrap().success());
        rest
    }
}

fn model() -> String {
    demo().join("model").display().to_string()
}

/// Says each item, alone and then in pieces, and expects the answer that the whole has as a file.
fn answers_at_once(arguments: &[&str], directory: &Path, items: &[&str]) {
    let file = directory.join("input");
    for threads in ["1", "3"] {
        let mut talk = Conversation::begin(&[arguments, &["--threads", threads]].concat());
        for item in items {
            fs::write(&file, item).unwrap();
            let expected = output(crfkit().arg("tag").args(arguments).arg(&file));
            assert!(!expected.is_empty());
            talk.say(item);
            expected.lines().for_each(|line| assert_eq!(talk.hear(), line));
            // The second item is answered although the third has begun.
            let half = item.len() / 2;
            talk.say(&format!("{item}{}", &item[..half]));
            expected.lines().for_each(|line| assert_eq!(talk.hear(), line));
            talk.say(&item[half..]);
            expected.lines().for_each(|line| assert_eq!(talk.hear(), line));
        }
        assert_eq!(talk.end(), [""; 0]);
    }
}

#[test]
fn sequences_of_columns_are_answered_at_once() {
    let directory = scratch();
    answers_at_once(
        &["-m", &model()],
        directory.path(),
        &["2\ncups\nflour\n\n", "a\n\n", "1\r\nred\r\nonion\r\n\r\n"],
    );
    let json = "{\"tokens\": [\"2\", \"cups\"]}\n";
    answers_at_once(&["-m", &model(), "--format", "json", "--output", "json"], directory.path(), &[json]);
    let text = "2 cups of flour, sifted\n";
    answers_at_once(&["-m", &model(), "--text", "--output", "brackets"], directory.path(), &[text]);
    let conllu = "# c\n1\tcups\tcup\tX\tX\t_\t0\troot\t_\t_\n\n";
    answers_at_once(&["-m", &model(), "--format", "conllu"], directory.path(), &[conllu]);
}

#[test]
fn other_kinds_of_input_are_answered_at_once() {
    let directory = scratch();
    let at = |name: &str| -> PathBuf { directory.path().join(name) };
    let train = |file: &str, text: &str, arguments: &[&str]| -> String {
        fs::write(at(file), text).unwrap();
        let model = at(&format!("{file}.model"));
        crfkit()
            .arg("train")
            .arg(at(file))
            .args(arguments)
            .arg("--quiet")
            .arg("-m")
            .arg(&model)
            .assert()
            .success();
        model.display().to_string()
    };
    let attributes = train("attributes", "A\tw=a\nB\tw=b\n\n", &["--format", "attributes"]);
    answers_at_once(&["-m", &attributes], directory.path(), &["A\tw=a\nA\tw=b\n\n", "@weight:2\nA\tw=a\n\n"]);
    let linked = train("linked", "a A x\nb B y\n\n", &["--graph", "factorial", "--label-column", "1,2"]);
    answers_at_once(&["-m", &linked], directory.path(), &["a\nb\n\n", "b\n\n"]);
    let types = "{\"types\": {\"page\": {\"labels\": [\"A\", \"B\"]}}}\n";
    let graph =
        "{\"nodes\": [{\"type\": \"page\", \"label\": \"A\", \"features\": [\"f\"]}], \"factors\": []}\n";
    let graphs = train("graphs", &format!("{types}{graph}"), &["--graph", "file"]);
    answers_at_once(&["-m", &graphs], directory.path(), &[graph]);
}

#[test]
fn a_long_text_through_a_pipe_is_labelled_as_from_a_file() {
    let text = fs::read_to_string(demo().join("test.tsv")).unwrap().repeat(20);
    let file = scratch();
    let path = file.path().join("long.tsv");
    fs::write(&path, &text).unwrap();
    let expected = output(crfkit().args(["tag", "-m", &model()]).arg(&path));
    for threads in ["1", "2", "5"] {
        let mut talk = Conversation::begin(&["-m", &model(), "--threads", threads]);
        let mut input = talk.input.take().unwrap();
        let all = text.clone();
        let writer = std::thread::spawn(move || input.write_all(all.as_bytes()).unwrap());
        assert!(talk.end().iter().map(String::as_str).eq(expected.lines()), "{threads} threads");
        writer.join().unwrap();
    }
    assert_eq!(output(crfkit().args(["tag", "--line-buffered", "-m", &model()]).arg(&path)), expected);
}

#[test]
fn an_error_in_a_pipe_comes_after_the_answers_before_it() {
    let mut talk = Conversation::begin(&["-m", &model()]);
    talk.say("2\ncups\n\n");
    assert!(talk.hear().starts_with("2\t"));
    talk.say("a b\n\n");
    talk.input = None;
    assert_eq!(talk.program.wait().unwrap().code(), Some(1));
}

#[test]
fn line_buffered_is_about_text() {
    let directory = scratch();
    let types = "{\"types\": {\"page\": {\"labels\": [\"A\", \"B\"]}}}\n{\"nodes\": [{\"type\": \"page\", \"label\": \"A\"}], \"factors\": []}\n";
    fs::write(directory.path().join("graphs"), types).unwrap();
    let (data, model) = (directory.path().join("graphs"), directory.path().join("model"));
    crfkit().args(["train", "--graph", "file", "--quiet", "-m"]).arg(&model).arg(&data).assert().success();
    output(crfkit().args(["tag", "--line-buffered", "-m"]).arg(&model).arg(&data));
    let message = failure(crfkit().args(["tag", "--text", "-m"]).arg(&model).arg(&data), 2);
    assert!(message.contains("--text does not go with a model of graphs"), "{message}");
}

/// A model that comes through a pipe can be read once, however many models begin with it.
#[cfg(unix)]
#[test]
fn a_model_to_begin_with_is_opened_once() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let text: String = (0..30).map(|k| format!("w{}\tA\nw{}\tB\n\n", k % 5, 5 + k % 7)).collect();
    fs::write(at("data"), text).unwrap();
    output(crfkit().arg("train").arg(at("data")).args(["--passes", "2", "--quiet", "-m"]).arg(at("model")));
    let model = fs::read(at("model")).unwrap();
    for (number, arguments) in [
        &["cv", "data", "--folds", "3", "--init", "pipe"][..],
        &["cv", "data", "--folds", "3", "--prior-mean", "pipe"],
        &["search", "data", "--sigma", "1,2", "--prior-mean", "pipe"],
        &["train", "data", "-m", "new", "--calibrate", "--init", "pipe"],
        &["train", "data", "-m", "new", "--init", "pipe", "--prior-mean", "pipe"],
    ]
    .into_iter()
    .enumerate()
    {
        let pipe = at(&format!("pipe{number}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (end, bytes) = (pipe.clone(), model.clone());
        std::thread::spawn(move || fs::write(end, bytes));
        let mut command = crfkit();
        for argument in arguments {
            match *argument {
                "pipe" => command.arg(&pipe),
                name if ["data", "new"].contains(&name) => command.arg(at(name)),
                flag => command.arg(flag),
            };
        }
        command.timeout(PATIENCE).assert().success();
    }
}

#[test]
fn standard_input_is_read_once_and_never_written() {
    let (demo, directory) = (demo(), scratch());
    let (model, small) = (demo.join("model"), fs::read(demo.join("small.tsv")).unwrap());
    let inside = || {
        let mut command = crfkit();
        command.current_dir(directory.path());
        command
    };
    // A model can come from it too.
    let bytes = fs::read(&model).unwrap();
    let told = output(inside().args(["inspect", "-", "--top", "1"]).write_stdin(bytes.clone()));
    assert_eq!(told, output(inside().arg("inspect").arg(&model).args(["--top", "1"])));
    for twice in [
        &["tag", "-m", "-"][..],
        &["eval", "--predicted", "-", "--against", "-"],
        &["diff", "-", "-"],
        &["train", "-", "--template", "-", "-m", "m"],
    ] {
        let input = if twice[0] == "tag" || twice[0] == "diff" { bytes.clone() } else { small.clone() };
        let message = failure(inside().args(twice).write_stdin(input), 1);
        assert!(message.contains("standard input: it is given twice"), "{twice:?}: {message}");
    }
    fs::write(directory.path().join("data"), &small).unwrap();
    let model = model.to_str().unwrap();
    for written in [
        &["train", "data", "-m", "-"][..],
        &["train", "data", "-m", "m", "--log", "-"],
        &["report", "-m", model, "-o", "-"],
        &["convert", model, "-"],
        &["calibrate", "-m", model, "data", "-o", "-"],
    ] {
        let message = failure(inside().args(written), 2);
        assert!(message.contains(" -: this is standard input"), "{written:?}: {message}");
    }
    assert!(!directory.path().join("-").exists());
}
