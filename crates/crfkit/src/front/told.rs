//! Progress reports and results of training.

use super::Model;
use crate::checkpoint::CheckpointFile;
use crate::optim::Control;
use crate::train::{Checkpoint, Event, Listener, StopReason};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Called at every step; training stops when it returns false.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&TrainingProgress) -> bool + 'a>;

/// Called with the first failure to write a checkpoint.
pub(super) type OnFailure<'a> = Box<dyn FnMut(&Error) + 'a>;

/// Where checkpoints are kept.
pub(super) struct Saved<'a> {
    pub(super) file: CheckpointFile,
    pub(super) failed: OnFailure<'a>,
}

/// What training is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrainingPhase {
    /// It tries penalties.
    Penalties,
    /// It computes the weights to begin with.
    FirstWeights,
    /// It computes the weights of the model.
    Training,
}

/// How far training has got.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingProgress {
    /// What it is doing. Each trial of penalties, the first weights and the training count their passes from zero.
    pub phase: TrainingPhase,
    /// Passes over the training set so far.
    pub passes: f64,
    /// The objective: losses plus penalties. Online methods compute it only now and then.
    pub objective: Option<f64>,
    /// The last score on the development set, in per cent: F1 where labels are chunks, accuracy elsewhere.
    pub dev_score: Option<f64>,
    /// Number of weights to find.
    pub weights: usize,
}

/// A trained model of sequences, and how its training went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrainingRun {
    /// The trained model.
    pub model: Model,
    /// Why training ended.
    pub stop: StopReason,
    /// Passes over the training set.
    pub passes: f64,
    /// The objective at the model's weights: losses plus penalties.
    pub objective: f64,
}

/// A listener that passes events on to a closure.
pub(super) struct Told<'a> {
    progress: Option<OnProgress<'a>>,
    stop: Option<Arc<AtomicBool>>,
    dev_score: Option<f64>,
    weights: usize,
    saved: Option<Saved<'a>>,
    stopping: bool,
}

impl<'a> Told<'a> {
    pub(super) fn new(
        progress: Option<OnProgress<'a>>,
        stop: Option<Arc<AtomicBool>>,
        weights: usize,
    ) -> Self {
        Told { progress, stop, dev_score: None, weights, saved: None, stopping: false }
    }

    /// The same listener, which keeps checkpoints.
    pub(super) fn saved(self, saved: Option<Saved<'a>>) -> Self {
        Told { saved, ..self }
    }

    /// Removes the checkpoint, because the run has ended by itself.
    pub(super) fn finish(&mut self) {
        if let Some(Saved { file, failed }) = &mut self.saved {
            file.remove().into_iter().for_each(failed);
        }
    }
}

impl Listener for Told<'_> {
    fn event(&mut self, event: &Event) -> Result<Control> {
        let (phase, passes, objective) = match *event {
            Event::Trial { passes, objective, .. } => (TrainingPhase::Penalties, passes, objective),
            Event::InitialWeights { passes, objective } => (TrainingPhase::FirstWeights, passes, objective),
            Event::Progress { passes, objective, .. } => (TrainingPhase::Training, passes, objective),
            Event::Evaluation { passes, scores, .. } => {
                self.dev_score = Some(if scores.chunked { scores.f1 } else { scores.accuracy });
                (TrainingPhase::Training, passes, None)
            }
            _ => return Ok(Control::Continue),
        };
        let state =
            TrainingProgress { phase, passes, objective, dev_score: self.dev_score, weights: self.weights };
        let more = self.progress.as_mut().is_none_or(|progress| progress(&state));
        let more = more && !self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        self.stopping |= !more;
        Ok(if more { Control::Continue } else { Control::Stop })
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        self.stop.clone()
    }

    fn checkpoint_due(&mut self) -> bool {
        self.saved.as_ref().is_some_and(|saved| self.stopping || saved.file.due())
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        if let Some(Saved { file, failed }) = &mut self.saved {
            file.write(checkpoint).into_iter().for_each(failed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_for_the_first_weights_is_told_and_can_be_stopped() {
        let mut heard = Vec::new();
        let flag = Arc::new(AtomicBool::new(false));
        let on_progress: OnProgress = Box::new(|progress| {
            heard.push((progress.phase, progress.passes, progress.objective));
            true
        });
        let mut told = Told::new(Some(on_progress), Some(flag.clone()), 7);
        let event = Event::InitialWeights { passes: 2.0, objective: Some(5.0) };
        assert_eq!(told.event(&event).unwrap(), Control::Continue);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(told.event(&event).unwrap(), Control::Stop);
        drop(told);
        assert_eq!(heard, [(TrainingPhase::FirstWeights, 2.0, Some(5.0)); 2]);
    }
}
