//! A run that goes on from a checkpoint does exactly what the undisturbed run did from there on.

#[path = "common/models.rs"]
mod models;

use crfkit::data::dataset::Dataset;
use crfkit::data::observer::Observer;
use crfkit::optim::Control;
use crfkit::train::{Checkpoint, Dev, Event, Listener, Method, Settings, Start, Trained, features, train};
use models::{columns, corpus, templates};

/// Takes a checkpoint at every step, and notes what happened up to then.
#[derive(Default)]
struct Recorder {
    events: Vec<String>,
    checkpoints: Vec<(usize, Checkpoint)>,
}

impl Listener for Recorder {
    fn event(&mut self, event: &Event) -> crfkit::Result<Control> {
        self.events.push(format!("{event:?}"));
        Ok(Control::Continue)
    }

    fn checkpoint_due(&mut self) -> bool {
        true
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> crfkit::Result<()> {
        self.checkpoints.push((self.events.len(), checkpoint.clone()));
        Ok(())
    }
}

/// A run with development data, whose scores soon stop improving.
fn run(settings: &Settings, resume: Option<Checkpoint>) -> (Trained, Recorder) {
    let corpus = corpus(templates());
    let mut dev = Dev { data: Dataset::new(), gold: Vec::new() };
    let mut observer = Observer::default();
    for sequence in columns(models::COLUMNS) {
        corpus.observe_columns(&sequence, &mut observer, &mut dev.data);
        let label = sequence.columns() - 1;
        dev.gold.push((0..sequence.len()).map(|row| sequence.field(row, label).to_owned()).collect());
    }
    let features = features(&corpus, settings);
    let start = Start { dev: Some(dev), resume, threads: 1, ..Start::default() };
    let mut recorder = Recorder::default();
    (train(corpus, features, settings, start, &mut recorder).unwrap(), recorder)
}

#[test]
fn every_checkpoint_leads_to_the_same_end() {
    for optimizer in [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad] {
        for patience in [2, 100] {
            let settings =
                Settings { optimizer, patience, passes: Some(12), batch: 2, ..Settings::default() };
            let (whole, record) = run(&settings, None);
            assert!(!record.checkpoints.is_empty());
            for (seen, checkpoint) in record.checkpoints {
                let (trained, rest) = run(&settings, Some(checkpoint));
                assert_eq!(rest.events, record.events[seen..], "{optimizer:?}");
                assert_eq!(trained.model.weights, whole.model.weights, "{optimizer:?}");
                assert_eq!((trained.stop, trained.passes), (whole.stop, whole.passes), "{optimizer:?}");
            }
        }
    }
}
