//! Checkpoints as bytes and as a file. A checkpoint is bound to the data and settings of its run.

mod file;

#[doc(hidden)]
pub use file::CheckpointFile;

use crate::Result;
use crate::domain::{Corpus, Digest, Domain};
use crate::model::sections::{Format, Reader, Writer};
use crate::optim::State;
use crate::settings::{Settings, TuningTrial};
use crate::train::{Checkpoint, TrainOptions};
use serde::{Deserialize, Serialize};
use std::io::Write;

static FORMAT: Format = Format {
    magic: *b"crfkit\0C",
    oldest: 1,
    version: 1,
    name: "checkpoint",
    kind: "checkpoint of crfkit: give the checkpoint another path",
    remedy: "remove it to start training again",
};

/// The header section: it says what the arrays in the other sections are. Numbers are stored as arrays, exact to the
/// bit.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    fingerprint: u64,
    numbers: Vec<String>,
    vectors: Vec<String>,
    has_best: bool,
    since_best: u64,
    #[serde(default)]
    tried: Vec<TuningTrial>,
}

impl Checkpoint {
    /// Encodes this checkpoint as a file that belongs to the run with this [`fingerprint`].
    pub fn to_bytes(&self, fingerprint: u64) -> Vec<u8> {
        self.sections(fingerprint).finish(&FORMAT)
    }

    /// Writes what [`Checkpoint::to_bytes`] returns to `out`, without a copy of it in memory.
    pub fn write_to(&self, fingerprint: u64, out: &mut dyn Write) -> std::io::Result<()> {
        self.sections(fingerprint).write_to(&FORMAT, out)
    }

    fn sections(&self, fingerprint: u64) -> Writer<'_> {
        let Checkpoint { state: State { theta, vectors, numbers }, best, since_best, tried } = self;
        let head = Head {
            fingerprint,
            numbers: numbers.keys().cloned().collect(),
            vectors: vectors.keys().cloned().collect(),
            has_best: best.is_some(),
            since_best: *since_best as u64,
            tried: tried.clone(),
        };
        let mut file = Writer::default();
        file.json("head", &head);
        file.array("theta", theta, f64::to_le_bytes);
        file.numbers("numbers", numbers.values().map(|x| x.to_le_bytes()));
        for vector in vectors.values() {
            file.array("vector", vector, f64::to_le_bytes);
        }
        if let Some((score, weights)) = best {
            file.numbers("best score", [score.to_le_bytes()].into_iter());
            file.array("best weights", weights, f64::to_le_bytes);
        }
        file
    }

    /// Reads a checkpoint file. A checkpoint of a run with another fingerprint is rejected with an error.
    pub fn from_bytes(bytes: &[u8], fingerprint: u64) -> Result<Checkpoint> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let head: Head = file.json("head")?;
        if head.fingerprint != fingerprint {
            return Err(FORMAT.refuse(
                "this checkpoint belongs to other data or settings (or another version of crfkit or vector unit); delete it to \
                 start again, or give another file",
            ));
        }
        let theta = file.numbers("theta", f64::from_le_bytes)?;
        let numbers = file.numbers("numbers", f64::from_le_bytes)?;
        if numbers.len() != head.numbers.len() {
            return Err(FORMAT.damaged("its numbers do not match their names"));
        }
        let numbers = head.numbers.into_iter().zip(numbers).collect();
        let vector = |name| Ok((name, file.numbers("vector", f64::from_le_bytes)?));
        let vectors = head.vectors.into_iter().map(vector).collect::<Result<_>>()?;
        let best = match head.has_best {
            true => {
                let score = file.numbers("best score", f64::from_le_bytes)?;
                let &[score] = &score[..] else {
                    return Err(FORMAT.damaged("its best score is not one number"));
                };
                Some((score, file.numbers("best weights", f64::from_le_bytes)?))
            }
            false => None,
        };
        file.finish()?;
        let since_best = head.since_best as usize;
        Ok(Checkpoint { state: State { theta, vectors, numbers }, best, since_best, tried: head.tried })
    }
}

/// A hash of everything that decides the course of a run: version, vector unit, settings, data, first weights and
/// prior. It binds a checkpoint to its run.
pub fn fingerprint<D: Domain>(corpus: &Corpus<D>, settings: &Settings, start: &TrainOptions<D>) -> u64 {
    let mut digest = Digest::new(settings);
    corpus.domain.digest(&mut digest);
    digest.dataset(&corpus.data);
    digest.weights(&start.theta);
    digest.weights(&start.prior_mean);
    if let Some(dev) = &start.dev {
        dev.digest(&mut digest);
    }
    digest.finish()
}
