//! Which flags each kind of model takes. Error messages, `--help` and the documentation are all made from this one
//! declaration.

use crate::error::usage;
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::collections::BTreeSet;

/// A kind of model, or a way to train one, as the user chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// `--graph chain`, the default: plain chains.
    Chain,
    /// `--graph factorial`: several label columns.
    Factorial,
    /// `--graph skip-chain`: links between distant tokens.
    SkipChain,
    /// `--graph file`: graphs from a file.
    File,
    /// `--graph grid`: images.
    Grid,
    /// `--method`: chains made from counts.
    Counts,
    /// `--stream`: chains trained in one pass.
    Stream,
}

use ModelKind::{Chain, Counts, Factorial, File, Grid, SkipChain, Stream};

impl ModelKind {
    /// All kinds.
    const ALL: [ModelKind; 7] = [Chain, Factorial, SkipChain, File, Grid, Counts, Stream];

    /// The flag that chooses this kind on the command line.
    fn flag(self) -> &'static str {
        match self {
            Chain => "--graph chain",
            Factorial => "--graph factorial",
            SkipChain => "--graph skip-chain",
            File => "--graph file",
            Grid => "--graph grid",
            Counts => "--method",
            Stream => "--stream",
        }
    }

    /// The name of this kind of model in messages.
    fn noun(self) -> &'static str {
        match self {
            Chain | Stream => "chains",
            Factorial => "factorial chains",
            SkipChain => "skip chains",
            File => "graphs from a file",
            Grid => "images",
            Counts => "chains made of counts",
        }
    }
}

/// A flag that only some kinds of model take.
struct Flag {
    name: &'static str,
    kinds: &'static [ModelKind],
    /// Why the other kinds do not take it, or what to do instead.
    why: &'static str,
}

const fn flag(name: &'static str, kinds: &'static [ModelKind], why: &'static str) -> Flag {
    Flag { name, kinds, why }
}

const TEXT: &[ModelKind] = &[Chain, Factorial, SkipChain, Stream];
const WEIGHTED: &[ModelKind] = &[Chain, Factorial, SkipChain, File, Grid, Stream];
const PASSES: &[ModelKind] = &[Chain, Factorial, SkipChain, File, Grid];
const IMAGES: &str = "it is about images (--graph grid)";
const TEMPLATES: &str = "templates make features of columns, which there are not";
const PENALTY: &str = "there are no weights to fit or to penalise";
const ONE_PASS: &str = "one pass over the data is the whole work";

/// Flags of `crfkit train` that only some kinds of model take.
const TRAIN: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("dev-images", &[Grid], IMAGES),
    flag("dev-masks", &[Grid], IMAGES),
    flag("unlabelled", &[Grid], IMAGES),
    flag("image-features", &[Grid], IMAGES),
    flag("patch", &[Grid], IMAGES),
    flag("quadratic", &[Grid], IMAGES),
    flag("neighbours", &[Grid], IMAGES),
    flag("tables", &[Grid], IMAGES),
    flag("inference", &[Factorial, SkipChain, File, Grid], "chains are solved exactly"),
    flag("skip", &[SkipChain], "it says which tokens --graph skip-chain links"),
    flag("skip-observations", &[SkipChain], "it is about the links of --graph skip-chain"),
    flag("template", TEXT, TEMPLATES),
    flag("preset", TEXT, TEMPLATES),
    flag("template-dialect", TEXT, TEMPLATES),
    flag(
        "label-column",
        &[Chain, Factorial, SkipChain, Counts, Stream],
        "it is about columns; here the labels have their own place",
    ),
    flag("format", &[Chain, Factorial, SkipChain, Counts, Stream], "it is about text"),
    flag("encoding", &[Chain, Factorial, SkipChain, File, Counts, Stream], "it is about text"),
    flag(
        "min-count",
        &[Chain, Factorial, SkipChain, File, Counts],
        "how often an observation occurs is not known, or does not matter",
    ),
    flag("features", TEXT, "every feature has weights for all labels"),
    flag("boundaries", &[Chain, Stream], "only chains have a first and a last label"),
    flag("sigma-of", &[File], "it names a type of --graph file; for other graphs there is --sigma-pairs"),
    flag("sigma-pairs", WEIGHTED, PENALTY),
    flag("prior-mean", PASSES, PENALTY),
    flag("l1", WEIGHTED, PENALTY),
    flag("scaling", PASSES, "the sizes of features are known only when all data is read"),
    flag("objective", WEIGHTED, PENALTY),
    flag("pieces", WEIGHTED, PENALTY),
    flag("batch-of", WEIGHTED, PENALTY),
    flag("optimizer", WEIGHTED, ONE_PASS),
    flag("passes", WEIGHTED, ONE_PASS),
    flag("seconds", WEIGHTED, ONE_PASS),
    flag("seed", PASSES, "nothing is random"),
    flag(
        "dev",
        &[Chain, Factorial, SkipChain, File],
        "images have --dev-images and --dev-masks, --method has --heldout, and a stream has no passes to compare",
    ),
    flag("patience", PASSES, "it goes with development data"),
    flag("precision", WEIGHTED, "the file holds counts, exactly"),
    flag("shrink", WEIGHTED, "--min-count makes such a model smaller"),
    flag("log", &[Chain, Factorial, SkipChain, File, Grid, Counts], "there are no passes to record"),
    flag("report", PASSES, "there are no learning curves; see crfkit inspect"),
    flag("checkpoint", PASSES, "what was read cannot be read again; Ctrl-C saves the model"),
    flag("stream", &[Stream], "streams are for chains"),
    flag("method", &[Counts], "counting is for plain chains with one label column"),
];

