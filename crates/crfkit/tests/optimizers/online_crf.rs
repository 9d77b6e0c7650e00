//! The online methods on a small CRF come as near to the optimum of L-BFGS as their theory allows: gains that fall lead there, a gain that
//! stays leads into a ball around it that is as large as the gain.

use crate::corpora;
use crate::objectives;

use corpora::{attribute_corpus, column_corpus, made_up_attributes, made_up_columns, models};
use crfkit::graph::Chain;
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::optim::{
    Adam, BatchGradient, Lbfgs, Objective, Optimizer, Prior, Problem, Psa, Schedule, Sgd, Smd,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};
use objectives::{minimize, total};

type Crf = Risk<Chain>;

const SEQUENCES: usize = 60;

/// With values and example weights (attributes), or with observations of label pairs (templates).
fn crfs() -> [Crf; 2] {
    let corpora = [
        attribute_corpus(&made_up_attributes(3, SEQUENCES), 1),
        column_corpus(&made_up_columns(4, SEQUENCES), models::templates(), 1),
    ];
    corpora.map(|corpus| {
        let features = train::features(&corpus, &Settings::default());
        Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap()
    })
}

/// How far above the optimum methods end, as a share of it.
struct Above<'a> {
    problem: Problem<'a>,
    best: f64,
    batch: usize,
}

impl Above<'_> {
    /// The mean over two orders of the examples.
    fn after(&self, passes: usize, method: &dyn Fn(Schedule) -> Box<dyn Optimizer>) -> f64 {
        let run = |seed| {
            let schedule = Schedule { batch: self.batch, passes, seed, ..Schedule::default() };
            let found = minimize(&*method(schedule), &self.problem).theta;
            let above = total(&self.problem, &found) / self.best - 1.0;
            assert!(above > -1e-9, "below the optimum by {above}");
            above
        };
        0.5 * (run(3) + run(4))
    }
}

/// Calls `check` for both CRFs and batches of one and of eight.
fn each(mut check: impl FnMut(&Above)) {
    for crf in &crfs() {
        let problem = || Problem { objective: crf, prior: Prior::gaussian(1.0), l1: 0.0 };
        let exact = Lbfgs { gradient_tolerance: 1e-12, tolerance: 0.0, ..Lbfgs::default() };
        let best = total(&problem(), &minimize(&exact, &problem()).theta);
        for batch in [1, 8] {
            check(&Above { problem: problem(), best, batch });
        }
        // At the start it is far away.
        let start = total(&problem(), &vec![0.0; crf.dim()]);
        assert!(start > 3.0 * best, "{start} {best}");
    }
}

fn falls(name: &str, above: &Above, method: &dyn Fn(Schedule) -> Box<dyn Optimizer>) {
    let [early, late] = [40, 160].map(|passes| above.after(passes, method));
    // Four times the passes, a quarter of what is left or better; a third leaves room for chance.
    assert!(late < 1e-3 && late < early / 3.0, "{name}, batch {}: {early:e}, then {late:e}", above.batch);
}

#[test]
fn gains_that_fall_lead_to_the_optimum() {
    each(|above| {
        // η₀/t needs an η₀ above 1/curvature of a step, and the prior's share of that is b/(m·σ²).
        let eta0 = 1.1 * SEQUENCES as f64 / above.batch as f64;
        falls("ASG", above, &|schedule| Box::new(Sgd::annealed(Some(eta0), schedule)));
        falls("ASGD", above, &|schedule| Box::new(Sgd::averaged(Some(0.1), schedule)));
        falls("PSA", above, &|schedule| {
            let schedule = Schedule { gradient: BatchGradient::Mean, ..schedule };
            Box::new(Psa { schedule, ..Psa::default() })
        });
    });
}

/// η₀/t with too small an η₀ hardly moves any more: its theory allows no better than t to a small power.
#[test]
fn annealing_from_too_small_a_gain_stalls() {
    each(|above| {
        let small = 0.02 * SEQUENCES as f64 / above.batch as f64;
        let method = |schedule| Box::new(Sgd::annealed(Some(small), schedule)) as Box<dyn Optimizer>;
        let [early, late] = [40, 160].map(|passes| above.after(passes, &method));
        assert!(late > 1e-3 && late > early / 4.0 && late < early, "{early:e}, then {late:e}");
    });
}

#[test]
fn a_gain_that_stays_ends_in_a_ball_as_large_as_the_gain() {
    type Make = fn(f64, Schedule) -> Box<dyn Optimizer>;
    let methods: [(&str, Make); 2] = [
        ("SGD", |eta0, schedule| Box::new(Sgd::fixed(Some(eta0), schedule))),
        ("Adam", |eta0, schedule| Box::new(Adam { eta0, schedule, ..Adam::default() })),
    ];
    each(|above| {
        for (name, make) in methods {
            let at = |eta0: f64, passes: usize| above.after(passes, &|schedule| make(eta0, schedule));
            // Adam's steps are as long as its gain, however small the batch.
            let gains = if name == "Adam" && above.batch == 1 { [0.025, 0.00625] } else { [0.1, 0.025] };
            let [large, small] = gains.map(|eta0| at(eta0, 160));
            let text = format!("{name}, batch {}: {large:e} and {small:e}", above.batch);
            assert!(small < 2e-3 && small < large / 2.0, "{text}");
            // More passes do not help: it was there long before.
            let before = at(gains[0], 80);
            assert!(large > before / 3.0 && large > 1e-3, "{text}, {before:e} after half of the passes");
        }
    });
}

#[test]
fn smd_turns_its_gains_down_where_sgd_stays_in_its_ball() {
    each(|above| {
        let smd =
            |eta0: f64| above.after(160, &|schedule| Box::new(Smd { eta0, schedule, ..Smd::default() }));
        let sgd = above.after(160, &|schedule| Box::new(Sgd::fixed(Some(0.1), schedule)));
        let [large, small] = [0.1, 0.025].map(smd);
        assert!(large < sgd / 1.5 && large < 5e-3, "batch {}: {large:e}, SGD {sgd:e}", above.batch);
        assert!(small < 1e-3, "batch {}: {small:e}", above.batch);
    });
}
