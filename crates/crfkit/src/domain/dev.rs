//! Development sets: examples on which a model is evaluated during training.

use super::{Digest, Domain, ModelGraph};
use crate::answers::Answers;
use crate::data::dataset::Dataset;
use crate::graph::{Label, UNLABELLED};
use crate::model::Features;
use crate::risk::{in_parts, potentials, thread_count};
use crate::settings::Settings;
use crate::tag::{Judgement, Truth};
use crate::{Error, Place, Result};
use std::borrow::Cow;

/// Examples for evaluation during training. Observations use the training corpus's alphabets; gold labels are kept by
/// name.
#[derive(Clone, Debug)]
pub struct Dev<D: Domain> {
    /// The observations. Gold labels are numbers; numbers beyond the domain's labels refer to `unknown`.
    data: Dataset<D::Graph>,
    /// Labels that training has never seen, and so never predicts, for each label set.
    unknown: Vec<Vec<String>>,
    scratch: D::Scratch,
    /// Whether labels may be missing, or one of several.
    partial: bool,
}

impl<D: Domain> Dev<D> {
    /// A development set without examples.
    pub fn new(domain: &D) -> Self {
        let unknown = vec![Vec::new(); domain.label_sets().len()];
        Dev { data: Dataset::new(), unknown, scratch: D::Scratch::default(), partial: false }
    }

    /// The same set, for inputs in which labels may be missing: those with `?`, and with one of several labels (`A|B`), are not compared.
    pub fn with_partial_labels(self) -> Self {
        Dev { partial: true, ..self }
    }

    /// A development set of training examples, whose labels the domain knows.
    pub(crate) fn from_data(domain: &D, mut data: Dataset<D::Graph>) -> Self {
        data.forget_sets();
        Dev { data, ..Dev::new(domain) }
    }

    /// A development set of all these inputs.
    pub fn from_inputs<'a>(domain: &D, inputs: impl IntoIterator<Item = &'a D::Input>) -> Result<Self>
    where
        D::Input: 'a,
    {
        let mut dev = Dev::new(domain);
        inputs.into_iter().try_for_each(|input| dev.add(domain, input))?;
        Ok(dev)
    }

    /// Adds a labelled input.
    pub fn add(&mut self, domain: &D, input: &D::Input) -> Result<()> {
        if !D::allowed(input).is_empty() {
            return Err(Error::input(
                D::place(input),
                "`allowed` restricts the answers of a model: leave it out of development data, which compares models",
            ));
        }
        domain.observe(input, &mut self.scratch, &mut self.data)?;
        let truth = domain.truth(input)?;
        let Truth { labels, .. } = if self.partial { truth.without_partial() } else { truth };
        let example = self.data.len() - 1;
        let sets = domain.label_sets();
        let mut gold = Vec::with_capacity(labels.len());
        for (v, label) in labels.iter().enumerate() {
            let set = domain.label_set_of(self.data.graph(example), v);
            gold.push(match label.as_deref() {
                None => UNLABELLED,
                Some(name) => number(&sets[set].labels, &mut self.unknown[set], name),
            });
        }
        self.data.set_last_gold(&gold);
        Ok(())
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Labels all examples with the weights θ, and compares the result with the gold labels. The work is spread over
    /// `threads` threads, 0 for all cores. The result does not depend on their number.
    pub fn judge(
        &self,
        domain: &D,
        features: &Features,
        theta: &[f64],
        settings: &Settings,
        threads: usize,
    ) -> Result<Judgement> {
        let tables = D::tables(features, theta);
        let engine = settings.inference.unwrap_or_else(|| domain.engine());
        let threads = thread_count(threads).clamp(1, self.data.len().max(1));
        let decode = settings.objective.decode(D::DECODE);
        let part = |first: usize| -> Result<Judgement> {
            let mut answers = D::Graph::answers(tables.shared.clone(), settings, engine, D::TOLERANCE);
            if let Some(rules) = domain.rules(settings) {
                answers.obey(Some(rules));
            }
            let mut judgement = Judgement::new(domain.label_sets().len());
            for example in (first..self.data.len()).step_by(threads) {
                let place = Place::new(format!("development example {}", example + 1), 0);
                let potentials = &mut |own: &mut _| potentials(features, &self.data, example, theta, own);
                answers.load(self.data.graph(example), place, potentials)?;
                self.judge_one(domain, example, answers.labels(decode)?, &mut judgement);
            }
            Ok(judgement)
        };
        let mut all = Judgement::new(domain.label_sets().len());
        for part in in_parts(threads, part) {
            all.merge(&part?);
        }
        Ok(all)
    }

    fn judge_one(&self, domain: &D, example: usize, found: &[Label], judgement: &mut Judgement) {
        let graph = self.data.graph(example);
        let sets = domain.label_sets();
        let label_set_of = |v: usize| domain.label_set_of(graph, v);
        let name = |(v, &label): (usize, &Label)| {
            let set = label_set_of(v);
            let known = sets[set].labels.len();
            (label != UNLABELLED).then(|| match (label as usize).checked_sub(known) {
                None => Cow::Borrowed(sets[set].labels[label as usize].as_str()),
                Some(unknown) => Cow::Borrowed(self.unknown[set][unknown].as_str()),
            })
        };
        let labels = self.data.gold(example).iter().enumerate().map(name).collect();
        let truth = Truth { labels, known: Vec::new() };
        judgement.add(&sets, label_set_of, domain.group(), &truth, found);
    }

    /// Adds all examples to the fingerprint of a run.
    pub(crate) fn digest(&self, digest: &mut Digest) {
        digest.dataset(&self.data);
        self.unknown.iter().for_each(|names| digest.texts(names));
    }
}

/// The number of a label: its index among the known labels, or after them among the unknown ones.
fn number(known: &[String], unknown: &mut Vec<String>, name: &str) -> Label {
    let place = known.iter().position(|label| label == name).unwrap_or_else(|| {
        let place = unknown.iter().position(|label| label == name).unwrap_or_else(|| {
            unknown.push(name.to_owned());
            unknown.len() - 1
        });
        known.len() + place
    });
    place as Label
}
