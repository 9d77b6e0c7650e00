//! `crfkit tag`: labels inputs as they are read.

use crate::args::{self, Format, Output, Rules, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::io::{
    Door, Echo, InputPlace, Inputs, Reading, TextCut, Wanted, WithModel, list_images, name, open_model,
};
use crate::paths::{Named, check_inputs_kept};
use crate::pipeline::{self, Block, Job, Source};
use anyhow::{Context, Result};
use crfkit::any::{AnyModel, Ensemble, Member, ModelVisitor};
use crfkit::chain::ChainModel;
use crfkit::data::label_rules;
use crfkit::decode::Decode;
use crfkit::empirical::EmpiricalModel;
use crfkit::files::write_atomically;
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::tag::Tagger;
use crfkit::typed::TypedModel;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Labels a file to standard output, or a directory of images to another one.
pub fn run(args: &TagArgs) -> Result<ExitCode> {
    let limits = Limits {
        constraint: args.constraint.as_deref(),
        allowed: &args.allowed,
        at_most_once: &args.at_most_once,
        probabilities: args.marginals.is_some()
            || args.probability
            || args.confidence
            || args.nbest.is_some()
            || args.grid.decode == Some(args::Decode::MaxMarginal)
            || args.model.len() > 1,
    };
    with_models(&args.model, limits, Tag(args))?
}

struct Tag<'a>(&'a TagArgs);

impl WithModel for Tag<'_> {
    type Out = Result<ExitCode>;

    fn with<M: Door>(self, model: Arc<M>) -> Result<ExitCode> {
        let args = self.0;
        args.given.check_model("tag", model.kind())?;
        check_several(args)?;
        let decode = match (args.grid.decode, &args.nbest, args.model.len()) {
            (None, Some(_), 1) => Decode::Best,
            _ => args.grid.labelling(&*model, args.model.len())?,
        };
        if args.nbest.is_some() && decode == Decode::MaxMarginal {
            return Err(usage("--nbest lists the best whole labellings: use it with --decode viterbi"));
        }
        let place = match (&args.grid.images, &args.output_dir) {
            (Some(_), None) => {
                return Err(usage("--images needs --output-dir DIR, the directory for the label images"));
            }
            (Some(images), Some(directory)) => {
                check_aliases(args, images, directory)?;
                std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
                InputPlace::Images { images: images.clone(), masks: None }
            }
            (None, _) => InputPlace::File(args.file.clone()),
        };
        let reading = Reading {
            text: args.text.then_some(if args.sentences { TextCut::Sentences } else { TextCut::Lines }),
            extra_columns: Some(args.extra_columns),
            more_columns: args.allowed.len(),
            line_buffered: args.line_buffered,
            scheme: None, // of the answers, not of the input
            ..args.input.reading(None)
        };
        let json = || reading.format_of(&args.file, Format::Columns) == Format::Json;
        let echo = match reading.text {
            Some(TextCut::Lines) => Echo::Text,
            Some(TextCut::Sentences) => Echo::Sentence,
            None if json() => Echo::Tokens,
            None => Echo::Nothing,
        };
        if let Some(file) = &args.output_file {
            let models = args.model.iter().map(|path| ("a model", &**path));
            let inputs: Vec<Named> = models.chain([("the input", &*args.file)]).collect();
            check_inputs_kept(&[("--output-file", file)], &inputs)?;
        }
        let wanted = Wanted {
            output: args.output,
            marginals: args.marginals,
            probability: args.probability || args.confidence,
            confidence: args.confidence,
            nbest: args.nbest.map_or(0, |n| n.get()),
            scheme: args.input.scheme,
            echo,
            directory: args.output_dir.clone(),
            arrays: args.arrays || args.output_file.is_some(),
        };
        wanted.check()?;
        if let Some(file) = &args.output_file {
            model.pack(&wanted, &[], file)?; // a name or a model that does not go with it, before any work
        }
        let source = model.open(&Inputs { place, reading })?;
        let mut workers = Tagger::with_engine(model.clone(), args.grid.inference).crew(args.input.threads());
        let job = Tagging { model, wanted, decode, allowed: args.allowed.clone() };
        let Some(file) = &args.output_file else {
            let mut stdout = std::io::stdout();
            pipeline::run(&job, source, &mut workers, |text: &Vec<u8>| {
                Ok(stdout.write_all(text).map_err(stdout_failed)?)
            })?;
            return Ok(ExitCode::SUCCESS);
        };
        let mut answers = Vec::new();
        pipeline::run(&job, source, &mut workers, |records: &Vec<u8>| {
            answers.extend_from_slice(records);
            Ok(())
        })?;
        write_atomically(file, &job.model.pack(&job.wanted, &answers, file)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Rejects label images in place of the images, or of a model.
fn check_aliases(args: &TagArgs, images: &Path, directory: &Path) -> Result<()> {
    let directory_of_images = ("the directory of images", images);
    check_inputs_kept(&[("--output-dir", directory)], &[directory_of_images])?;
    let stems = list_images(images)?.into_iter().filter_map(|path| Some(path.file_stem()?.to_owned()));
    let paths: Vec<PathBuf> = stems.map(|stem| directory.join(format!("{}.png", stem.display()))).collect();
    let outputs: Vec<Named> = paths.iter().map(|path| ("--output-dir", &**path)).collect();
    let models = args.model.iter().map(|path| ("a model", &**path));
    let inputs: Vec<Named> = models.chain([directory_of_images]).collect();
    check_inputs_kept(&outputs, &inputs)
}

/// Rejects questions that several models together cannot answer: they have only marginals in common.
fn check_several(args: &TagArgs) -> Result<()> {
    let asked = match args {
        TagArgs { nbest: Some(_), .. } => "--nbest needs",
        TagArgs { probability: true, .. } => "--probability needs",
        TagArgs { confidence: true, .. } => "--confidence needs",
        TagArgs { output: Output::Crfpp, marginals: Some(_), .. } => "--marginals with --output crfpp needs",
        _ => return Ok(()),
    };
    match args.model.len() > 1 {
        true => Err(usage(format!(
            "{asked} a single model: several models have only the marginals of single tokens in common; use --marginals"
        ))),
        false => Ok(()),
    }
}

/// Opens models, each once, and calls `then` with them. Several must be models of plain chains, which label together.
pub fn with_models<W: WithModel>(paths: &[PathBuf], limits: Limits, then: W) -> Result<W::Out> {
    if let [path] = paths {
        return open_model(path)?.visit(Through { then, limits });
    }
    let mut members = Vec::new();
    for path in paths {
        members.push(open_model(path)?.member().ok_or_else(|| {
            usage(
                "several models are given, but only models of plain chains label together: give one -m MODEL",
            )
        })?);
        let labels = |member: &Member| member.labels().to_vec();
        if members.last().map(labels) != members.first().map(labels) {
            anyhow::bail!(
                "{}: its labels are not those of {}: models that label together need the same",
                name(path),
                name(&paths[0])
            );
        }
    }
    Ok(then.with(Arc::new(limits.on(Ensemble::new(members)?)?)))
}

/// Calls `then` with a model of any kind.
pub fn with_model<W: WithModel>(model: AnyModel, then: W) -> Result<W::Out> {
    model.visit(Through { then, limits: Limits::default() })
}

/// Leads a model of each kind through its [`Door`].
struct Through<'a, W> {
    then: W,
    limits: Limits<'a>,
}

impl<W: WithModel> ModelVisitor for Through<'_, W> {
    type Out = Result<W::Out>;

    fn chain(self, model: Arc<ChainModel>) -> Self::Out {
        Ok(self.then.with(Arc::new(self.limits.on(Member::Weighted(model).into())?)))
    }

    fn linked(self, model: Arc<LinkedModel>) -> Self::Out {
        Ok(self.then.with(model))
    }

    fn graph(self, model: Arc<TypedModel>) -> Self::Out {
        Ok(self.then.with(model))
    }

    fn grid(self, model: Arc<GridModel>) -> Self::Out {
        Ok(self.then.with(model))
    }

    fn empirical(self, model: Arc<EmpiricalModel>) -> Self::Out {
        Ok(self.then.with(Arc::new(self.limits.on(Member::Empirical(model).into())?)))
    }
}

