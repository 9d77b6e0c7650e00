//! Progress reports and results of training.

use super::Model;
use crate::Result;
use crate::optim::Control;
use crate::train::{Event, Listener, StopReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Called at every step; training stops when it returns false.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&TrainingProgress) -> bool + 'a>;

/// How far training has got.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingProgress {
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
}

impl<'a> Told<'a> {
    pub(super) fn new(
        progress: Option<OnProgress<'a>>,
        stop: Option<Arc<AtomicBool>>,
        weights: usize,
    ) -> Self {
        Told { progress, stop, dev_score: None, weights }
    }
}

impl Listener for Told<'_> {
    fn event(&mut self, event: &Event) -> Result<Control> {
        let (passes, objective) = match *event {
            Event::Progress { passes, objective, .. } | Event::Trial { passes, objective, .. } => {
                (passes, objective)
            }
            Event::Evaluation { passes, scores, .. } => {
                self.dev_score = Some(if scores.chunked { scores.f1 } else { scores.accuracy });
                (passes, None)
            }
            _ => return Ok(Control::Continue),
        };
        let state = TrainingProgress { passes, objective, dev_score: self.dev_score, weights: self.weights };
        let more = self.progress.as_mut().is_none_or(|progress| progress(&state));
        let more = more && !self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        Ok(if more { Control::Continue } else { Control::Stop })
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        self.stop.clone()
    }
}
