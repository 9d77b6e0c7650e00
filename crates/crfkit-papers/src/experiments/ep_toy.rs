//! empirical-training-2013 sections 3.2.1, 3.4.3 and 4.1–4.3: five labelled sequences with many maximum-likelihood estimates.

use crate::experiment::{Context, Experiment, Form, Outcome, Part, none};
use crfkit::Result;
use crfkit::empirical::studies::{Directed, First, Sample};
use crfkit::empirical::{
    CountedChains, EmpiricalMethod, EmpiricalModel, EmpiricalSettings, EmpiricalTagger, PairKind, train,
};
use crfkit::optim::{Lbfgs, Objective, Prior};
use serde_json::{Value, json};
use std::sync::Arc;

/// empirical-training-2013 sections 4.2 and 4.3: three maxima of the likelihood.
pub const MAXIMA: Experiment = Experiment {
    id: "ep-toy",
    row: 121,
    title: "ep sections 4.2-4.3: three maxima of the likelihood, two of which fail at test time",
    version: 1,
    data: &[],
    needs: &[],
    tolerance: "objectives within 1e-5, as many digits as the paper prints; all predictions equal",
    part: Part::Paper,
    review: none,
    inconsistent: None,
    settings,
    run: maxima,
};

/// empirical-training-2013 section 3.4.3: scores under the estimate with the test-time problem.
pub const SCORES: Experiment = Experiment {
    id: "ep-ttp-scores",
    row: 122,
    title: "ep section 3.4.3: scores of [1,1] and [0,0] under the estimate with the test-time problem",
    tolerance: "1e-9: it is arithmetic",
    run: scores,
    ..MAXIMA
};

/// empirical-training-2013 section 3.4.3: the claim about three more sequences, which is false.
pub const EIGHT: Experiment = Experiment {
    id: "ep-eight",
    row: 121,
    title: "ep section 3.4.3: three more sequences, after which the empirical estimate is said to be a maximum still",
    tolerance: "the paper errs if the objective has a slope at the estimate, and a lower value elsewhere",
    inconsistent: Some('o'),
    run: eight,
    ..MAXIMA
};

/// empirical-training-2013 section 3.2.1: the parameterisations of eq. 10 and 11.
pub const EQUATION_10: Experiment = Experiment {
    id: "ep-eq10",
    row: 123,
    title: "ep section 3.2.1: the parameterisations of eq. 10 and 11 that the paper rejects",
    tolerance: "eq. 10: no lower bound, or more than 10 points below EP1; eq. 11: label biased",
    settings: |_| json!({"sequences": [2000, 500], "seeds": [100, 101], "iterations": [5, 50]}),
    run: equation_10,
    ..MAXIMA
};

/// empirical-training-2013 section 3.4.3: the test-time problem with a prior.
pub const REGULARISED: Experiment = Experiment {
    id: "ep-ttp-prior",
    row: 24,
    title: "ep section 3.4.3: regularised training may still suffer from the test-time problem",
    tolerance: "with some σ, and from some start, regularised training predicts [1,1] for b c, as without a prior",
    settings: |_| json!({"sigma": SIGMAS, "starts": ["0", "the estimate with the test-time problem"]}),
    run: regularised,
    ..MAXIMA
};

const SIGMAS: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0];

fn regularised(_: &Context) -> Result<Outcome> {
    let sample = Sample::five();
    let likelihood = sample.likelihood();
    let mut outcome = Outcome::default();
    let mut suffers = false;
    for sigma in SIGMAS {
        for (name, start) in
            [("0", vec![0.0; likelihood.dim()]), ("the problem", Sample::test_time_problem())]
        {
            let theta = likelihood.fit(start, Prior::gaussian(sigma), &exact(5000.0))?;
            let wrong = sample.decode(&theta, &QUESTION) == [1, 1];
            outcome.show(
                format!("σ = {sigma}, from {name}: whether [1,1] is predicted"),
                "",
                f64::from(u8::from(wrong)),
            );
            suffers |= wrong;
        }
    }
    outcome.claim("regularised training suffers from it with some σ", suffers);
    if suffers {
        return Ok(outcome);
    }
    outcome.because(
        REGULARISED.id,
        &["suffers"],
        "the paper says `may` and gives no example. With a prior the maximum is unique, whatever the start, and on its five sequences it \
         predicts [0,0] with every σ that was tried.",
    );
    Ok(outcome)
}

fn settings(_: Form) -> Value {
    json!({"prior": null, "gradient tolerance": 1e-10})
}

/// The paper's factors to the last digit: pairs that were never seen are practically impossible.
fn lexical(method: EmpiricalMethod) -> EmpiricalSettings {
    EmpiricalSettings { method, pairs: PairKind::Lexical, floor: -100.0, ..EmpiricalSettings::default() }
}

fn model(sample: &Sample, settings: &EmpiricalSettings) -> Result<EmpiricalModel> {
    Ok(train(&sample.counts(settings.pairs), settings, None)?.model)
}

/// The value and the largest slope.
fn value(objective: &CountedChains, theta: &[f64]) -> (f64, f64) {
    let mut gradient = vec![0.0; theta.len()];
    let value = objective.value_grad(theta, &mut gradient);
    (value, gradient.iter().fold(0.0, |max, g| f64::max(max, g.abs())))
}

fn exact(passes: f64) -> Lbfgs {
    Lbfgs { gradient_tolerance: 1e-10, tolerance: 0.0, passes, ..Lbfgs::default() }
}

