//! The smallest form of every experiment that needs no corpus, of some that need one where CRFKIT_DATA names the corpora, and the
//! way from results to the page.

use crfkit_papers::chart::{Chart, Line};
use crfkit_papers::{
    Corpora, Done, Form, Needed, Outcome, Record, Store, document, experiments, find, store,
};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// An empty directory of this test.
fn directory(test: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&directory); // there is none the first time
    directory
}

#[test]
fn every_row_of_the_papers_has_an_experiment_of_its_own_name() {
    let ids: HashSet<&str> = experiments().iter().map(|e| e.id).collect();
    assert_eq!(ids.len(), experiments().len());
    let rows: HashSet<u32> = experiments().iter().map(|e| e.row).collect();
    let missing: Vec<u32> = (93..=124).filter(|row| !rows.contains(row)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for experiment in experiments() {
        assert!(!experiment.tolerance.is_empty(), "{}", experiment.id);
        for id in experiment.needs {
            assert!(find(id).is_ok(), "{} needs {id}", experiment.id);
        }
    }
}

#[test]
fn experiments_without_corpora_run_in_their_quick_form() {
    let store = Store { directory: directory("quick"), form: Form::Quick, needed: Needed::Current };
    let mut ran = 0;
    for experiment in experiments() {
        match store.run(experiment, &Corpora::default(), &|_| ()).unwrap() {
            Done::Ran(record) => {
                ran += 1;
                let outcome = &record.outcome;
                let found = outcome.numbers.len() + outcome.claims.len();
                assert!(found > 0 || outcome.not_testable.is_some(), "{}", experiment.id);
                // What is stored reads back as it was.
                assert_eq!(store.read(experiment.id).as_ref(), Some(&*record));
            }
            Done::NoData(error) => {
                assert!(!experiment.data.is_empty() || !experiment.needs.is_empty(), "{}", experiment.id);
                assert!(error.to_string().contains("CRFKIT_DATA"), "{error}");
            }
            // Another experiment has needed it.
            Done::UpToDate(_) => {}
        }
    }
    assert!(ran >= 6, "{ran}");
    document::generate(&store).unwrap();
    let page = fs::read_to_string(store.directory.join("REPRODUCTION.md")).unwrap();
    assert!(page.contains("--quick") && page.contains("ep-table1"), "{page}");
    let list = fs::read_to_string(store.directory.join("reproduction.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    assert_eq!(list.len(), experiments().iter().filter(|e| store.read(e.id).is_some()).count());
    for entry in &list {
        for key in ["id", "row", "paper", "ours", "tolerance", "verdict"] {
            assert!(entry.get(key).is_some(), "{entry} lacks {key}");
        }
    }
}

/// An experiment of each corpus whose quick form takes seconds: the seminars are not here.
const WITH_CORPORA: [&str; 9] = [
    "psa-fig1-conll",
    "psa-fig1-nlpba",
    "psa-fig1-bc2",
    "memm-global",
    "pwpl-stochastic",
    "ep-table7",
    "ep-table2",
    "smd-fig6",
    "smd-denoise64",
];

#[test]
fn experiments_with_corpora_run_in_their_quick_form() {
    let Some(data) = std::env::var_os("CRFKIT_DATA") else { return };
    let corpora = Corpora { directory: Some(data.into()) };
    let store = Store { directory: directory("corpora"), form: Form::Quick, needed: Needed::Current };
    for id in WITH_CORPORA {
        match store.run(find(id).unwrap(), &corpora, &|_| ()).unwrap() {
            Done::Ran(record) => {
                assert!(!record.outcome.numbers.is_empty(), "{id}");
                assert_eq!(store.read(id).as_ref(), Some(&*record));
            }
            // Not everyone has all of them.
            Done::NoData(error) => assert!(error.to_string().contains("CRFKIT_DATA"), "{error}"),
            Done::UpToDate(_) => panic!("{id} was there before it was run"),
        }
    }
    document::generate(&store).unwrap();
}

#[test]
fn a_result_is_made_again_only_if_its_experiment_has_changed() {
    let store = Store { directory: directory("again"), form: Form::Quick, needed: Needed::Current };
    let experiment = find("ep-ttp-scores").unwrap();
    let run = |e| store.run(e, &Corpora::default(), &|_| ()).unwrap();
    assert!(matches!(run(experiment), Done::Ran(_)));
    assert!(matches!(run(experiment), Done::UpToDate(_)));
    let mut changed = *experiment;
    changed.version += 1;
    assert!(matches!(run(&changed), Done::Ran(_)));
    assert!(matches!(run(experiment), Done::Ran(_)));
    // A file that was cut off while it was written is no result.
    let path = store.path(experiment.id);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(matches!(run(experiment), Done::Ran(_)));
    // Results of the two forms are never taken for each other.
    assert_ne!(
        store::hash(find("ep-table1").unwrap(), Form::Full).unwrap(),
        store::hash(find("ep-table1").unwrap(), Form::Quick).unwrap()
    );
}

/// Stores a result.
fn save(store: &Store, id: &str, settings: serde_json::Value, outcome: Outcome) {
    let record = Record {
        id: id.into(),
        row: 93,
        title: id.into(),
        form: store.form,
        hash: String::new(),
        code: None,
        made: "2026-01-01".into(),
        fixed: BTreeMap::new(),
        stated: BTreeMap::new(),
        settings,
        tolerance: "none".into(),
        seconds: 0.0,
        cores: None,
        quick: BTreeMap::new(),
        confirmed: None,
        outcome,
    };
    fs::create_dir_all(store.path(id).parent().unwrap()).unwrap();
    fs::write(store.path(id), serde_json::to_string(&record).unwrap()).unwrap();
}

#[test]
fn the_page_is_readable() {
    let store = Store { directory: directory("page"), form: Form::Full, needed: Needed::Current };
    let mut outcome = Outcome::default();
    outcome.compare("p(y | x)", 5.0, 5.0 - 1e-12, 1e-9);
    outcome.show("t", "|t| < 1.65", 0.123_456_789);
    outcome.show("PSA: exact-match F after 1 pass", "", f64::NAN);
    outcome.show("PSA: passes to within 0.3 points of L-BFGS", "", f64::NAN);
    let points = vec![[1.5, 90.0], [50.0, 91.234]];
    outcome.charts.push(Chart { lines: vec![Line { name: "PSA".into(), points }], ..Chart::default() });
    save(&store, "psa-fig1-conll", serde_json::json!({"seed": 7}), outcome);
    document::generate(&store).unwrap();
    let page = fs::read_to_string(store.directory.join("REPRODUCTION.md")).unwrap();
    for expected in [
        // The tolerance is younger than the result, so it is no reproduction.
        "| p(y \\| x) | 5 | 5 | ±1e-9 | ✓ (late) |",
        "| t | \\|t\\| < 1.65 | 0.1235 | not compared: in words; see the claims |  |",
        "| base NP | PSA | 90.00 after 1.5 | > 50 (F 91.23) | – |",
        "| reproduced in shape | 1 |",
        "| reproduced | 0 |",
        "**Stale**",
        "\n{\"seed\": 7}\n",
        "| pwpl | Charles Sutton",
    ] {
        assert!(page.contains(expected), "no {expected} in {page}");
    }
}

/// The verdict on an experiment in the list of results.
fn listed(store: &Store, id: &str) -> serde_json::Value {
    document::generate(store).unwrap();
    let list = fs::read_to_string(store.directory.join("reproduction.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    list.into_iter().find(|entry| entry["id"] == id).unwrap()
}

#[test]
fn a_result_that_differs_shows_why() {
    let store = Store { directory: directory("why"), form: Form::Quick, needed: Needed::Current };
    let save = |id: &str, outcome: Outcome| save(&store, id, serde_json::Value::Null, outcome);
    let page = || {
        document::generate(&store).unwrap();
        fs::read_to_string(store.directory.join("REPRODUCTION.md")).unwrap()
    };
    let mut differs = Outcome::default();
    differs.claim("the perceptron ends below SGD", false);
    save("smd-fig1", differs.clone());
    assert_eq!(listed(&store, "smd-fig1")["verdict"], "differs, cause not found");
    assert!(page().contains("**Cause not found** of: the perceptron ends below SGD."));
    // A reason for something else explains nothing.
    let mut shows = Outcome::default();
    shows.because("smd-fig1", &["SMD"], "the features");
    save("smd-fig1-features", shows.clone());
    assert_eq!(listed(&store, "smd-fig1")["verdict"], "differs, cause not found");
    shows.because("smd-fig1", &["perceptron"], "the features");
    save("smd-fig1-features", shows.clone());
    let entry = listed(&store, "smd-fig1");
    assert_eq!(
        (&entry["verdict"], &entry["why"][0]["shown by"]),
        (&"differs".into(), &"smd-fig1-features".into())
    );
    let text = page();
    assert!(text.contains("differs ([why](#smd-fig1-features))"), "{text}");
    assert!(text.contains("**Why** ([`smd-fig1-features`](#smd-fig1-features)): the features"), "{text}");
    // Claims about a figure differ for its reasons.
    save("smd-claims1", differs);
    assert_eq!(listed(&store, "smd-claims1")["verdict"], "differs");
    // A number out of tolerance is in shape only with a reason.
    let mut shape = Outcome::default();
    shape.claim("the order", true);
    shape.compare("CP: final F", 92.7, 93.7, 0.6);
    save("smd-fig1", shape);
    assert_eq!(listed(&store, "smd-fig1")["verdict"], "differs, cause not found");
    shows.because("smd-fig1", &["CP"], "the features");
    save("smd-fig1-features", shows);
    assert_eq!(listed(&store, "smd-fig1")["verdict"], "reproduced in shape");
    // What agrees needs no reason.
    let mut agrees = Outcome::default();
    agrees.claim("the order", true);
    save("smd-fig1", agrees.clone());
    save("smd-claims1", agrees);
    assert!(!page().contains("**Why**"));
    // A study is not counted among the papers' results.
    assert_eq!(listed(&store, "smd-fig1-features")["verdict"], "holds");
    assert!(page().contains("| reproduced in shape | 2 |"));
}

#[test]
fn the_command_line_helps_and_refuses() {
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crfkit-papers")).args(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for flag in ["-h", "--help"] {
        let (code, out, _) = run(&[flag]);
        assert_eq!(code, Some(0));
        assert!(out.contains("usage: crfkit-papers list") && out.contains("up to date"), "{out}");
    }
    for wrong in [&[][..], &["run"], &["--nonsense"], &["list", "--data"]] {
        let (code, out, err) = run(wrong);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{wrong:?}");
        assert!(err.contains("crfkit-papers"), "{err}");
    }
    let (code, out, _) = run(&["list"]);
    assert_eq!((code, out.lines().count()), (Some(0), experiments().len()));
}
