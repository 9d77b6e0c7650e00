//! Which flags each kind of model takes. Error messages, `--help` and the documentation are all made from this one
//! declaration.

mod verbs;

pub use verbs::single_run;

use crate::error::usage;
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, ValueEnum};
use std::collections::BTreeSet;

/// A kind of model, or a way to train one, as the user chooses it. Those with a name are values of `--graph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelKind {
    /// Sequences: each label is paired with the next
    Chain,
    /// Several label columns: each is a chain, and the labels of one token are paired
    Factorial,
    /// A chain with additional pairs of distant tokens that a rule links (--skip)
    SkipChain,
    /// Images: each pixel is paired with its neighbours
    Grid,
    /// Graphs of any shape from a file of JSON lines, the first of which declares types, or from arrays in .npz (docs/GRAPHS.md)
    File,
    /// `--method`: chains made from counts.
    #[value(skip)]
    Counts,
    /// `--stream`: chains trained in one pass.
    #[value(skip)]
    Stream,
}

use ModelKind::{Chain, Counts, Factorial, File, Grid, SkipChain, Stream};

impl ModelKind {
    /// All kinds.
    const ALL: [ModelKind; 7] = [Chain, Factorial, SkipChain, File, Grid, Counts, Stream];

    /// The flag that chooses this kind on the command line.
    fn flag(self) -> String {
        match (self.to_possible_value(), self) {
            (Some(graph), _) => format!("--graph {}", graph.get_name()),
            (None, Stream) => "--stream".into(),
            (None, _) => "--method".into(),
        }
    }

    /// The flag in a list or a table: `grid`, `--method`.
    fn short(self) -> String {
        self.flag().trim_start_matches("--graph ").into()
    }

    /// Whether such models label sequences of tokens.
    pub fn labels_sequences(self) -> bool {
        SEQUENCES.contains(&self)
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
    /// The reasons of single kinds, where they differ.
    reasons: &'static [(ModelKind, &'static str)],
}

impl Flag {
    /// Why a kind does not take the flag.
    fn reason(&self, kind: ModelKind) -> &'static str {
        self.reasons.iter().find(|(of, _)| *of == kind).map_or(self.why, |(_, why)| why)
    }

    /// The same flag, with another reason for some kinds.
    const fn but(self, reasons: &'static [(ModelKind, &'static str)]) -> Flag {
        Flag { reasons, ..self }
    }
}

const fn flag(name: &'static str, kinds: &'static [ModelKind], why: &'static str) -> Flag {
    Flag { name, kinds, why, reasons: &[] }
}

const SEQUENCES: &[ModelKind] = &[Chain, Factorial, SkipChain, Counts];
/// Kinds of model that are trained on all sequences together.
const GATHERED: &[ModelKind] = &[Chain, Factorial, SkipChain];
/// All ways to train models of sequences.
const ROWS: &[ModelKind] = &[Chain, Factorial, SkipChain, Counts, Stream];
/// Kinds of model whose inputs come from a file. With exact inference, their labellings have exact probabilities.
const FILES: &[ModelKind] = &[Chain, Factorial, SkipChain, File, Counts];
const TEXT: &[ModelKind] = &[Chain, Factorial, SkipChain, Stream];
const WEIGHTED: &[ModelKind] = &[Chain, Factorial, SkipChain, File, Grid, Stream];
const PASSES: &[ModelKind] = &[Chain, Factorial, SkipChain, File, Grid];
const LOOPY: &[ModelKind] = &[Factorial, SkipChain, File, Grid];
const EXACT_CHAINS: &str = "chains are solved exactly";
const IMAGES: &str = "it is for images (--graph grid)";
const TEMPLATES: &str = "templates make features from columns of text";
const WORDS: &[(ModelKind, &str)] = &[(Counts, "words and labels are counted, without features")];
const VECTORS: &str = "only sequences have vectors of tokens";
const PARTIAL: &str =
    "it is how columns write them; graphs in a file have null or a list of labels, and images --unlabelled";