/// The minimum that L-BFGS finds from 0 without a prior.
fn fit(objective: &CountedChains, passes: f64) -> Result<Vec<f64>> {
    objective.fit(vec![0.0; objective.dim()], Prior::gaussian(f64::INFINITY), &exact(passes))
}

/// The words b c.
const QUESTION: [usize; 2] = [1, 2];

fn maxima(_: &Context) -> Result<Outcome> {
    let sample = Sample::five();
    let likelihood = sample.likelihood();
    let mut outcome = Outcome::default();
    let ep = sample.theta_of(&model(&sample, &lexical(EmpiricalMethod::Ep1))?);
    let zero = fit(&likelihood, 5000.0)?;
    let estimates =
        [("ttp", Sample::test_time_problem(), [1, 1]), ("ep", ep, [0, 0]), ("from 0", zero, [1, 1])];
    for (name, theta, prediction) in estimates {
        let (value, slope) = value(&likelihood, &theta);
        outcome.compare(format!("objective at {name}"), 2.50202, value, 1e-5);
        outcome.claim(format!("{name} is a maximum"), slope < 1e-4);
        outcome
            .claim(format!("{name} predicts {prediction:?}"), sample.decode(&theta, &QUESTION) == prediction);
    }
    for method in [EmpiricalMethod::Ep1, EmpiricalMethod::Ep2] {
        let mut tagger = EmpiricalTagger::new(Arc::new(model(&sample, &lexical(method))?));
        tagger.load_words(QUESTION.map(|x| sample.words[x]));
        outcome.claim(format!("{method:?} predicts [0, 0]"), tagger.viterbi() == [0, 0]);
    }
    Ok(outcome)
}

fn scores(_: &Context) -> Result<Outcome> {
    let (sample, theta) = (Sample::five(), Sample::test_time_problem());
    let score = |y: usize| {
        let weights = [sample.node(1) + y, sample.node(2) + y, sample.pair(1, 2) + 3 * y];
        weights.iter().map(|&i| theta[i]).sum::<f64>().exp()
    };
    let mut outcome = Outcome::default();
    outcome.compare("score of [1,1]", 5.0, score(1), 1e-9);
    outcome.compare("score of [0,0]", 1.25, score(0), 1e-9);
    Ok(outcome)
}

fn eight(_: &Context) -> Result<Outcome> {
    let sample = Sample::eight();
    let likelihood = sample.likelihood();
    let ep = sample.theta_of(&model(&sample, &lexical(EmpiricalMethod::Ep1))?);
    let (at_ep, slope) = value(&likelihood, &ep);
    let (lowest, _) = value(&likelihood, &fit(&likelihood, 5000.0)?);
    let mut outcome = Outcome::default();
    outcome.show("objective at the empirical estimate", "the minimum", at_ep);
    outcome.show("lowest objective found", "", lowest);
    outcome.show("largest slope at the empirical estimate", "0", slope);
    outcome
        .claim("the empirical estimate is no maximum of the likelihood", slope > 0.1 && lowest < at_ep - 0.5);
    outcome.note(
        "Theorem 1 needs that the label of a word does not depend on its neighbour. It does here: b is labelled 1 in some of the \
         sequences with c behind and a before it, but never in the new ones.",
    );
    Ok(outcome)
}

fn equation_10(_: &Context) -> Result<Outcome> {
    let (data, test) = (Sample::label_bias(100, 2000), Sample::label_bias(101, 500));
    let accuracy_of_ep = |data: &Sample, test: &Sample| -> Result<f64> {
        let mut tagger = EmpiricalTagger::new(Arc::new(model(data, &lexical(EmpiricalMethod::Ep1))?));
        Ok(test.accuracy(|words| {
            tagger.load_words(words.iter().map(|&x| data.words[x]));
            tagger.viterbi().to_vec()
        }))
    };
    let ep = accuracy_of_ep(&data, &test)?;
    let ratio = data.ratio();
    let at = |passes: f64| -> Result<(f64, f64)> {
        let theta = fit(&ratio, passes)?;
        Ok((value(&ratio, &theta).0, test.accuracy(|words| data.decode_ratio(&theta, words))))
    };
    let (early, late) = (at(5.0)?, at(50.0)?);
    let mut outcome = Outcome::default();
    outcome.show("accuracy of EP1", "", ep);
    outcome.show("eq. 10: objective after 5 iterations", "", early.0);
    outcome.show("eq. 10: objective after 50 iterations", "does not converge", late.0);
    outcome.show("eq. 10: accuracy", "very bad", late.1);
    let falls = late.0 < early.0 && late.0 < 0.0;
    outcome.claim(
        "eq. 10 has no lower bound (its value falls below 0, and on), or is very bad",
        falls || late.1 < ep - 10.0,
    );
    let (data, test) = (data.behind_a_start(), test.behind_a_start());
    let directed = Directed::new(&data, First::Pair);
    let biased = test.accuracy(|words| directed.decode(words));
    let ours = accuracy_of_ep(&data, &test)?;
    outcome.show("eq. 11 behind a start symbol: accuracy", "label biased", biased);
    outcome.show("EP1 behind a start symbol: accuracy", "", ours);
    outcome.claim("eq. 11 is label biased: more than 10 points below EP1", biased < ours - 10.0);
    Ok(outcome)
}