/// The labels that models of chains may choose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// The value of `--constraint`.
    pub constraint: Option<&'a Path>,
    /// The values of `--allowed`.
    pub allowed: &'a [i32],
    /// The values of `--at-most-once`.
    pub at_most_once: &'a [String],
    /// Whether probabilities are asked for.
    pub probabilities: bool,
}

impl Limits<'_> {
    /// The same models with these limits.
    fn on(self, models: Ensemble) -> Result<Ensemble> {
        let models = match self.constraint {
            None => models,
            Some(path) => match Rules::of(path) {
                Rules::Notation(constraint) => models.with_constraint(constraint),
                Rules::File(path) => {
                    let (text, file) = Rules::read(path)?;
                    let rules = label_rules::parse(&text, &file, models.labels())?;
                    models.with_rules(Some(rules))
                }
            },
        };
        let models = models.with_at_most_once(self.at_most_once)?;
        if let Some(once) = models.at_most_once().filter(|once| !once.is_exact()) {
            let states = once.states();
            if self.probabilities {
                return Err(usage(format!(
                    "--at-most-once has {states} states here, more than the 4096 of exact probabilities: name fewer, or ask one model for labels alone, with --decode viterbi"
                )));
            }
            let _ = writeln!(
                std::io::stderr(),
                "crfkit: note: --at-most-once has {states} states, more than 4096: the best labelling is searched for among the n best"
            );
        }
        match *self.allowed {
            [] => Ok(models),
            [column] => Ok(models.with_allowed(column)),
            _ => Err(usage(
                "--allowed names several columns, but a plain chain has one label column: name one",
            )),
        }
    }
}

struct Tagging<M> {
    model: Arc<M>,
    wanted: Wanted,
    decode: Decode,
    allowed: Vec<i32>,
}

impl<M: Door> Job for Tagging<M> {
    type Item = <M::Source as Source>::Item;
    type Worker = Tagger<M>;
    type Outcome = Vec<u8>;

    fn work(&self, tagger: &mut Tagger<M>, block: &Block<Self::Item>, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        let mut labels = Vec::new();
        for item in block.items() {
            let Some(input) = self.model.input(item)? else { continue };
            self.model.load_restricted(&input, &self.allowed, tagger)?;
            labels.clear();
            labels.extend_from_slice(tagger.labels(self.decode)?);
            self.model.write(&self.wanted, &input, &labels, tagger, text)?;
        }
        Ok(())
    }
}
