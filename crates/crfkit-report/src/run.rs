//! One training run, read from its log (docs/CLI.md, "The log").

use crfkit::{Error, Place, Result};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::io::BufRead;

/// The newest version of the log that can be read; all older versions can be read too.
pub const FORMAT: u32 = 1;

/// A run, as far as its log goes: how it began, its steps and evaluations, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Run {
    /// The name of the run on the page.
    pub name: String,
    /// How it began; `None` if the log is still empty.
    pub start: Option<Start>,
    /// Its steps.
    pub progress: Vec<Progress>,
    /// Its evaluations on development data.
    pub evals: Vec<Eval>,
    /// How it ended; `None` while it runs.
    pub stop: Option<Stop>,
}

/// The event `settings`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The version of the log.
    pub format: u32,
    /// Whether the run resumes from a checkpoint.
    #[serde(default)]
    pub resumed: bool,
    /// The settings that shaped the model, by name.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Everything else: version, vector unit, threads, data sizes.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// The event `progress`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of evaluations of the training set.
    pub passes: f64,
    /// Seconds since training started.
    pub seconds: f64,
    /// Losses plus penalty.
    pub objective: Option<f64>,
    /// Norm of the gradient.
    pub gradient_norm: Option<f64>,
}

/// The event `eval`. Scores are in per cent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Eval {
    /// The name of the data evaluated on.
    #[serde(default)]
    pub data: String,
    /// The number of evaluations of the training set.
    pub passes: f64,
    /// Seconds since training started.
    pub seconds: f64,
    /// Chunk F1.
    pub f1: Option<f64>,
    /// Token accuracy.
    pub accuracy: Option<f64>,
    /// Whether this is the best evaluation so far.
    #[serde(default)]
    pub best: bool,
}

/// The event `stop`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Why the run stopped.
    pub reason: String,
    /// The number of evaluations of the training set.
    pub passes: f64,
    /// Seconds since training started.
    pub seconds: f64,
    /// Losses plus penalty at the weights of the model.
    pub objective: Option<f64>,
    /// The number of non-zero weights in the model file.
    pub active_features: Option<u64>,
    /// The size of the model file in bytes.
    pub model_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Settings(Start),
    Progress(Progress),
    Eval(Eval),
    Stop(Stop),
    /// An event of a later version of the log.
    #[serde(other)]
    Unknown,
}

impl Run {
    /// Reads a log; `name` is its name in errors and on the page. Unknown events and fields are ignored, and so is a
    /// last line that is still being written.
    pub fn read(mut log: impl BufRead, name: &str) -> Result<Run> {
        let mut reader =
            Reader { run: Run { name: name.into(), ..Run::default() }, seconds_before: 0.0, repeats: false };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if log.read_until(b'\n', &mut line).map_err(|error| Error::io(name, error))? == 0 {
                break;
            }
            let whole = line.ends_with(b"\n");
            let wrong = |message: String| Error::input(Place::new(name, number), message);
            match serde_json::from_slice(&line) {
                Ok(event) => reader.take(event).map_err(wrong)?,
                Err(_) if !whole || line.iter().all(u8::is_ascii_whitespace) => {}
                Err(error) => {
                    let message = "this is not an event of a training log, such as crfkit train --log writes";
                    return Err(wrong(match error.classify() {
                        Category::Data => message.into(), // JSON, but another kind of file
                        _ => format!("{message}: {error}"),
                    }));
                }
            }
        }
        Ok(reader.run)
    }
}

struct Reader {
    run: Run,
    /// The seconds that earlier parts of a resumed run took: each part counts its seconds from 0.
    seconds_before: f64,
    /// Set when a part begins: events that it repeats are dropped from the previous part.
    repeats: bool,
}

impl Reader {
    fn take(&mut self, event: Event) -> std::result::Result<(), String> {
        match event {
            Event::Settings(start) => self.start(start)?,
            Event::Progress(mut step) => {
                self.drop_from(step.passes);
                step.seconds += self.seconds_before;
                self.run.progress.push(step);
            }
            Event::Eval(mut eval) => {
                self.drop_from(eval.passes);
                eval.seconds += self.seconds_before;
                self.run.evals.push(eval);
            }
            Event::Stop(mut stop) => {
                stop.seconds += self.seconds_before;
                self.run.stop = Some(stop);
            }
            Event::Unknown => {}
        }
        Ok(())
    }

    /// Handles the first event, or the next part of a run that was interrupted.
    fn start(&mut self, start: Start) -> std::result::Result<(), String> {
        if start.format > FORMAT {
            return Err(format!(
                "a log of format {}, but this program reads {FORMAT}: use a newer version",
                start.format
            ));
        }
        if self.run.start.is_some() && !start.resumed {
            return Err("a second run begins here: give each run its own log".into());
        }
        let Run { progress, evals, stop, .. } = &mut self.run;
        let ends = progress.last().map(|step| step.seconds).into_iter();
        let ends = ends.chain(evals.last().map(|eval| eval.seconds)).chain(stop.as_ref().map(|s| s.seconds));
        self.seconds_before = ends.fold(self.seconds_before, f64::max);
        self.run.stop = None;
        self.repeats = self.run.start.replace(start).is_some();
        Ok(())
    }

