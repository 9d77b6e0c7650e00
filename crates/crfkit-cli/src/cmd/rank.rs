//! `crfkit rank`: orders unlabelled inputs by how much their labels would teach.

use super::tag::{Limits, with_models};
use crate::args::{RankArgs, RankBy, RankOutput};
use crate::error::stdout_failed;
use crate::flags::ModelKind;
use crate::io::{Door, InputPlace, Inputs, Reading, WithModel};
use crate::pipeline::{self, Block, Job, Source};
use anyhow::Result;
use crfkit::Place;
use crfkit::tag::Tagger;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;

/// Words of an input that the text shows at most, in characters.
const SHOWN: usize = 60;

/// Prints the inputs in their order.
pub fn run(args: &RankArgs) -> Result<ExitCode> {
    with_models(slice::from_ref(&args.model), Limits::default(), Rank(args))?
}

struct Rank<'a>(&'a RankArgs);

impl WithModel for Rank<'_> {
    type Out = Result<ExitCode>;

    fn with<M: Door>(self, model: Arc<M>) -> Result<ExitCode> {
        let args = self.0;
        args.given.check_model("rank", model.kind())?;
        let chain = matches!(model.kind(), ModelKind::Chain | ModelKind::Counts);
        let by = args.by.unwrap_or(if chain { RankBy::Entropy } else { RankBy::TokenEntropy });
        let place = match &args.images {
            Some(images) => InputPlace::Images { images: images.clone(), masks: None },
            None => InputPlace::File(args.file.clone()),
        };
        let reading = Reading { extra_columns: Some(args.extra_columns), ..args.input.reading(None) };
        let source = model.open(&Inputs { place, reading })?;
        let mut workers = Tagger::with_engine(model.clone(), args.inference).crew(args.input.threads());
        let mut best = Best { top: args.top, seen: 0, found: Vec::new() };
        let job = Ranking { model, by, output: args.output };
        pipeline::run(&job, source, &mut workers, |found: &Vec<Ranked>| {
            best.add(found);
            Ok(())
        })?;
        let mut out = Vec::new();
        for ranked in best.sorted() {
            ranked.write(args.output, by, &mut out)?;
        }
        std::io::stdout().write_all(&out).map_err(stdout_failed)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// An input and how doubtful its labels are.
#[derive(Clone)]
struct Ranked {
    /// The larger, the earlier.
    key: f64,
    score: f64,
    place: Place,
    tokens: usize,
    /// The words, or the input itself, as the output needs it.
    text: Vec<u8>,
}

/// The inputs that come first, of all that were seen.
struct Best {
    /// How many are kept; 0 for all.
    top: usize,
    seen: u64,
    found: Vec<(Ranked, u64)>,
}

impl Best {
    /// Adds inputs in the order of the file. At most twice as many as are wanted are in memory at a time.
    fn add(&mut self, inputs: &[Ranked]) {
        for input in inputs {
            self.found.push((input.clone(), self.seen));
            self.seen += 1;
            if self.top > 0 && self.found.len() >= 2 * self.top.max(64) {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        self.found.sort_by(|(a, m), (b, n)| b.key.total_cmp(&a.key).then(m.cmp(n)));
        if self.top > 0 {
            self.found.truncate(self.top);
        }
    }

    /// The inputs in order; of equal ones, the earlier comes first.
    fn sorted(mut self) -> impl Iterator<Item = Ranked> {
        self.sort();
        self.found.into_iter().map(|(ranked, _)| ranked)
    }
}

impl Ranked {
    fn write(&self, output: RankOutput, by: RankBy, out: &mut Vec<u8>) -> Result<()> {
        match output {
            RankOutput::Text => {
                write!(out, "{:>12.6}  {:>5}  {}  ", self.score, self.tokens, self.place)?;
                out.extend_from_slice(&self.text);
                out.push(b'\n');
            }
            RankOutput::Columns => out.extend_from_slice(&self.text),
            RankOutput::Json => {
                let words: serde_json::Value = serde_json::from_slice(&self.text)?;
                // JSON has no infinity: with one labelling only, there is no margin.
                let score = self.score.is_finite().then_some(self.score);
                let object = json!({
                    "input": self.place.name, "line": self.place.line, "by": by.name(), "score": score, "tokens": words,
                });
                writeln!(out, "{object}")?;
            }
        }
        Ok(())
    }
}

struct Ranking<M> {
    model: Arc<M>,
    by: RankBy,
    output: RankOutput,
}

impl<M: Door> Job for Ranking<M> {
    type Item = <M::Source as Source>::Item;
    type Worker = Tagger<M>;
    type Outcome = Vec<Ranked>;

    fn work(&self, tagger: &mut Tagger<M>, block: &Block<Self::Item>, found: &mut Vec<Ranked>) -> Result<()> {
        found.clear();
        for item in block.items() {
            let Some(input) = self.model.input(item)? else { continue };
            tagger.load(&input)?;
            let score = self.model.doubt(self.by, tagger)?;
            let variables = tagger.variables();
            if variables == 0 {
                continue;
            }
            let (group, mut text) = (self.model.group().max(1), Vec::new());
            let words = || (0..variables).step_by(group).map(|v| self.model.word(&input, v));
            match self.output {
                RankOutput::Columns => self.model.repeat(item, &mut text)?,
                RankOutput::Json => serde_json::to_writer(&mut text, &words().collect::<Vec<_>>())?,
                RankOutput::Text => {
                    let mut line = String::new();
                    for word in words() {
                        if line.chars().count() + word.chars().count() > SHOWN {
                            line.push('…');
                            break;
                        }
                        line += &word;
                        line.push(' ');
                    }
                    text = line.trim_end().escape_debug().to_string().into_bytes();
                }
            }
            let key = if self.by == RankBy::Margin { -score } else { score };
            let place = M::place(&input);
            found.push(Ranked { key, score, place, tokens: variables / group, text });
        }
        Ok(())
    }
}
