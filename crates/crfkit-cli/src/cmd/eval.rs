//! `crfkit eval`: scores of a model, or of a file of predictions.

mod predicted;

use super::tag::{Limits, with_models};
use crate::args::EvalArgs;
use crate::error::{some, stdout_failed, usage};
use crate::io::{Door, InputPlace, Inputs, Reading, WithModel};
use crate::pipeline::{self, Block, Job, Source};
use anyhow::Result;
use crfkit::data::partial::sole_label;
use crfkit::decode::Decode;
use crfkit::eval::Calibration;
use crfkit::infer::Engine;
use crfkit::tag::{Judgement, Tagger};
use crfkit::{Error, Place};
use crfkit_report::{EvaluationPart, Samples};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Evaluates and prints.
pub fn run(args: &EvalArgs) -> Result<ExitCode> {
    let text = match &args.predicted {
        Some(predicted) => predicted::scores(args, predicted)?,
        None => {
            let limits = Limits { constraint: args.constraint.as_deref(), ..Limits::default() };
            with_models(&args.model, limits, Evaluate(args))??
        }
    };
    std::io::stdout().write_all(&text).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

struct Evaluate<'a>(&'a EvalArgs);

impl WithModel for Evaluate<'_> {
    type Out = Result<Vec<u8>>;

    fn with<M: Door>(self, model: Arc<M>) -> Result<Vec<u8>> {
        let args = self.0;
        args.given.check_model("eval", model.kind())?;
        let decode = args.grid.labelling(&*model, args.model.len())?;
        let place = match (&args.test, &args.grid.images, &args.masks) {
            (_, Some(images), Some(masks)) => {
                InputPlace::Images { images: images.clone(), masks: Some(masks.clone()) }
            }
            (_, Some(_), None) => {
                return Err(usage("--images needs -m MODEL and --masks DIR, the gold labels"));
            }
            (Some(test), None, _) => InputPlace::File(test.clone()),
            (None, None, _) => {
                return Err(usage("there is no labelled data: give a file, or --images and --masks"));
            }
        };
        let reading =
            Reading { extra_columns: Some(args.extra_columns), ..args.input.reading(args.label_column) };
        let inputs = Inputs { place, reading };
        let how = How {
            decode,
            engine: args.grid.inference,
            samples: false,
            calibration: args.calibration,
            partial: args.partial_labels,
            threads: args.input.threads(),
        };
        let mut found = judge(&model, &inputs, &how)?;
        if let Some(plain) = model.without_temperature().filter(|_| args.calibration && inputs.again()) {
            found.before = Some(judge(&Arc::new(plain), &inputs, &how)?.calibration);
        }
        found.report_unknown_labels(&*model);
        match args.json {
            true => {
                let scores = model.json(&found.judgement, found.inputs)?;
                let json = if args.calibration { found.with_calibration(&scores)? } else { scores };
                Ok((json + "\n").into_bytes())
            }
            false => {
                let mut text = model.text(&found.judgement, found.inputs)?;
                if args.calibration {
                    found.write_calibration(&mut text)?;
                }
                Ok(text)
            }
        }
    }
}

/// How a model is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Which labelling is compared with the gold labels.
    pub decode: Decode,
    /// The engine, if it differs from the one that the model was trained with.
    pub engine: Option<Engine>,
    /// Whether the worst mistakes are collected.
    pub samples: bool,
    /// Whether probabilities are compared with accuracies.
    pub calibration: bool,
    /// Whether gold labels may be missing.
    pub partial: bool,
    /// Threads.
    pub threads: usize,
}

impl How {
    /// The defaults of a model.
    pub fn usual<M: Door>(model: &M, threads: usize) -> Self {
        let decode = model.decode();
        How { decode, engine: None, samples: false, calibration: false, partial: false, threads }
    }
}

/// What helps where labels are not known.
pub const PARTIAL_HINT: &str = "if `?` and `A|B` say that a label is not known, use --partial-labels";

/// The results of a model on labelled data.
#[derive(Default)]
pub struct Judged {
    /// All comparisons.
    pub judgement: Judgement,
    /// The worst mistakes for each set of labels, if they are wanted.
    pub samples: Vec<Samples>,
    /// Probabilities and accuracies of labels and of chunks, if they are wanted.
    pub calibration: [Calibration; 2],
    /// The same without the model's temperature, if it has one.
    pub before: Option<[Calibration; 2]>,
    /// Number of inputs.
    pub inputs: u64,
    /// Whether gold labels could be missing.
    partial: bool,
}

impl Judged {
    fn new(sets: usize) -> Self {
        Judged {
            judgement: Judgement::new(sets),
            samples: vec![Samples::default(); sets],
            ..Judged::default()
        }
    }

