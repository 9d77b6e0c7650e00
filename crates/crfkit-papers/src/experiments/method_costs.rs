//! The cost of Hessian-vector products, and which method reaches the optimum first.

use super::grids::{GridTask, shapes};
use super::reviews;
use super::slopes::objective;
use super::speedups::{SENTENCES, corpora};
use super::text_tasks::TextTask;
use crate::clock::least_seconds;
use crate::corpora::{BIONLP2004, BROWN, CONLL2000, CONLL2003, WSJ, sentences};
use crate::experiment::{Context, Experiment, Outcome, Part};
use crfkit::Result;
use crfkit::chain::CorpusBuilder;
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::infer::LoopyBp;
use crfkit::loss::Likelihood;
use crfkit::optim::{Control, Objective, Prior, Problem, Progress, State, Watch};
use crfkit::risk::Risk;
use crfkit::train::{Method, Parameters, Settings};
use serde_json::json;
use std::time::{Duration, Instant};

/// smd-crf-2006 section 2.5: the cost of the Hessian-vector product that SMD needs.
pub const HESS_VEC: Experiment = Experiment {
    id: "smd-hess-vec",
    review: reviews::hess_vec,
    row: 39,
    title: "smd section 2.5: a Hessian-vector product with its gradient costs 2 to 3 gradients",
    version: 2,
    data: &[CONLL2000, CONLL2003, WSJ, BROWN],
    needs: &[],
    tolerance: "at most 2.5 times the time of a gradient alone at 22 labels, at most 3.2 times at any number",
    part: Part::Paper,
    inconsistent: None,
    settings: |form| {
        json!({"sentences": form.pick(SENTENCES, 30), "template": "pos; chunking for all of CoNLL-2000", "threads": 1, "seed": 1,
        "runs": RUNS})
    },
    run: hess_vec,
};
/// Which method reaches the optimum first. The papers make no such claim, but it is what they are about.
pub const RACE: Experiment = Experiment {
    id: "auto-race",
    part: Part::Study,
    row: 39,
    version: 1,
    title: "the method that `auto` picks against single methods: seconds to the optimum",
    data: &[CONLL2000, BIONLP2004],
    tolerance: "auto is within 0.4 % of the optimum at most 20 % later than the soonest single method, on three tasks",
    settings: |_| json!({"sigma": 1, "within": WITHIN, "methods": METHODS.map(Method::name), "threads": 2, "runs": RUNS, "seed": 1}),
    run: race,
    ..HESS_VEC
};

/// The number of runs, of which the fastest counts.
const RUNS: usize = 3;

/// The seconds of a gradient, and of a gradient with H·v.
fn costs(objective: &dyn Objective) -> [f64; 2] {
    let theta = vec![0.01; objective.dim()];
    let direction: Vec<f64> = (0..theta.len()).map(|i| (i % 7) as f64 - 3.0).collect();
    let (mut gradient, mut product) = (theta.clone(), theta.clone());
    // The first pass creates memory that later passes reuse.
    objective.hess_vec(&theta, &direction, &mut gradient, &mut product);
    objective.value_grad(&theta, &mut gradient);
    let alone = least_seconds(RUNS, || {
        gradient.fill(0.0);
        std::hint::black_box(objective.value_grad(&theta, &mut gradient));
    });
    let both = least_seconds(RUNS, || {
        gradient.fill(0.0);
        product.fill(0.0);
        std::hint::black_box(objective.hess_vec(&theta, &direction, &mut gradient, &mut product));
    });
    [alone, both]
}

fn hess_vec(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let ratio = |outcome: &mut Outcome, at: &str, limit: f64, [alone, both]: [f64; 2]| {
        outcome.show(format!("{at}: milliseconds of a gradient"), "", 1e3 * alone);
        outcome.show(format!("{at}: gradient and H·v, in gradients"), "2 to 3", both / alone);
        outcome.claim(format!("{at}: at most {limit}"), both <= limit * alone);
    };
    let text = context.corpora.text(CONLL2000.files[0])?;
    let whole = sentences(&text, CONLL2000.files[0])?;
    let whole = &whole[..context.form.pick(whole.len(), 30)];
    let mut builder = CorpusBuilder::new(Source::Templates(preset("chunking")?.compile(2)?));
    for sentence in whole {
        builder.add_columns(sentence, 2)?;
    }
    let corpus = builder.finish(1)?;
    let at = format!("all of CoNLL-2000, {} labels", corpus.domain.labels.len());
    (context.say)(&at);
    ratio(&mut outcome, &at, 2.5, costs(objective(&corpus, &Settings::default())?.as_ref()));
    for corpus in corpora(context)? {
        let (at, corpus) = corpus?;
        ratio(&mut outcome, &at, 3.2, costs(objective(&corpus, &Settings::default())?.as_ref()));
    }
    outcome.note(
        "One thread, its CPU time, the least of several runs. The gradient alone is that of f64; the pair is one pass with dual numbers.",
    );
    Ok(outcome)
}

