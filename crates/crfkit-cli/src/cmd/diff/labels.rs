//! What two models label differently.

use crate::args::DiffArgs;
use crate::cmd::tag::{Limits, with_models};
use crate::io::{Door, InputPlace, Inputs, WithModel};
use crate::pipeline::{self, Block, Job, Source};
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::graph::Label;
use crfkit::tag::Tagger;
use serde_json::{Value, json};
use std::any::Any;
use std::io::Write;
use std::slice;
use std::sync::Arc;

/// The inputs that two models label differently.
pub struct Labelled {
    /// Number of inputs.
    pub sequences: u64,
    /// The inputs with different labels: where they were read, and the variables with different labels.
    pub differing: Vec<Value>,
}

/// Labels a file, or images, with both models, if that was asked for.
pub fn labelled_differently(args: &DiffArgs) -> Result<Option<Labelled>> {
    let place = match (&args.on, &args.images) {
        (Some(file), _) => InputPlace::File(file.clone()),
        (None, Some(images)) => InputPlace::Images { images: images.clone(), masks: None },
        (None, None) => return Ok(None),
    };
    let inputs = Inputs { place, reading: args.input.reading(None) };
    with_models(slice::from_ref(&args.first), Limits::default(), First { args, inputs })?.map(Some)
}

struct First<'a> {
    args: &'a DiffArgs,
    inputs: Inputs,
}

impl WithModel for First<'_> {
    type Out = Result<Labelled>;

    fn with<M: Door>(self, first: Arc<M>) -> Result<Labelled> {
        self.args.given.check_model("diff", first.kind())?;
        let second = slice::from_ref(&self.args.second);
        with_models(second, Limits::default(), Second { first, of: self })?
    }
}

struct Second<'a, M> {
    first: Arc<M>,
    of: First<'a>,
}

impl<M: Door> WithModel for Second<'_, M> {
    type Out = Result<Labelled>;

    fn with<N: Door>(self, second: Arc<N>) -> Result<Labelled> {
        let Second { first, of: First { args, inputs } } = self;
        let Some(second) = (&second as &dyn Any).downcast_ref::<Arc<M>>().cloned() else {
            anyhow::bail!("the models are of different kinds, and cannot label the same inputs")
        };
        let source = first.open(&inputs)?;
        let pairs = Tagger::new(first.clone()).crew(args.input.threads());
        let others = Tagger::new(second.clone()).crew(args.input.threads());
        let mut workers: Vec<[Tagger<M>; 2]> = pairs.into_iter().zip(others).map(|(a, b)| [a, b]).collect();
        let mut all = Labelled { sequences: 0, differing: Vec::new() };
        let job = Both { models: [first, second] };
        pipeline::run(&job, source, &mut workers, |(sequences, differing): &(u64, Vec<Value>)| {
            all.sequences += sequences;
            all.differing.extend_from_slice(differing);
            Ok(())
        })?;
        Ok(all)
    }
}

/// Labels with two models of one kind.
struct Both<M> {
    models: [Arc<M>; 2],
}

impl<M: Door> Job for Both<M> {
    type Item = <M::Source as Source>::Item;
    type Worker = [Tagger<M>; 2];
    type Outcome = (u64, Vec<Value>);

    fn work(
        &self,
        workers: &mut [Tagger<M>; 2],
        block: &Block<Self::Item>,
        (sequences, differing): &mut Self::Outcome,
    ) -> Result<()> {
        *sequences = 0;
        differing.clear();
        for item in block.items() {
            let Some(input) = self.models[0].input(item)? else { continue };
            *sequences += 1;
            let mut labels = Vec::new();
            for (tagger, model) in workers.iter_mut().zip(&self.models) {
                tagger.load(&input)?;
                let found = tagger.labels(model.decode())?.to_vec();
                labels.push(names(&**model, tagger, &found));
            }
            let place = M::place(&input);
            let different = (0..labels[0].len()).filter(|&v| labels[0][v] != labels[1][v]);
            let token = |v: usize| json!({ "token": v, "name": self.models[0].variable_name(&input, v), "labels": [labels[0][v], labels[1][v]] });
            let tokens: Vec<Value> = different.map(token).collect();
            if !tokens.is_empty() {
                differing.push(json!({ "input": place.name, "line": place.line, "tokens": tokens }));
            }
        }
        Ok(())
    }
}

/// The labels of an input by name.
fn names<M: Door>(model: &M, tagger: &mut Tagger<M>, labels: &[Label]) -> Vec<String> {
    let (graph, sets) = (tagger.answers().graph(), model.label_sets());
    let name =
        |(v, &label): (usize, &Label)| sets[model.label_set_of(graph, v)].labels[label as usize].clone();
    labels.iter().enumerate().map(name).collect()
}

impl Labelled {
    /// Writes the inputs with different labels, one token per line.
    pub fn text(&self, [a, b]: [String; 2], out: &mut Vec<u8>) -> std::io::Result<()> {
        writeln!(
            out,
            "\n{} of {} labelled differently by {a} and {b}",
            self.differing.len(),
            self.sequences
        )?;
        for input in &self.differing {
            let line = input["line"].as_u64().unwrap_or(0);
            let file = input["input"].as_str().unwrap_or_default();
            writeln!(out, "{}", crfkit::Place::new(file, line))?;
            for token in input["tokens"].as_array().into_iter().flatten() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let [a, b] = [0, 1].map(|k| text(&token["labels"][k]));
                let number = token["token"].as_u64().unwrap_or(0);
                writeln!(out, "  {number:>4}  {:<20}  {a} | {b}", text(&token["name"]))?;
            }
        }
        Ok(())
    }
}
