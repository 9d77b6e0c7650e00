//! How the answers about linked chains are written.

use crate::args::Marginals;
use crate::io::layout::json_spans;
use crate::io::{Echo, Wanted};
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::data::columns::Columns;
use crfkit::decode::Ranked;
use crfkit::eval::{ChunkLabels, chunks, is_chunked};
use crfkit::graph::Label;
use crfkit::linked::{LinkedModel, LinkedTagger};
use serde_json::Value;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

/// Appends the rows of a labelling, or of each of the best ones, with their probabilities in front of them.
pub(super) fn write_columns(
    model: &LinkedModel,
    wanted: &Wanted,
    sequence: &Columns,
    labels: &[Label],
    tagger: &mut LinkedTagger,
    out: &mut Vec<u8>,
) -> Result<()> {
    if wanted.nbest > 0 {
        for (rank, ranked) in tagger.answers().nbest(wanted.nbest)?.iter().enumerate() {
            writeln!(out, "# {rank} {:.6}", tagger.answers().probability(&ranked.labels)?)?;
            write_rows(model, wanted, sequence, &ranked.labels, tagger, out)?;
        }
        return Ok(());
    }
    if wanted.probability {
        write!(out, "# {:.6}", tagger.answers().probability(labels)?)?;
        match wanted.confidence {
            true => writeln!(out, " {:.6}", tagger.answers().entropy()?)?,
            false => out.push(b'\n'),
        }
    }
    write_rows(model, wanted, sequence, labels, tagger, out)
}

/// The chunks of a label column with their probabilities; none where labels are not chunks.
fn chunks_of<'a>(
    model: &'a LinkedModel,
    c: usize,
    labels: &[Label],
    tagger: &mut LinkedTagger,
) -> Result<Vec<(Range<usize>, &'a str, f64)>> {
    let (names, count) = (&model.domain.labels[c], model.domain.labels.len());
    if !is_chunked(names.iter().map(String::as_str)) {
        return Ok(Vec::new());
    }
    let marks = ChunkLabels::new(names);
    let path: Vec<usize> = (c..labels.len()).step_by(count).collect();
    let named: Vec<&str> = path.iter().map(|&v| &*names[labels[v] as usize]).collect();
    let number = |label: Option<Label>| label.map(|label| label as usize);
    let sure = |(tokens, kind): (Range<usize>, &'a str)| {
        let fits = |t: usize, before, after| marks.fits((&tokens, kind), t, number(before), number(after));
        let probability = tagger.answers().probability_where(&path, tokens.clone(), fits)?;
        Ok((tokens, kind, probability))
    };
    chunks(&named).into_iter().map(sure).collect()
}

/// Appends the input columns with the labels, row by row.
fn write_rows(
    model: &LinkedModel,
    wanted: &Wanted,
    sequence: &Columns,
    labels: &[Label],
    tagger: &mut LinkedTagger,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = model.domain.labels.len();
    let names = label_names(model, wanted, labels);
    // For each label column and token the probability of its chunk, or of its label where it is in none.
    let mut chunks = Vec::new();
    for c in (0..count).filter(|_| wanted.confidence) {
        let mut sure = vec![None; sequence.len()];
        for (tokens, _, probability) in chunks_of(model, c, labels, tagger)? {
            sure[tokens].fill(Some(probability));
        }
        chunks.push(sure);
    }
    for row in 0..sequence.len() {
        let mut separator = "";
        for field in sequence.row(row) {
            write!(out, "{separator}{field}")?;
            separator = "\t";
        }
        for (c, all) in model.domain.labels.iter().enumerate() {
            let label = labels[row * count + c];
            write!(out, "\t{}", names[c][row])?;
            let mut sure = |label| tagger.answers().probability_of(row * count + c, label);
            match wanted.marginals {
                None => {}
                Some(Marginals::Chosen) => write!(out, "\t{:.6}", sure(label)?)?,
                Some(Marginals::All) => {
                    for (label, name) in all.iter().enumerate() {
                        write!(out, "\t{name}/{:.6}", sure(label as Label)?)?;
                    }
                }
            }
            if let Some(of_column) = chunks.get(c) {
                write!(out, "\t{:.6}", of_column[row].map_or_else(|| sure(label), Ok)?)?;
            }
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    Ok(())
}

/// The names of the labels, `[label columns][tokens]`, in the notation that is wanted.
fn label_names<'a>(model: &'a LinkedModel, wanted: &Wanted, labels: &[Label]) -> Vec<Vec<Cow<'a, str>>> {
    let of_column = |(c, names): (usize, &'a Vec<String>)| {
        let labels = labels.iter().skip(c).step_by(model.domain.labels.len());
        let named: Vec<&str> = labels.map(|&label| &*names[label as usize]).collect();
        match wanted.scheme {
            Some(scheme) => scheme.labels(&named).into_iter().map(Cow::Owned).collect(),
            None => named.into_iter().map(Cow::Borrowed).collect(),
        }
    };
    model.domain.labels.iter().enumerate().map(of_column).collect()
}