    /// Called at the first event of a resumed part: drops what the previous part did after the checkpoint, because it
    /// is done again.
    fn drop_from(&mut self, passes: f64) {
        if std::mem::take(&mut self.repeats) {
            self.run.progress.retain(|step| step.passes < passes);
            self.run.evals.retain(|eval| eval.passes < passes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str =
        r#"{"event":"settings","format":1,"threads":2,"settings":{"sigma":1.0},"resumed":false}"#;
    const RESUMED: &str = r#"{"event":"settings","format":1,"settings":{"sigma":1.0},"resumed":true}"#;

    fn read(lines: &[&str]) -> Result<Run> {
        Run::read(format!("{}\n", lines.join("\n")).as_bytes(), "run.jsonl")
    }

    fn step(passes: f64, seconds: f64) -> String {
        format!(
            r#"{{"event":"progress","passes":{passes},"seconds":{seconds},"objective":9.5,"gradient_norm":null}}"#
        )
    }

    fn eval(passes: f64, seconds: f64) -> String {
        format!(
            r#"{{"event":"eval","data":"dev","passes":{passes},"seconds":{seconds},"f1":90.5,"accuracy":95,"best":true}}"#
        )
    }

    fn stop(seconds: f64) -> String {
        format!(
            r#"{{"event":"stop","reason":"converged","passes":2,"seconds":{seconds},"objective":9,"features":7,"active_features":5,"model_bytes":99}}"#
        )
    }

    #[test]
    fn a_log_becomes_a_run() {
        let run = read(&[START, &step(1.0, 0.5), &eval(1.0, 0.6), &stop(0.7)]).unwrap();
        let start = run.start.unwrap();
        assert_eq!((&start.settings["sigma"], &start.facts["threads"]), (&Value::from(1.0), &Value::from(2)));
        assert_eq!((run.progress.len(), run.progress[0].objective), (1, Some(9.5)));
        assert_eq!((run.evals[0].f1, run.evals[0].best), (Some(90.5), true));
        let stop = run.stop.unwrap();
        assert_eq!(
            (&stop.reason[..], stop.active_features, stop.model_bytes),
            ("converged", Some(5), Some(99))
        );
    }

    #[test]
    fn what_is_unknown_or_unfinished_is_passed_over() {
        let new_event = r#"{"event":"weather","passes":"many"}"#;
        let new_field = r#"{"event":"progress","passes":1,"seconds":1,"mood":"good"}"#;
        let run = read(&[START, new_event, "", new_field]).unwrap();
        assert_eq!((run.progress.len(), run.progress[0].objective), (1, None));

        let text = format!("{START}\n{}\n{}", step(1.0, 0.5), step(2.0, 1.0));
        // The last line at every stage of being written; a complete line counts even without its newline.
        for cut in 1..=step(2.0, 1.0).len() {
            let run = Run::read(&text.as_bytes()[..text.len() - cut], "run.jsonl").unwrap();
            assert_eq!(run.progress.len(), 1, "without the last {cut} bytes");
        }
        assert_eq!(Run::read(text.as_bytes(), "run.jsonl").unwrap().progress.len(), 2);
        assert_eq!(Run::read(&b""[..], "empty").unwrap(), Run { name: "empty".into(), ..Run::default() });
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let newer = START.replace("\"format\":1", "\"format\":2");
        for (lines, expected) in [
            (vec![START, "word B-NP"], "run.jsonl:2: this is not an event of a training log"),
            (vec![START, "{\"event\":\"progress\"}", START], "run.jsonl:2: this is not an event"),
            (vec![START, "[1]"], "run.jsonl:2: this is not an event"),
            (vec![&newer], "run.jsonl:1: a log of format 2, but this program reads 1"),
            (vec![START, START], "run.jsonl:2: a second run begins here"),
        ] {
            let message = read(&lines).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn the_parts_of_an_interrupted_run_are_joined() {
        let run = read(&[
            START,
            &step(1.0, 10.0),
            &eval(1.0, 11.0),
            &step(2.0, 20.0),
            &eval(2.0, 21.0),
            RESUMED, // from a checkpoint between 1 and 2
            &step(2.0, 5.0),
            &eval(2.0, 6.0),
            &step(2.0, 7.0), // of one pass, but no repetition: both stay
            &stop(8.0),
        ])
        .unwrap();
        let steps: Vec<_> = run.progress.iter().map(|step| (step.passes, step.seconds)).collect();
        assert_eq!(steps, [(1.0, 10.0), (2.0, 26.0), (2.0, 28.0)]);
        let evals: Vec<_> = run.evals.iter().map(|eval| (eval.passes, eval.seconds)).collect();
        assert_eq!(evals, [(1.0, 11.0), (2.0, 27.0)]);
        assert_eq!(run.stop.unwrap().seconds, 29.0);
    }
}