const PENALTY: &str = "a model made of counts has no weights to fit or to penalise";
const COUNTED: &str = "every sequence is counted once";
const ONE_PASS: &str = "counting takes one pass over the data";

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
    flag("tables", &[File, Grid], "it is for images and for graphs in arrays"),
    flag("directions", &[Grid], IMAGES),
    flag("inference", LOOPY, EXACT_CHAINS),
    flag("bp-iterations", LOOPY, EXACT_CHAINS),
    flag("damping", LOOPY, EXACT_CHAINS),
    flag("schedule", LOOPY, EXACT_CHAINS),
    flag("bp-tolerance", LOOPY, EXACT_CHAINS),
    flag("restarts", LOOPY, EXACT_CHAINS),
    flag("skip", &[SkipChain], "it says which tokens --graph skip-chain links"),
    flag("skip-observations", &[SkipChain], "it gives features to the links of --graph skip-chain"),
    flag("template", TEXT, TEMPLATES).but(WORDS),
    flag("preset", TEXT, TEMPLATES).but(WORDS),
    flag("template-dialect", TEXT, TEMPLATES).but(WORDS),
    flag("dense", TEXT, "numbers in columns are features of sequences").but(WORDS),
    flag("standardise", GATHERED, VECTORS).but(WORDS),
    flag("vectors", GATHERED, VECTORS).but(WORDS),
    flag("dev-vectors", GATHERED, VECTORS).but(WORDS),
    flag("label-column", ROWS, "graphs in a file have their labels beside their nodes")
        .but(&[(Grid, "the masks hold the labels")]),
    flag("format", ROWS, "it is the format of sequences"),
    flag("fields", ROWS, "it names columns of sequences"),
    flag("scheme", ROWS, "only sequences have chunks"),
    flag("encoding", &[Chain, Factorial, SkipChain, File, Counts, Stream], "it is the encoding of text"),
    flag("min-count", FILES, "the features of images are numbers, which all have weights")
        .but(&[(Stream, "it is not known in advance how often an observation will occur")]),
    flag("weight-column", TEXT, "it is a column of sequences").but(&[(Counts, COUNTED)]),
    flag("token-weight-column", GATHERED, "it is a column of sequences")
        .but(&[(Counts, COUNTED), (Stream, "its likelihood scores all labels jointly")]),
    flag("label-weight", &[Chain, File, Grid], "only plain chains, graphs and images have weights of labels")
        .but(&[(Counts, COUNTED)]),
    flag("features", TEXT, "every feature has weights for all labels").but(&[(Counts, PENALTY)]),
    flag("partial-labels", GATHERED, PARTIAL)
        .but(&[(Counts, "missing labels cannot be counted"), (Stream, "its labels must be complete")]),
    flag("order", &[Chain], "only plain chains have weights of three labels")
        .but(&[(Counts, PENALTY), (Stream, "which label pairs occur is not known in advance")]),
    flag("segments", &[Chain], "only plain chains have weights of segments")
        .but(&[(Counts, PENALTY), (Stream, "the segments of the data are not known in advance")]),
    flag("transitions", GATHERED, "only sequences have neighbouring labels")
        .but(&[(Counts, PENALTY), (Stream, "which label pairs occur is not known in advance")]),
    flag("constraint", &[Chain], "only plain chains have rules on neighbouring labels")
        .but(&[(Counts, "use it with `crfkit tag`"), (Stream, "use it with `crfkit tag`")]),
    flag("boundaries", &[Chain, Stream], "only plain chains have weights for the first and the last label")
        .but(&[(Counts, PENALTY)]),
    flag("sigma-of", &[File], "it names a type of --graph file; for other graphs there is --sigma-pairs")
        .but(&[(Counts, PENALTY)]),
    flag("sigma-pairs", WEIGHTED, PENALTY),
    flag("prior-mean", PASSES, PENALTY).but(&[(Stream, "its weights are not known in advance")]),
    flag("l1", WEIGHTED, PENALTY),
    flag("c1", WEIGHTED, PENALTY),
    flag("c2", WEIGHTED, PENALTY),
    flag("scaling", PASSES, "the sizes of features are known only when all data is read"),
    flag("objective", WEIGHTED, PENALTY),
    flag("pieces", WEIGHTED, PENALTY),
    flag("batch-of", WEIGHTED, PENALTY),
    flag("optimizer", WEIGHTED, ONE_PASS),
    flag("passes", WEIGHTED, ONE_PASS),
    flag("seconds", WEIGHTED, ONE_PASS),
    flag("seed", PASSES, "nothing is random"),
    flag("dev", &[Chain, Factorial, SkipChain, File], "there are no passes to compare")
        .but(&[(Grid, "use --dev-images and --dev-masks"), (Counts, "use --heldout")]),
    flag("calibrate", &[Chain], "only plain chains have exact probabilities and a temperature")
        .but(&[(Counts, "counts are probabilities already"), (Stream, "use `crfkit calibrate`")]),
    flag("patience", PASSES, "there are no passes to stop between"),
    flag("compute", &[Chain], "only passes over plain chains have single precision"),
    flag("precision", WEIGHTED, "counts are stored exactly"),
    flag("shrink", WEIGHTED, "use --min-count for a smaller model"),
    flag("log", &[Chain, Factorial, SkipChain, File, Grid, Counts], "there are no passes to record"),
    flag("report", PASSES, "there are no learning curves to show"),
    flag("checkpoint", PASSES, "a stream cannot be read again, but Ctrl-C saves the model")
        .but(&[(Counts, ONE_PASS)]),
    flag("stream", &[Stream], "streams are for chains"),
    flag("method", &[Counts], "counting is for plain chains with one label column")
        .but(&[(Stream, ONE_PASS)]),
];

