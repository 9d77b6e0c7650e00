//! Shows a model made of counts.

use super::{LABELS, show_settings};
use crate::args::InspectArgs;
use crate::error::stdout_failed;
use anyhow::Result;
use crfkit::Error;
use crfkit::empirical::EmpiricalModel;
use crfkit::graph::Label;
use std::cmp::Reverse;
use std::io::Write;

/// Shows everything, or what was asked for.
pub fn show_model(args: &InspectArgs, model: &EmpiricalModel, out: &mut impl Write) -> Result<()> {
    let number = |name: &String| {
        model.label(name).ok_or_else(|| {
            let labels = model.labels().join(", ");
            Error::Setting(format!("the model has no label `{name}`; its labels are {labels}"))
        })
    };
    let label = args.label.as_ref().map(number).transpose()?;
    let written = match (&args.observation, label) {
        (Some(word), _) => show_word(model, word, label, args.top, out),
        (None, Some(label)) => show_rates(model, Some(label), args.top, out)
            .and_then(|()| show_label(model, label, args.top, out)),
        (None, None) => show_all(model, args.top, out),
    };
    Ok(written.map_err(stdout_failed)?)
}

fn show_all(model: &EmpiricalModel, top: usize, out: &mut impl Write) -> std::io::Result<()> {
    let (labels, counts) = (model.labels(), model.counts());
    writeln!(out, "labels        {}: {}", labels.len(), labels.join(" "))?;
    writeln!(out, "words         {}", counts.words())?;
    writeln!(out, "tokens        {}", counts.tokens())?;
    writeln!(out, "counts        {} different ones", counts.tuples())?;
    show_settings(&serde_json::to_value(model.settings())?, out)?;
    show_rates(model, None, top, out)?;
    for label in 0..labels.len().min(LABELS) {
        show_label(model, label as Label, top, out)?;
    }
    if labels.len() > LABELS {
        writeln!(out, "\nthese are the first {LABELS} of {} labels; --label L shows another", labels.len())?;
    }
    Ok(())
}

/// The label pairs that are farthest from independent, as ln CR (eq. 1 of empirical-training-2013), with their counts.
fn show_rates(
    model: &EmpiricalModel,
    label: Option<Label>,
    top: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let mut pairs: Vec<([Label; 2], u64)> = model.counts().label_pairs().collect();
    pairs.retain(|(pair, _)| label.is_none_or(|label| pair.contains(&label)));
    pairs.sort_by(|(a, _), (b, _)| model.log_rate(*b).abs().total_cmp(&model.log_rate(*a).abs()));
    writeln!(out, "\nlogarithms of co-occurrence rates (0: independent), and counts")?;
    for (pair, n) in pairs.into_iter().take(top) {
        let [before, after] = pair.map(|label| &model.labels()[label as usize]);
        writeln!(out, "  {:>10.4}  {n:>8}  {before} → {after}", model.log_rate(pair))?;
    }
    Ok(())
}

/// The most frequent words of a label: counts, and the share of the word's occurrences.
fn show_label(model: &EmpiricalModel, label: Label, top: usize, out: &mut impl Write) -> std::io::Result<()> {
    let mut words: Vec<(&str, u64)> =
        model.counts().word_labels().filter(|(_, y, _)| *y == label).map(|(word, _, n)| (word, n)).collect();
    words.sort_by_key(|(_, n)| Reverse(*n)); // stable: ties by name
    let share = 100.0 * model.label_frequencies()[label as usize];
    writeln!(
        out,
        "\nmost frequent words of {} ({share:.2} % of the tokens)",
        model.labels()[label as usize]
    )?;
    for (word, n) in words.into_iter().take(top) {
        writeln!(out, "  {n:>10}  {}", word.escape_debug())?;
    }
    Ok(())
}

/// ψ̂ of a word, known or not.
fn show_word(
    model: &EmpiricalModel,
    word: &str,
    label: Option<Label>,
    top: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let known = if model.knows(word) { "known" } else { "unknown: by its spelling" };
    writeln!(out, "labels of {} ({known})", word.escape_debug())?;
    let mut psi = vec![0.0; model.labels().len()];
    model.log_psi(model.word(word), &mut psi);
    let mut ranked: Vec<(usize, f64)> = psi.iter().map(|p| p.exp()).enumerate().collect();
    // Labels that would be printed with 0 are left out, unless one is asked for.
    ranked.retain(|(y, p)| label.map_or(*p >= 0.00005, |label| label as usize == *y));
    ranked.sort_by(|(_, p), (_, q)| q.total_cmp(p));
    for (y, p) in ranked.into_iter().take(top) {
        writeln!(out, "  {p:>10.4}  {}", model.labels()[y])?;
    }
    Ok(())
}