/// How close to the optimum is close enough: `auto` ends 0.2 to 0.4 % above it by default.
const WITHIN: f64 = 0.004;
const METHODS: [Method; 7] =
    [Method::Auto, Method::Lbfgs, Method::Bfgs, Method::Cg, Method::Saga, Method::Adagrad, Method::Bottou];

/// Stops when the objective is low enough; the time of evaluating it is not counted.
struct Finish<'a> {
    problem: &'a Problem<'a>,
    level: f64,
    /// Whether the method itself knows the objective; online methods only estimate it.
    exact: bool,
    started: Instant,
    looked: Duration,
    /// The passes and seconds needed.
    reached: Option<[f64; 2]>,
    lowest: f64,
}

impl Watch for Finish<'_> {
    fn step(&mut self, progress: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        let Some(theta) = progress.theta else { return Ok(Control::Continue) };
        let seconds = (self.started.elapsed() - self.looked).as_secs_f64();
        let look = Instant::now();
        let value = match progress.objective.filter(|_| self.exact) {
            Some(value) => value,
            None => self.problem.smooth(theta, &mut vec![0.0; theta.len()]),
        };
        self.looked += look.elapsed();
        self.lowest = self.lowest.min(value);
        if value <= self.level {
            self.reached = Some([progress.passes, seconds]);
            return Ok(Control::Stop);
        }
        Ok(Control::Continue)
    }
}

/// The passes and seconds from `start` until the objective is at most `level`, if it ever is, and the lowest value
/// seen.
pub fn reach(
    problem: &Problem,
    start: &[f64],
    method: Method,
    level: f64,
) -> Result<(Option<[f64; 2]>, f64)> {
    // Batch methods run until almost nothing is left to gain, online methods for as many passes as anybody would wait
    // for.
    let exact = matches!(method, Method::Lbfgs | Method::Bfgs | Method::Cg);
    let tolerance = exact.then_some(1e-6);
    let parameters = Parameters { tolerance, ..Parameters::default() };
    let passes = matches!(method, Method::Adagrad | Method::Bottou).then_some(100);
    let settings = Settings { optimizer: method, parameters, passes, ..Settings::default() };
    let (started, looked) = (Instant::now(), Duration::ZERO);
    let mut watch = Finish { problem, level, exact, started, looked, reached: None, lowest: f64::INFINITY };
    method.optimizer(&settings).minimize(problem, State::start(start.to_vec()), &mut watch)?;
    Ok((watch.reached, watch.lowest))
}

fn race(context: &Context) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (name, task) in [("base NP", TextTask::BaseNp), ("NLPBA", TextTask::Nlpba)] {
        let task = task.load(context)?;
        let objective = task.losses(&Settings::default(), 2)?;
        race_on(context, name, objective.as_ref(), &mut outcome)?;
    }
    let [images, side] = context.form.pick([12, 64], [2, 12]);
    let task = GridTask::new(&shapes(1, images, side, 1.0), shapes(2, 1, side, 1.0))?.task;
    let risk = Risk::new(Likelihood(LoopyBp::default()), task.features.clone(), task.data.clone(), 2)?;
    race_on(context, "pictures, likelihood by loopy propagation", &risk, &mut outcome)?;
    outcome.note("Seconds leave out what looking at the objective costs; the fastest of several runs, or one run where that is far behind.");
    Ok(outcome)
}

fn race_on(context: &Context, name: &str, objective: &dyn Objective, outcome: &mut Outcome) -> Result<()> {
    (context.say)(&format!("{name}: the optimum"));
    let problem = Problem { objective, prior: Prior::gaussian(1.0), l1: 0.0 };
    let zero = vec![0.0; objective.dim()];
    let (_, optimum) = reach(&problem, &zero, Method::Lbfgs, f64::NEG_INFINITY)?;
    let mut soonest = [f64::INFINITY; 2]; // of auto, of the others
    for method in METHODS {
        // Dense BFGS stores a matrix, which is possible only for small problems.
        if method == Method::Bfgs && objective.dim() > 1000 {
            continue;
        }
        if !method.needs().iter().all(|need| objective.provides().contains(need)) {
            continue;
        }
        (context.say)(&format!("{name}: {}", method.name()));
        let mut best = [f64::NAN; 2];
        for _ in 0..RUNS {
            let (reached, _) = reach(&problem, &zero, method, optimum * (1.0 + WITHIN))?;
            let Some(reached) = reached else { break };
            best = if reached[1] >= best[1] { best } else { reached };
            // A method that is far behind need not be run again.
            if reached[1] > 2.0 * soonest[0].min(soonest[1]) {
                break;
            }
        }
        outcome.show(format!("{name}: {}: passes", method.name()), "", best[0]);
        outcome.show(format!("{name}: {}: seconds", method.name()), "", best[1]);
        let of = &mut soonest[usize::from(method != Method::Auto)];
        *of = of.min(best[1]);
    }
    outcome.claim(
        format!("{name}: auto is at most 20 % later than the soonest single method"),
        soonest[0] <= 1.2 * soonest[1],
    );
    Ok(())
}
