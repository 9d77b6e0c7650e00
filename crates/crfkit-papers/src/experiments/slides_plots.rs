//! The slides of smd-crf-2006, "Learning vs. Optimization": the score on new data and the objective, for the same
//! runs.

use super::reviews;
use super::smd_text::methods;
use super::text_tasks::TextTask;
use crate::chart::{Chart, Line};
use crate::corpora::{BIONLP2004, CONLL2000};
use crate::experiment::{Context, Experiment, Form, Outcome, Part};
use crate::learning::Task;
use crfkit::Result;
use crfkit::model::Features;
use crfkit::optim::{Control, Prior, Problem, Progress, State, Watch};
use crfkit::train::Settings;
use serde_json::json;

/// Slides of smd-crf-2006: learning and optimisation. The slides' other plots are those of figures 2, 4 and 6.
pub const LEARNING: Experiment = Experiment {
    id: "slides-learning",
    row: 99,
    title: "slides: learning against optimisation on base NP and NLPBA, for SMD, SGD and BFGS",
    version: 1,
    data: &[CONLL2000, BIONLP2004],
    needs: &[],
    tolerance: "BFGS ends with the lowest objective; on base NP SMD has the F of BFGS less 0.3 in at most a third of its passes, when its objective is \
                still 1 % or more above",
    part: Part::Paper,
    review: reviews::learning,
    inconsistent: None,
    settings: |form| json!({"methods": TASKS.map(|(name, task)| (name, runs(task, form)))}),
    run,
};

const TASKS: [(&str, TextTask); 2] = [("base NP", TextTask::BaseNp), ("NLPBA", TextTask::Nlpba)];

/// The methods of figures 1 and 2 that share an objective; this excludes the perceptron.
fn runs(task: TextTask, form: Form) -> Vec<(&'static str, Settings)> {
    methods(task, form).into_iter().filter(|(name, _)| ["SMD", "SGD", "BFGS"].contains(name)).collect()
}

/// Records score and objective each time the number of passes has grown by a tenth.
struct Look<'a> {
    task: &'a Task,
    problem: &'a Problem<'a>,
    features: &'a Features,
    settings: &'a Settings,
    /// Passes, objective and F.
    points: Vec<[f64; 3]>,
}

impl Look<'_> {
    fn add(&mut self, passes: f64, theta: &[f64]) -> Result<()> {
        let objective = self.problem.smooth(theta, &mut vec![0.0; theta.len()]);
        self.points.push([passes, objective, self.task.scores(self.features, theta, self.settings)?.f1]);
        Ok(())
    }
}

impl Watch for Look<'_> {
    fn step(&mut self, progress: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        let due = self.points.last().is_none_or(|point| progress.passes >= 1.1 * point[0]);
        if let Some(theta) = progress.theta.filter(|_| due) {
            self.add(progress.passes, theta)?;
        }
        Ok(Control::Continue)
    }
}

/// Passes, objective and F along a run.
fn follow(task: &Task, settings: &Settings) -> Result<Vec<[f64; 3]>> {
    let features = task.features(settings);
    let objective = task.losses(settings, 0)?;
    let problem = Problem { objective: objective.as_ref(), prior: Prior::gaussian(settings.sigma), l1: 0.0 };
    let mut look = Look { task, problem: &problem, features: &features, settings, points: Vec::new() };
    let start = State::start(vec![0.0; features.dim()]);
    let end = settings.optimizer.optimizer(settings).minimize(&problem, start, &mut look)?;
    look.add(end.passes, &end.theta)?;
    Ok(look.points)
}

fn run(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (name, task) in TASKS {
        let data = task.load(context)?;
        let mut curves = Vec::new();
        for (method, settings) in runs(task, context.form) {
            (context.say)(&format!("{name}: {method}"));
            curves.push((method, follow(&data, &settings)?));
        }
        show(name, &curves, &mut outcome);
    }
    outcome.note("The slides' plots \"on-line\", of experiment 3 and of mean field and Bethe are those of smd figures 2, 6 and 4.");
    Ok(outcome)
}

/// Numbers, claims and both charts of a task; BFGS is the last of `curves`.
fn show(task: &str, curves: &[(&str, Vec<[f64; 3]>)], outcome: &mut Outcome) {
    let end = |points: &[[f64; 3]]| points.last().copied().unwrap_or([f64::NAN; 3]);
    let lowest =
        curves.iter().flat_map(|(_, points)| points).map(|point| point[1]).fold(f64::INFINITY, f64::min);
    let [.., bfgs_f] = curves.last().map_or([f64::NAN; 3], |(_, points)| end(points));
    let moment = |points: &[[f64; 3]]| points.iter().find(|point| point[2] >= bfgs_f - 0.3).copied();
    for (method, points) in curves {
        let [passes, objective, f] = end(points);
        let at = format!("{task}: {method}");
        outcome.show(format!("{at}: passes"), "", passes);
        outcome.show(
            format!("{at}: objective above the lowest, % of it"),
            "",
            100.0 * (objective / lowest - 1.0),
        );
        outcome.show(format!("{at}: F at the end"), "", f);
        let [passes, objective, _] = moment(points).unwrap_or([f64::NAN; 3]);
        outcome.show(format!("{at}: passes to the F of BFGS less 0.3"), "", passes);
        let above = 100.0 * (objective / lowest - 1.0);
        outcome.show(format!("{at}: objective above the lowest by then, % of it"), "", above);
    }
    let line = |k: usize, scale: &dyn Fn(f64) -> f64| -> Vec<Line> {
        let points = |points: &[[f64; 3]]| points.iter().map(|point| [point[0], scale(point[k])]).collect();
        curves.iter().map(|(name, curve)| Line { name: (*name).into(), points: points(curve) }).collect()
    };
    let file = task.to_lowercase().replace(' ', "-");
    let above = |value: f64| (100.0 * (value / lowest - 1.0)).max(1e-3);
    outcome.charts.push(Chart {
        name: format!("{file}-optimisation"),
        title: format!("{task}, optimisation: objective above the lowest"),
        x: "passes".into(),
        y: "% of the lowest".into(),
        log_x: true,
        log_y: true,
        lines: line(1, &above),
        ..Chart::default()
    });
    outcome.charts.push(Chart {
        name: format!("{file}-learning"),
        title: format!("{task}, learning: F-score on the test set"),
        x: "passes".into(),
        y: "F1, %".into(),
        log_x: true,
        lines: line(2, &|f| f),
        range: Some([bfgs_f - 6.0, bfgs_f + 1.0]),
        ..Chart::default()
    });
}
