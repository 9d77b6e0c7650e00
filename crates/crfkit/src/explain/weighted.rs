//! Explanations by models with weights.

use super::{Contribution, Explain, Explanation, NORMALISATION, Question, Rival, check_variables, runner_up};
use crate::Result;
use crate::answers::Answers;
use crate::data::dataset::Dataset;
use crate::decode::Decode;
use crate::domain::{AnswersOf, Domain, ReadyTables, WeightedModel};
use crate::graph::{Graph, Label, TableRef};
use crate::math::Array;
use crate::model::Names;
use crate::risk::potentials;
use std::collections::HashMap;

/// A contribution below this, relative to the difference, is rounding.
const ROUNDING: f64 = 1e-9;

impl<D: Domain> Explain for WeightedModel<D> {
    fn explain(
        &self,
        tables: &ReadyTables,
        input: &D::Input,
        question: Question,
        scratch: &mut D::Scratch,
        answers: &mut AnswersOf<D>,
    ) -> Result<Vec<Explanation>> {
        let mut data = Dataset::new();
        self.domain.observe(input, scratch, &mut data)?;
        check_variables::<Self>(input, question.variables, data.graph(0).vars())?;
        let mut case = Case {
            model: self,
            tables,
            names: self.names(),
            data: &data,
            offsets: HashMap::new(),
            places: data.dense_places(0),
        };
        let graph = data.graph(0);
        case.offsets = (0..graph.own_tables()).map(|f| (graph.own_offset(f), f)).collect();
        let place = || D::place(input);
        let mut explanations = Vec::new();
        answers.load(graph, place(), &mut |own| case.fill(None, own))?;
        let best = answers.labels(Decode::Best)?.to_vec();
        for &variable in question.variables {
            answers.load(graph, place(), &mut |own| case.fill(None, own))?;
            let mut rival = runner_up(answers, &best, variable)?;
            if let Some(rival) = &mut rival {
                let mut found = case.contributions(&best, rival);
                let observed = found.iter_mut().filter(|(_, at)| at.is_some());
                for (contribution, at) in observed.take(question.removals) {
                    answers.load(graph, place(), &mut |own| case.fill(*at, own))?;
                    contribution.without = Some(answers.labels(Decode::Best)?[variable]);
                }
                rival.contributions = found.into_iter().map(|(contribution, _)| contribution).collect();
            }
            explanations.push(Explanation { variable, label: best[variable], rival });
        }
        // Leave the answers about the input as it is.
        answers.load(graph, place(), &mut |own| case.fill(None, own))?;
        Ok(explanations)
    }
}

/// An observation of the input: its own table, and its position among the table's observations.
type At = (usize, usize);

/// An input with everything that explains its labels.
struct Case<'a, D: Domain> {
    model: &'a WeightedModel<D>,
    tables: &'a ReadyTables,
    names: Names<'a>,
    data: &'a Dataset<D::Graph>,
    /// The number of each own table by its offset.
    offsets: HashMap<usize, usize>,
    /// The place of each own table among those of its kind, where there are dense observations.
    places: Vec<usize>,
}

