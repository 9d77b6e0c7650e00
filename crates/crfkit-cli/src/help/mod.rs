//! Help by topic: short for `-h`, grouped for `--help`, and one topic at a time for `crfkit help TOPIC`.

use crate::args::Args;
use crate::error::{stdout_failed, usage};
use crate::flags;
use anyhow::Result;
use clap::{Arg, Command, CommandFactory};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// A topic that is a text: its name, what it is about, the text.
const TEXTS: [(&str, &str, &str); 3] = [
    ("templates", "the syntax of feature templates", include_str!("templates.md")),
    ("formats", "formats of input, and the tokeniser of --text", include_str!("formats.md")),
    ("migrating", "commands and flags of CRF++, CRFsuite and Wapiti", include_str!("migrating.md")),
];

/// A topic that is a heading of `crfkit train --help`: its name, and the beginning of the heading.
const HEADINGS: [(&str, &str); 11] = [
    ("features", "Features"),
    ("objective", "Objective"),
    ("optimisation", "Optimisation"),
    ("methods", "Parameters of methods"),
    ("development", "Development data"),
    ("model-file", "Model file"),
    ("running", "Running"),
    ("input", "Input"),
    ("graphs", "Graphs"),
    ("images", "Images"),
    ("counting", "Empirical training"),
];

/// The flags that `-h` shows of the commands that have many.
const SHORT: [(&str, &[&str]); 8] = [
    ("rank", &["model", "file", "images", "by", "top", "output", "inference", "format", "threads"]),
    (
        "explain",
        &[
            "model",
            "file",
            "images",
            "token",
            "only_wrong",
            "constraint",
            "top",
            "output",
            "format",
            "threads",
        ],
    ),
    (
        "train",
        &[
            "train",
            "model",
            "format",
            "label_column",
            "template",
            "preset",
            "sigma",
            "l1",
            "objective",
            "optimizer",
            "passes",
            "dev",
            "graph",
            "log",
            "report",
            "checkpoint",
            "threads",
            "quiet",
        ],
    ),
    (
        "tag",
        &[
            "model",
            "file",
            "text",
            "sentences",
            "format",
            "output",
            "marginals",
            "nbest",
            "probability",
            "decode",
            "images",
            "output_dir",
            "threads",
        ],
    ),
    (
        "eval",
        &[
            "model",
            "test",
            "predicted",
            "format",
            "label_column",
            "decode",
            "images",
            "masks",
            "json",
            "threads",
        ],
    ),
    (
        "cv",
        &[
            "train",
            "folds",
            "format",
            "label_column",
            "template",
            "preset",
            "sigma",
            "l1",
            "seed",
            "output",
            "quiet",
        ],
    ),
    (
        "search",
        &[
            "train",
            "model",
            "dev",
            "sigma",
            "l1",
            "min_count",
            "template",
            "preset",
            "points",
            "output",
            "quiet",
        ],
    ),
    ("report", &["runs", "output", "model", "test", "label_column", "images", "masks", "format"]),
];

/// The commands as the arguments ask for them: with few flags, and in one list, for `-h`.
pub fn shaped(mut command: Command, arguments: &[OsString]) -> Command {
    let short = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "-h");
    if !short {
        return compact(command);
    }
    for (name, shown) in SHORT {
        command = command.mut_subcommand(name, |verb| {
            let verb = verb.mut_args(|argument| match shown.contains(&argument.get_id().as_str()) {
                true => in_short(argument),
                false => argument.hide(true),
            });
            verb.after_help(format!("All flags: crfkit {name} --help. By topic: crfkit help TOPIC."))
        });
    }
    command
}

/// The help of `train` without a paragraph for every flag and value, which would make it twice as long: each flag has a line or two.
fn compact(command: Command) -> Command {
    command.mut_subcommand("train", |verb| {
        let notes = verb.get_after_long_help().cloned().unwrap_or_default();
        let verb = verb.mut_args(|argument| {
            let values = argument.get_possible_values();
            if !values.iter().any(|value| value.get_help().is_some())
                || argument.is_hide_possible_values_set()
            {
                return argument;
            }
            let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            argument.hide_possible_values(true).help(format!("{help}: {}", names.join("|")))
        });
        verb.after_help(notes).after_long_help(None)
    })
}

/// A flag with the first part of its help, without a heading.
fn in_short(argument: Arg) -> Arg {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let default =
        help.find(" [default: ").map(|at| help[at..].split_inclusive(']').next().unwrap_or_default());
    let first = help.split([';', '[', '(']).next().unwrap_or_default().split(". ").next().unwrap_or_default();
    let text = format!("{}{}", first.trim_end(), default.unwrap_or_default());
    let valued = argument.get_action().takes_values();
    argument.help_heading(None).hide_possible_values(valued).help(text)
}