/// Flags of `crfkit tag` that only some kinds of model take.
const TAG: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("output-dir", &[Grid], IMAGES),
    flag("arrays", &[Grid], IMAGES),
    flag("output-file", &[File], "only graphs have their labels in one array"),
    flag("inference", LOOPY, EXACT_CHAINS),
    flag("nbest", FILES, "images are too large for exact inference"),
    flag("probability", FILES, "images are too large for exact inference"),
    flag("confidence", SEQUENCES, "only sequences have chunks"),
    flag("constraint", &[Chain, Counts], "only plain chains have rules on neighbouring labels"),
    flag(
        "allowed",
        SEQUENCES,
        "it is a column of sequences; files of graphs and arrays of images have `allowed` themselves",
    ),
    flag("at-most-once", &[Chain, Counts], "only plain chains support it"),
    flag("output", SEQUENCES, "the answers have one layout"),
    flag("text", SEQUENCES, "text is cut into sequences"),
    flag("sentences", SEQUENCES, "text is cut into sequences"),
    flag("extra-columns", SEQUENCES, "only sequences have columns"),
    flag("line-buffered", FILES, "images are whole files"),
];

/// Flags of `crfkit eval` that only some kinds of model take.
const EVAL: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("inference", LOOPY, EXACT_CHAINS),
    flag("label-column", &[Chain, Counts], "the labels are where they were in the training data"),
    flag("constraint", &[Chain, Counts], "only plain chains have rules on neighbouring labels"),
    flag("partial-labels", SEQUENCES, PARTIAL),
    flag("extra-columns", SEQUENCES, "only sequences have columns"),
];

/// Flags of `crfkit report` that only some kinds of model take.
const REPORT: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("test", FILES, "images are given by --images and --masks"),
    flag("label-column", &[Chain, Counts], "the labels are where they were in the training data"),
    flag("partial-labels", SEQUENCES, PARTIAL),
];