/// Flags of `crfkit tag` that only some kinds of model take.
const TAG: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("output-dir", &[Grid], IMAGES),
    flag("inference", &[Factorial, SkipChain, File, Grid], "chains are solved exactly"),
    flag("nbest", &[Chain, Counts], "it lists the best labellings of chains"),
    flag("probability", &[Chain, Counts], "only chains have the probability of a whole labelling"),
    flag("output", &[Chain, Factorial, SkipChain, Counts], "the answers have one layout"),
    flag("format", &[Chain, Factorial, SkipChain, Counts], "it is about sequences"),
    flag("encoding", &[Chain, Factorial, SkipChain, File, Counts], "it is about text"),
];

/// Flags of `crfkit eval` that only some kinds of model take.
const EVAL: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("inference", &[Factorial, SkipChain, File, Grid], "chains are solved exactly"),
    flag("label-column", &[Chain, Counts], "the model knows where the labels are"),
    flag("format", &[Chain, Factorial, SkipChain, Counts], "it is about sequences"),
    flag("encoding", &[Chain, Factorial, SkipChain, File, Counts], "it is about text"),
];

/// Flags of `crfkit report` that only some kinds of model take.
const REPORT: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("test", &[Chain, Factorial, SkipChain, File, Counts], "images are given by --images and --masks"),
    flag("label-column", &[Chain, Counts], "the model knows where the labels are"),
    flag("format", &[Chain, Factorial, SkipChain, Counts], "it is about sequences"),
    flag("encoding", &[Chain, Factorial, SkipChain, File, Counts], "it is about text"),
];

/// The commands that have such flags, with their flags.
const COMMANDS: [(&str, &[Flag]); 4] = [("train", TRAIN), ("tag", TAG), ("eval", EVAL), ("report", REPORT)];

/// The flags that the user has typed, by their long names.
#[derive(Clone, Debug, Default)]
pub struct Given {
    flags: BTreeSet<String>,
}

impl Given {
    /// The flags that the user has typed for one command.
    pub fn of(command: &Command, matches: &ArgMatches) -> Self {
        let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let typed = command.get_arguments().filter(|argument| typed(argument.get_id().as_str()));
        Given { flags: typed.filter_map(|argument| argument.get_long()).map(str::to_owned).collect() }
    }