/// Prints the help of a command, a topic, or the list of both.
pub fn run(topic: Option<&str>) -> Result<ExitCode> {
    let text = match topic {
        None => overview(),
        Some(topic) => about(topic).ok_or_else(|| {
            let topics = TEXTS.iter().map(|(name, ..)| *name).chain(HEADINGS.iter().map(|(name, _)| *name));
            usage(format!(
                "no command or topic `{topic}`: the topics are {}",
                topics.collect::<Vec<_>>().join(", ")
            ))
        })?,
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

fn overview() -> String {
    let mut text = format!("{}\n\nTopics (crfkit help TOPIC):\n", commands().render_long_help());
    for (name, about, _) in TEXTS {
        text += &format!("  {name:<14} {about}\n");
    }
    for (name, heading) in HEADINGS {
        text += &format!("  {name:<14} flags of crfkit train: {}\n", heading.to_lowercase());
    }
    text
}

fn about(topic: &str) -> Option<String> {
    if let Some((_, _, text)) = TEXTS.iter().find(|(name, ..)| *name == topic) {
        return Some((*text).to_owned());
    }
    let commands = commands();
    if let Some((_, heading)) = HEADINGS.iter().find(|(name, _)| *name == topic) {
        return commands.find_subcommand("train").map(|train| section(train, heading));
    }
    let mut commands = compact(flags::annotate(Args::command()));
    commands.build();
    commands.find_subcommand_mut(topic).map(|verb| verb.render_long_help().to_string())
}

fn commands() -> Command {
    let mut command = flags::annotate(Args::command());
    command.build();
    command
}

/// The flags of a command under the heading that begins like this.
fn section(verb: &Command, heading: &str) -> String {
    let other = |argument: &Arg| !argument.get_help_heading().is_some_and(|of| of.starts_with(heading));
    let verb =
        verb.clone().mut_args(|argument| if other(&argument) { argument.hide(true) } else { argument });
    format!(
        "{}\n",
        verb.help_template("Flags of `crfkit train`\n\n{all-args}").render_long_help().to_string().trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn short() -> Command {
        let mut command = shaped(flags::annotate(Args::command()), &["-h".into()]);
        command.build();
        command
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        let mut command = short();
        let lines = |help: clap::builder::StyledStr| help.to_string().lines().count();
        assert!(lines(command.render_help()) <= 40);
        for verb in command.get_subcommands_mut() {
            let (name, help) = (verb.get_name().to_owned(), verb.render_help().to_string());
            assert!(help.lines().count() <= 40, "{name}:\n{help}");
        }
    }

    /// A flag that does not exist would silently not be shown.
    #[test]
    fn flags_of_the_short_help_exist() {
        let mut command = Args::command();
        command.build();
        for (name, shown) in SHORT {
            let verb = command.find_subcommand(name).unwrap();
            let real: BTreeSet<&str> =
                verb.get_arguments().map(|argument| argument.get_id().as_str()).collect();
            assert!(shown.iter().all(|flag| real.contains(flag)), "{name}: {shown:?}");
        }
    }

    /// Every heading is a topic, and every topic has something to say.
    #[test]
    fn every_heading_is_a_topic() {
        let commands = commands();
        let train = commands.find_subcommand("train").unwrap();
        for argument in train.get_arguments().filter(|argument| !argument.is_positional()) {
            let Some(heading) = argument.get_help_heading() else { continue };
            let topic = HEADINGS.iter().find(|(_, known)| heading.starts_with(known));
            let (topic, _) = topic.unwrap_or_else(|| panic!("no topic for `{heading}`"));
            let long = format!("--{}", argument.get_long().unwrap());
            assert!(about(topic).unwrap().contains(&long), "{long} in {topic}");
        }
        assert!(!about("images").unwrap().contains("--optimizer"));
        assert!(about("nothing").is_none());
    }

    /// The pages in docs are the texts of the topics. `CRFKIT_WRITE_DOCS=1 cargo test -p crfkit-cli help` updates them.
    #[test]
    fn the_pages_are_the_topics() {
        for (name, _, text) in TEXTS {
            let path = format!("{}/../../docs/{}.md", env!("CARGO_MANIFEST_DIR"), name.to_uppercase());
            if std::env::var_os("CRFKIT_WRITE_DOCS").is_some() {
                std::fs::write(&path, text).unwrap();
            }
            let page = std::fs::read_to_string(&path).unwrap();
            assert!(
                page == text,
                "docs/{}.md: CRFKIT_WRITE_DOCS=1 cargo test -p crfkit-cli help",
                name.to_uppercase()
            );
        }
    }
}
