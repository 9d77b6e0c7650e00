//! Why labels beat their runners-up, in words.

use super::Door;
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::explain::{Contribution, Explanation, Question};
use crfkit::graph::Label;
use crfkit::tag::Tagger;
use crfkit_report::{Reason, ReasonPart, Sample};

/// The number of contributions that a page shows of each mistake.
const PARTS: usize = 6;

/// The name of a label of a variable.
pub fn label_name<M: Door>(model: &M, tagger: &mut Tagger<M>, variable: usize, label: Label) -> String {
    let graph = tagger.answers().graph();
    let set = model.label_set_of(graph, variable);
    model.label_sets()[set].labels[label as usize].clone()
}

/// The labels of the variables of a contribution, in the best labelling (0) or in the rival (1).
pub fn label_names<M: Door>(
    model: &M,
    tagger: &mut Tagger<M>,
    part: &Contribution,
    which: usize,
) -> Vec<String> {
    let labelled = part.variables.iter().zip(&part.labels[which]);
    labelled.map(|(&v, &label)| label_name(model, tagger, v, label)).collect()
}

/// The token that a variable belongs to.
pub fn token_of<M: Door>(model: &M, variable: usize) -> usize {
    variable / model.group().max(1)
}

/// An explanation in words, with the `top` largest contributions; `None` if no other label is possible.
pub fn reason<M: Door>(model: &M, tagger: &mut Tagger<M>, found: &Explanation, top: usize) -> Option<Reason> {
    let rival = found.rival.as_ref()?;
    let (shown, others) = rival.contributions.split_at(top.min(rival.contributions.len()));
    let mut in_words = |part: &Contribution| {
        let [ours, theirs] = [0, 1].map(|which| label_names(model, tagger, part, which).join(" → "));
        let tokens: Vec<String> = part.variables.iter().map(|&v| token_of(model, v).to_string()).collect();
        ReasonPart {
            amount: part.amount,
            what: match &part.observation {
                Some(length) if part.part == "length" => format!("length {length}"),
                Some(observation) => model.describe_tests(&part.part, observation),
                None => part.part.clone(),
            },
            labels: if part.variables.is_empty() { String::new() } else { format!("{ours}, not {theirs}") },
            tokens: tokens.join("–"),
            without: part
                .without
                .map_or_else(String::new, |label| label_name(model, tagger, found.variable, label)),
        }
    };
    let parts = shown.iter().map(&mut in_words).collect();
    Some(Reason {
        rival: label_name(model, tagger, found.variable, rival.label),
        difference: rival.difference,
        parts,
        others: others.len(),
        rest: others.iter().map(|part| part.amount).sum(),
    })
}

/// Explains the mistakes of a sample of an input, whose tokens have their label number `which` there. The tagger is about another input
/// afterwards.
pub fn explain_mistakes<M: Door>(
    model: &M,
    input: &M::Input,
    tagger: &mut Tagger<M>,
    (which, sample): (usize, &mut Sample),
) -> Result<()> {
    let group = model.group().max(1);
    let asked: Vec<usize> = sample.mistakes().iter().map(|t| t * group + which).collect();
    if asked.is_empty() {
        return Ok(());
    }
    for found in tagger.explain(input, Question { variables: &asked, removals: PARTS })? {
        // The best labelling is explained, which may differ from the labels that were compared.
        let token = &mut sample.tokens[token_of(model, found.variable)];
        if label_name(model, tagger, found.variable, found.label) == token.predicted {
            token.reason = reason(model, tagger, &found, PARTS);
        }
    }
    Ok(())
}