    /// Whether the user has typed this flag.
    pub fn has(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    /// Rejects flags of `train` that this way of training does not take.
    pub fn check_training(&self, kind: ModelKind) -> Result<()> {
        match self.unused(TRAIN, kind) {
            None => Ok(()),
            Some(Flag { name, why, .. }) => {
                Err(usage(format!("--{name} does not go with {}: {why}; leave one of them out", kind.flag())))
            }
        }
    }

    /// Rejects flags of another command that a model of this kind does not take.
    pub fn check_model(&self, command: &str, kind: ModelKind) -> Result<()> {
        let flags = COMMANDS.iter().find(|(name, _)| *name == command).map_or(&[][..], |(_, flags)| flags);
        match self.unused(flags, kind) {
            None => Ok(()),
            Some(Flag { name, why, .. }) => Err(usage(format!(
                "--{name} does not go with a model of {}: {why}; leave it out",
                kind.noun()
            ))),
        }
    }

    fn unused(&self, flags: &'static [Flag], kind: ModelKind) -> Option<&'static Flag> {
        flags.iter().find(|flag| self.has(flag.name) && !flag.kinds.contains(&kind))
    }
}

/// Adds to the help text of every such flag the kinds of model that take it.
pub fn annotate(mut command: Command) -> Command {
    for (name, flags) in COMMANDS {
        command = command.mut_subcommand(name, |mut verb| {
            for flag in flags.iter().filter(|flag| flag.kinds.len() < ModelKind::ALL.len()) {
                let id = flag.name.replace('-', "_");
                verb = verb.mut_arg(id, |argument| {
                    let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
                    argument.help(format!("{about} [{}]", takers(flag, name)))
                });
            }
            verb
        });
    }
    command
}

/// The kinds that take a flag: `only: grid`, or `not: method, stream`, whichever is shorter.
fn takers(flag: &Flag, command: &str) -> String {
    let all = ModelKind::ALL.into_iter().filter(|kind| command == "train" || *kind != Stream);
    let short = |kind: ModelKind| {
        let flag = kind.flag();
        flag.trim_start_matches("--graph ").trim_start_matches("--").to_owned()
    };
    let (yes, no): (Vec<_>, Vec<_>) = all.partition(|kind| flag.kinds.contains(kind));
    let list = |kinds: Vec<ModelKind>| kinds.into_iter().map(short).collect::<Vec<_>>().join(", ");
    match yes.len() <= no.len() {
        true => format!("only: {}", list(yes)),
        false => format!("not: {}", list(no)),
    }
}

/// The declarations as a table in Markdown, for docs/CLI.md.
#[cfg(test)]
pub fn table() -> String {
    let mut text =
        String::from("| flag | chain | factorial | skip-chain | file | grid | --method | --stream |\n");
    text += "|---|---|---|---|---|---|---|---|\n";
    for (command, flags) in COMMANDS {
        for flag in flags {
            text += &format!("| {command} `--{}` |", flag.name);
            for kind in ModelKind::ALL {
                let mark = match flag.kinds.contains(&kind) {
                    _ if command != "train" && kind == Stream => " |",
                    true => " ✓ |",
                    false => " – |",
                };
                text += mark;
            }
            text += "\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory;

    /// Every declared flag must exist, because a flag that does not exist can never be rejected.
    #[test]
    fn every_declared_flag_exists() {
        let mut command = Args::command();
        command.build();
        for (name, flags) in COMMANDS {
            let verb = command.find_subcommand(name).expect(name);
            for flag in flags {
                let found = verb.get_arguments().any(|argument| argument.get_long() == Some(flag.name));
                assert!(found, "{name} --{}", flag.name);
            }
        }
    }

    /// docs/CLI.md must show these declarations. `CRFKIT_WRITE_DOCS=1 cargo test -p crfkit-cli flags` updates it.
    #[test]
    fn the_page_has_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CLI.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (begin, end) = ("<!-- flags by kind of model -->\n", "<!-- end of the flags -->\n");
        let (before, rest) = page.split_once(begin).expect("the page has a place for the table");
        let (_, after) = rest.split_once(end).expect("the place has an end");
        let wanted = format!("{before}{begin}{}{end}{after}", table());
        if std::env::var_os("CRFKIT_WRITE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
            return;
        }
        assert!(
            page == wanted,
            "docs/CLI.md has other flags: CRFKIT_WRITE_DOCS=1 cargo test -p crfkit-cli flags"
        );
    }
}