/// `{"labels":[[…],[…]],"marginals":[[…],[…]],"converged":true}`: a list for each label column; `converged` if the
/// answer needed marginals. Also `probability`, `entropy`, `chunks` (a list for each label column) and `nbest`, where they are wanted.
pub(super) fn write_json(
    model: &LinkedModel,
    wanted: &Wanted,
    sequence: &Columns,
    labels: &[Label],
    tagger: &mut LinkedTagger,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = model.domain.labels.len();
    let ranked = match wanted.nbest {
        0 => Vec::new(),
        n => tagger.answers().nbest(n)?,
    };
    // Among equal labellings, it is the one that the list begins with.
    let labels = ranked.first().map_or(labels, |best| &best.labels);
    let of = |c: usize| labels.iter().copied().enumerate().skip(c).step_by(count);
    let names = label_names(model, wanted, labels);
    out.push(b'{');
    if wanted.echo != Echo::Nothing {
        wanted.echo.members(sequence, model.domain.columns - count, out)?;
    }
    out.extend_from_slice(b"\"labels\":");
    serde_json::to_writer(&mut *out, &names)?;
    if matches!(wanted.echo, Echo::Text | Echo::Sentence) {
        for (c, names) in names.iter().enumerate() {
            out.extend_from_slice(if c == 0 { b",\"spans\":[" } else { b"," });
            json_spans(sequence, &names.iter().map(|name| &**name).collect::<Vec<_>>(), out)?;
        }
        out.push(b']');
    }
    if let Some(which) = wanted.marginals {
        let mut sure = |c: usize| -> crfkit::Result<Vec<Value>> {
            let names = &model.domain.labels[c];
            let mut value =
                |v: usize, label: Label| tagger.answers().probability_of(v, label).map(Value::from);
            of(c)
                .map(|(v, label)| match which {
                    Marginals::Chosen => value(v, label),
                    Marginals::All => {
                        let each =
                            names.iter().zip(0..).map(|(name, label)| Ok((name.clone(), value(v, label)?)));
                        Ok(Value::Object(each.collect::<crfkit::Result<_>>()?))
                    }
                })
                .collect()
        };
        out.extend_from_slice(b",\"marginals\":");
        serde_json::to_writer(&mut *out, &(0..count).map(&mut sure).collect::<crfkit::Result<Vec<_>>>()?)?;
    }
    if wanted.probability {
        write!(out, ",\"probability\":{}", Value::from(tagger.answers().probability(labels)?))?;
    }
    if wanted.confidence {
        write!(out, ",\"entropy\":{},\"chunks\":[", Value::from(tagger.answers().entropy()?))?;
        for c in 0..count {
            out.extend_from_slice(if c == 0 { b"[" } else { b",[" });
            for (k, (tokens, kind, p)) in chunks_of(model, c, labels, tagger)?.into_iter().enumerate() {
                let (comma, Range { start, end }) = (if k == 0 { "" } else { "," }, tokens);
                let (kind, p) = (Value::from(kind), Value::from(p));
                write!(
                    out,
                    "{comma}{{\"start\":{start},\"end\":{end},\"label\":{kind},\"probability\":{p}}}"
                )?;
            }
            out.push(b']');
        }
        out.push(b']');
    }
    for (rank, Ranked { labels, .. }) in ranked.iter().enumerate() {
        let names = serde_json::to_string(&label_names(model, wanted, labels))?;
        let p = Value::from(tagger.answers().probability(labels)?);
        let before = if rank == 0 { ",\"nbest\":[" } else { "," };
        write!(out, "{before}{{\"labels\":{names},\"probability\":{p}}}")?;
    }
    if !ranked.is_empty() {
        out.push(b']');
    }
    if let Some(converged) = tagger.converged() {
        write!(out, ",\"converged\":{converged}")?;
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}