    fn merge(&mut self, other: &Judged) {
        self.judgement.merge(&other.judgement);
        self.samples.resize_with(other.samples.len().max(self.samples.len()), Samples::default);
        self.samples.iter_mut().zip(&other.samples).for_each(|(all, one)| all.merge(one));
        self.calibration.iter_mut().zip(&other.calibration).for_each(|(all, one)| all.merge(one));
        self.inputs += other.inputs;
    }

    /// The scores, a JSON object, with the reliability tables in it.
    fn with_calibration(&self, scores: &str) -> Result<String> {
        let [of_labels, of_chunks] = &self.calibration;
        let mut tables = serde_json::json!({ "labels": of_labels });
        if of_chunks.count() > 0 {
            tables["chunks"] = serde_json::to_value(of_chunks)?;
        }
        if let Some([of_labels, of_chunks]) = &self.before {
            tables["without_temperature"] = serde_json::json!({ "labels": of_labels, "chunks": of_chunks });
        }
        let open = scores.trim_end().strip_suffix('}').unwrap_or(scores);
        Ok(format!("{open},\"calibration\":{tables}}}"))
    }

    /// The reliability tables as text.
    fn write_calibration(&self, out: &mut Vec<u8>) -> Result<()> {
        for (table, what) in self.calibration.iter().zip(["labels", "chunks"]) {
            if table.count() > 0 {
                writeln!(out)?;
                table.write_text(what, out)?;
            }
        }
        for (table, what) in self.before.iter().flatten().zip(["labels", "chunks"]) {
            if table.count() > 0 {
                let error = 100.0 * table.error();
                writeln!(out, "without the temperature of the model, the error of {what} is {error:.2}%")?;
            }
        }
        Ok(())
    }

    /// The parts of a page.
    pub fn into_parts<M: Door>(self, model: &M, inputs: &Inputs) -> Vec<EvaluationPart> {
        model.parts(&self.judgement, self.samples, &inputs.name())
    }

    /// Names the labels that the model does not know, on standard error, and what helps if they mean that a label is not known.
    pub fn report_unknown_labels<M: Door>(&self, model: &M) {
        let unknown = &self.judgement.unknown_labels;
        if unknown.is_empty() {
            return;
        }
        let tokens: u64 = unknown.values().sum();
        let names: Vec<&str> = unknown.keys().map(String::as_str).collect();
        let tokens = match tokens {
            1 => "1 token has a label".to_owned(),
            _ => format!("{tokens} tokens have labels"),
        };
        let text = format!("note: {tokens} that the model does not know: {}", some(&names));
        let partial = names.iter().any(|name| sole_label(name).is_none());
        let hint = match partial && !self.partial && model.kind().labels_sequences() {
            true => format!("; they count as errors; {PARTIAL_HINT}"),
            false => String::new(),
        };
        let _ = writeln!(std::io::stderr(), "crfkit: {text}{hint}");
    }
}

/// Labels inputs and compares with their gold labels.
pub fn judge<M: Door>(model: &Arc<M>, inputs: &Inputs, how: &How) -> Result<Judged> {
    let sets = model.label_sets().len();
    let tagger = Tagger::with_engine(model.clone(), how.engine);
    let tagger = if how.partial { tagger.with_partial_labels() } else { tagger };
    let mut workers = tagger.crew(how.threads);
    let mut all = Judged { partial: how.partial, ..Judged::new(sets) };
    let job = Judging { model: model.clone(), how: *how };
    pipeline::run(&job, model.open(inputs)?, &mut workers, |found: &Judged| {
        all.merge(found);
        Ok(())
    })?;
    match all.judgement.is_empty() {
        true if how.partial && all.inputs > 0 => {
            let message = "no token in it has exactly one gold label to compare with: label some";
            Err(Error::input(Place::new(inputs.name(), 0), message).into())
        }
        true => Err(Error::input(Place::new(inputs.name(), 0), M::NOTHING).into()),
        false => Ok(all),
    }
}

struct Judging<M> {
    model: Arc<M>,
    how: How,
}

impl<M: Door> Job for Judging<M> {
    type Item = <M::Source as Source>::Item;
    type Worker = Tagger<M>;
    type Outcome = Judged;

    fn work(&self, tagger: &mut Tagger<M>, block: &Block<Self::Item>, found: &mut Judged) -> Result<()> {
        *found = Judged::new(self.model.label_sets().len());
        for item in block.items() {
            let Some(input) = self.model.input(item)? else { continue };
            let labels = tagger.judge(&input, self.how.decode, &mut found.judgement)?;
            found.inputs += 1;
            if self.how.calibration {
                self.model.calibrate(&input, &labels, tagger, &mut found.calibration)?;
            }
            if self.how.samples {
                self.model.sample(&input, &labels, tagger, &mut found.samples)?;
            }
        }
        Ok(())
    }
}