impl<D: Domain> Case<'_, D> {
    /// Writes the log-potentials of the input, without one observation.
    fn fill(&self, without: Option<At>, own: &mut Array<f64>) {
        potentials(&self.model.features, self.data, 0, &self.model.weights, own);
        if let Some((f, k)) = without {
            let graph = self.data.graph(0);
            let (id, value) = self.observation(f, k);
            let table = &mut own.plane_mut(0)[graph.own_offset(f)..][..graph.own_size(f)];
            self.model.features.rows[graph.own_kind(f)].gather(&self.model.weights, id, -value, table);
        }
    }

    fn observation(&self, f: usize, k: usize) -> (u32, f64) {
        let numbers = self.numbers(f);
        if let Some(&x) = numbers.get(k) {
            return (k as u32, x.into());
        }
        let (ids, values) = self.data.observations(self.data.tables(0).start + f);
        let k = k - numbers.len();
        (ids[k], values.get(k).copied().unwrap_or(1.0))
    }

    /// The values of the dense observations of an own table, which come first.
    fn numbers(&self, f: usize) -> &[f32] {
        let graph = self.data.graph(0);
        let mut dense = self.data.dense().iter().filter(|_| graph.own_is_dense(f));
        let of_kind = dense.find(|dense| dense.kind() == graph.own_kind(f));
        of_kind.map_or(&[], |dense| &dense.of(0)[self.places[f] * dense.width()..][..dense.width()])
    }

    /// Number of observations of an own table.
    fn observations(&self, f: usize) -> usize {
        self.numbers(f).len() + self.data.observations(self.data.tables(0).start + f).0.len()
    }

    /// What each observation and each table of labels adds to the difference of two labellings, with the place of observations.
    fn contributions(&self, best: &[Label], rival: &Rival) -> Vec<(Contribution, Option<At>)> {
        let (features, graph) = (&*self.model.features, self.data.graph(0));
        let mut found = Vec::new();
        let mut table = Vec::new();
        graph.for_each_factor(|factor| {
            let [a, b] = [factor.entry(best), factor.entry(&rival.labels)];
            if a == b {
                return;
            }
            let labels = [best, &rival.labels]
                .map(|labels| factor.vars.iter().map(|&v| labels[v]).collect::<Vec<_>>());
            let mut add = |weight: usize, amount: f64, at: Option<At>| {
                if amount == 0.0 {
                    return;
                }
                let Some((part, observation)) = self.names.owner(weight) else { return };
                // What is about labels alone cannot be taken away.
                let at = at.filter(|_| observation.is_some());
                let (variables, labels) = (factor.vars.to_vec(), labels.clone());
                let part = Contribution { part, observation, variables, labels, amount, without: None };
                found.push((part, at));
            };
            match factor.table {
                TableRef::Shared(id) => {
                    let log = &self.tables.shared[id].log;
                    add(features.tables[id].base, log.get(a) - log.get(b), None);
                }
                TableRef::Own(offset) => {
                    let f = self.offsets[&offset];
                    let rows = &features.rows[graph.own_kind(f)];
                    for k in 0..self.observations(f) {
                        let (id, value) = self.observation(f, k);
                        table.clear();
                        table.resize(graph.own_size(f), 0.0);
                        rows.gather(&self.model.weights, id, value, &mut table);
                        add(rows.range(id).start, table[a] - table[b], Some((f, k)));
                    }
                }
            }
        });
        self.segments(best, rival, &mut found);
        let temperature = self.model.settings.temperature.unwrap_or(1.0);
        found.iter_mut().for_each(|(contribution, _)| contribution.amount /= temperature);
        // Models that are normalised label by label have the normalisers besides.
        let sum: f64 = found.iter().map(|(contribution, _)| contribution.amount).sum();
        let rest = rival.difference - sum;
        if rest.abs() > ROUNDING * (1.0 + sum.abs()) {
            let (variables, labels) = (Vec::new(), [Vec::new(), Vec::new()]);
            let part = NORMALISATION.to_owned();
            let normaliser =
                Contribution { part, observation: None, variables, labels, amount: rest, without: None };
            found.push((normaliser, None));
        }
        found.sort_by(|(a, _), (b, _)| b.amount.abs().total_cmp(&a.amount.abs()));
        found
    }

    /// The same for the segments that only one of two labellings has.
    fn segments(&self, best: &[Label], rival: &Rival, found: &mut Vec<(Contribution, Option<At>)>) {
        let (features, graph) = (&*self.model.features, self.data.graph(0));
        let [ours, theirs] = [best, &rival.labels].map(|labels| {
            let mut list = Vec::new();
            graph.for_each_segment(labels, |table, entry, tokens| list.push((table, entry, tokens)));
            list
        });
        let only = ours.iter().filter(|one| !theirs.contains(one)).map(|one| (one, 1.0));
        let signed = only.chain(theirs.iter().filter(|one| !ours.contains(one)).map(|one| (one, -1.0)));
        for (&(table, entry, ref tokens), sign) in signed {
            let mut add = |weight: usize, at: Option<At>, value: f64| {
                let (amount, owner) = (sign * value * self.model.weights[weight], self.names.owner(weight));
                let Some((part, observation)) = owner.filter(|_| amount != 0.0) else { return };
                let labels = [best, &rival.labels].map(|labels| labels[tokens.clone()].to_vec());
                let variables = tokens.clone().collect();
                found
                    .push((Contribution { part, observation, variables, labels, amount, without: None }, at));
            };
            match table {
                TableRef::Shared(id) => {
                    let table = &features.tables[id];
                    if let Ok(k) = table.entry.binary_search(&(entry as u32)) {
                        add(table.base + k, None, 1.0);
                    }
                }
                TableRef::Own(offset) => {
                    let f = self.offsets[&offset];
                    let rows = &features.rows[graph.own_kind(f)];
                    for k in 0..self.observations(f) {
                        let (id, value) = self.observation(f, k);
                        if let Some(place) = rows.entries_of(id).position(|one| one == entry) {
                            add(rows.range(id).start + place, Some((f, k)), value);
                        }
                    }
                }
            }
        }
    }
}