/// Flags of every command that reads inputs for a model, of which only some kinds of model take them.
const INPUT: &[Flag] = &[
    flag("weight-column", SEQUENCES, "it is a column of sequences"),
    flag("token-weight-column", SEQUENCES, "it is a column of sequences"),
    flag("vectors", GATHERED, VECTORS).but(WORDS),
    flag("format", SEQUENCES, "it is the format of sequences"),
    flag("fields", SEQUENCES, "it names columns of sequences"),
    flag("scheme", SEQUENCES, "only sequences have chunks"),
    flag("encoding", FILES, "it is the encoding of text"),
];

/// The commands that have such flags, with their own flags and those that they share.
const COMMANDS: [(&str, [&[Flag]; 2]); 7] = [
    ("train", [TRAIN, &[]]),
    ("tag", [TAG, INPUT]),
    ("eval", [EVAL, INPUT]),
    ("report", [REPORT, INPUT]),
    ("explain", [verbs::EXPLAIN, INPUT]),
    ("diff", [verbs::DIFF, INPUT]),
    ("rank", [verbs::RANK, INPUT]),
];

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
        match self.unused([TRAIN, &[]], kind) {
            None => Ok(()),
            Some(flag) => Err(usage(format!(
                "--{} does not go with {}: {}; leave one of them out",
                flag.name,
                kind.flag(),
                flag.reason(kind)
            ))),
        }
    }

    /// Rejects flags of another command that a model of this kind does not take.
    pub fn check_model(&self, command: &str, kind: ModelKind) -> Result<()> {
        let found = COMMANDS.into_iter().find(|(name, _)| *name == command);
        let flags = found.map_or([&[][..]; 2], |(_, flags)| flags);
        match self.unused(flags, kind) {
            None => Ok(()),
            Some(flag) => Err(usage(format!(
                "--{} does not go with a model of {}: {}; leave it out",
                flag.name,
                kind.noun(),
                flag.reason(kind)
            ))),
        }
    }

    fn unused(&self, flags: [&'static [Flag]; 2], kind: ModelKind) -> Option<&'static Flag> {
        flags.into_iter().flatten().find(|flag| self.has(flag.name) && !flag.kinds.contains(&kind))
    }
}

/// Adds to the help text of every such flag the kinds of model that take it.
pub fn annotate(mut command: Command) -> Command {
    // cv and search take the flags of train.
    for (name, flags) in COMMANDS.into_iter().chain([("cv", [TRAIN, &[]]), ("search", [TRAIN, &[]])]) {
        let known = |long: Option<&str>| -> Option<&'static Flag> {
            flags
                .into_iter()
                .flatten()
                .find(|flag| long == Some(flag.name) && flag.kinds.len() < ModelKind::ALL.len())
        };
        command = command.mut_subcommand(name, |verb| {
            // In place: mut_arg would move each of them to the end, and its heading with it.
            let several = matches!(name, "cv" | "search");
            let rejected: Vec<&str> = single_run(name).filter(|_| several).collect();
            verb.mut_args(|argument| match known(argument.get_long()) {
                _ if argument.get_long().is_some_and(|long| rejected.contains(&long)) => argument.hide(true),
                Some(flag) => {
                    let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
                    argument.help(format!("{about} [{}]", takers(flag, name)))
                }
                None => argument,
            })
        });
    }
    command
}

/// The kinds that take a flag: `only: grid`, or `not: method, stream`, whichever is shorter.
fn takers(flag: &Flag, command: &str) -> String {
    let all = ModelKind::ALL.into_iter().filter(|kind| command == "train" || *kind != Stream);
    let short = |kind: ModelKind| kind.short().trim_start_matches("--").to_owned();
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
    let kinds = ModelKind::ALL.map(ModelKind::short).join(" | ");
    let mut text = format!("| flag | {kinds} |\n|---|{}\n", "---|".repeat(ModelKind::ALL.len()));
    for (command, flags) in COMMANDS {
        for flag in flags.into_iter().flatten() {
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
            for flag in flags.into_iter().flatten() {
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
