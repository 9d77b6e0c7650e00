//! Every target on its kept inputs and on some thousand random changes of them: seconds each. `fuzz/run` is the long run.

use crfkit_fuzz::{TARGETS, run, target};

/// One test a target, so that they run side by side.
macro_rules! targets {
    ($($name:ident: $executions:expr;)*) => {
        $(#[test] fn $name() {
            run(target(stringify!($name)).unwrap(), $executions, 1, |_| {});
        })*

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),*];
            assert!(TARGETS.iter().map(|target| target.name).eq(tested), "{tested:?}");
        }
    };
}

targets! {
    model: 9_000;
    crfsuite: 9_000;
    crfpp: 9_000;
    wapiti: 9_000;
    checkpoint: 3_000;
    columns: 60_000;
    attributes: 60_000;
    json: 60_000;
    conllu: 60_000;
    text: 30_000;
    template: 6_000;
    lexicon: 60_000;
    links: 60_000;
    rules: 60_000;
    graphs: 30_000;
    log: 6_000;
    sites: 60_000;
    image: 15_000;
    chain: 6_000;
    graph: 6_000;
    doors: 600;
    growth: 1_500;
    request: 60_000;
    edit: 3_000;
    vectors: 3_000;
    weights: 3_000;
    pairs: 3_000;
    resume: 600;
    arrays: 3_000;
    table: 1_500;
}
