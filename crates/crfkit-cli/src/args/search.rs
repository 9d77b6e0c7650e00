//! The arguments of the commands that train many models: `cv` and `search`.

use super::{Penalty, Shown, TrainArgs};
use crate::flags::Given;
use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};
use crfkit::math::random::Random;
use std::path::PathBuf;

/// A path that swallows a model, for commands that need not write one.
const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

const CV_EXAMPLES: &str = "\
Examples:
  crfkit cv all.tsv --folds 5                   five models, each tested on the fifth that it has not seen
  crfkit cv all.tsv --preset ner --sigma 2      with any flags of crfkit train";

/// `crfkit cv`.
#[derive(Debug, Args)]
pub struct CvArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub training: Training,

    /// Number of parts; each is the test set of a model trained on the others
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000), help_heading = "Cross-validation")]
    pub folds: u32,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Shown::Text, help_heading = "Cross-validation")]
    pub output: Shown,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

/// The flags of `crfkit train`, of which `-m` may be missing.
#[derive(Debug)]
pub struct Training(pub TrainArgs);

impl FromArgMatches for Training {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        TrainArgs::from_arg_matches(matches).map(Training)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for Training {
    fn augment_args(command: Command) -> Command {
        let command = TrainArgs::augment_args(command).after_long_help(CV_EXAMPLES);
        command.mut_arg("model", |model| model.required(false).default_value(NOWHERE).hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Training::augment_args(command)
    }
}

const SEARCH_EXAMPLES: &str = "\
Examples:
  crfkit search train.tsv --sigma 0.3,1,3 -m model           the best of three, on a held-out tenth
  crfkit search train.tsv --dev dev.tsv --sigma 0.3,1,3 --l1 0,0.1 --min-count 1,2 --points points.jsonl -m model
  crfkit search train.tsv --preset default --preset ner";

/// `crfkit search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub grid: Grid,

    /// Record finished points in this file, one JSON object per line; a rerun skips them
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub points: Option<PathBuf>,

    /// Layout of the output
    #[arg(long, value_enum, default_value_t = Shown::Text, help_heading = "Search")]
    pub output: Shown,

    /// The flags that were given on the command line.
    #[arg(skip)]
    pub given: Given,
}

/// The flags of `crfkit train`, some of which take several values.
#[derive(Debug)]
pub struct Grid {
    /// All flags, with the first of several values.
    pub first: TrainArgs,
    /// The values of --sigma, or none.
    pub sigma: Vec<f64>,
    /// The values of --l1.
    pub l1: Vec<f64>,
    /// The values of --min-count.
    pub min_count: Vec<u32>,
    /// The values of --template, or none.
    pub template: Vec<PathBuf>,
    /// The values of --preset.
    pub preset: Vec<String>,
}

impl FromArgMatches for Grid {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Vec<T> {
            matches.get_many::<T>(id).into_iter().flatten().cloned().collect()
        }
        let numbers = |matches, id: &str| {
            let number = |penalty: Penalty| {
                penalty.value().ok_or_else(|| {
                    let message =
                        format!("--{id} auto is for crfkit train, which searches by itself: give numbers\n");
                    clap::Error::raw(ErrorKind::InvalidValue, message)
                })
            };
            all(matches, id).into_iter().map(number).collect::<Result<Vec<f64>, _>>()
        };
        Ok(Grid {
            sigma: numbers(matches, "sigma")?,
            l1: numbers(matches, "l1")?,
            min_count: all(matches, "min_count"),
            template: all(matches, "template"),
            preset: all(matches, "preset"),
            first: TrainArgs::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Grid::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Grid {
    fn augment_args(command: Command) -> Command {
        let mut command = TrainArgs::augment_args(command).after_long_help(SEARCH_EXAMPLES);
        for id in ["sigma", "l1", "min_count"] {
            command = command.mut_arg(id, |flag| flag.action(ArgAction::Append).value_delimiter(','));
        }
        for id in ["template", "preset"] {
            command = command.mut_arg(id, |flag| flag.action(ArgAction::Append));
        }
        command.mut_arg("model", |model| {
            model
                .required(false)
                .default_value(NOWHERE)
                .hide_default_value(true)
                .help("Where to write the best model")
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Grid::augment_args(command)
    }
}

/// The part of the data that a model is trained on: all of it, or all but one fold.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainingPart {
    /// The folds, and the one that is held out.
    held: Option<(Folds, usize)>,
}

impl TrainingPart {
    /// All folds but one.
    pub fn without(folds: Folds, held: usize) -> Self {
        TrainingPart { held: Some((folds, held)) }
    }

    /// Whether an example, counted from 0 over all files, is trained on.
    pub fn takes(&self, example: usize) -> bool {
        self.held.is_none_or(|(folds, held)| folds.of(example) != held)
    }
}

/// An assignment of examples to folds. Of every `count` consecutive examples, each fold gets one, at random; so the number of examples
/// need not be known, and folds differ in size by at most one.
#[derive(Clone, Copy, Debug)]
pub struct Folds {
    /// Number of folds.
    pub count: usize,
    /// Seed of the random choices.
    pub seed: u64,
}

impl Folds {
    /// The fold of an example.
    pub fn of(&self, example: usize) -> usize {
        let mut order: Vec<usize> = (0..self.count).collect();
        Random::stream(self.seed, (example / self.count) as u64).shuffle(&mut order);
        order[example % self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_balanced_and_depend_on_the_seed() {
        for count in [2, 3, 10] {
            let folds = Folds { count, seed: 1 };
            let mut sizes = vec![0; count];
            (0..count * 7 + 1).for_each(|example| sizes[folds.of(example)] += 1);
            assert!(sizes.iter().all(|size| (7..=8).contains(size)), "{sizes:?}");
            let other = Folds { count, seed: 2 };
            assert!((0..100).any(|example| folds.of(example) != other.of(example)));
        }
        assert!(TrainingPart::default().takes(3));
        let part = TrainingPart::without(Folds { count: 2, seed: 1 }, 0);
        assert_eq!((0..10).filter(|example| part.takes(*example)).count(), 5);
    }
}
