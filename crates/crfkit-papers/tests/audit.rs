//! The audit of the stored results passes, and each of its rules can fail.

use crfkit_papers::audit::{Findings, audit};
use crfkit_papers::book::Book;
use crfkit_papers::{Form, Needed, Store, Verdict};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of the stored results, which a test may break.
fn copy(test: &str) -> Store {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("audit").join(test);
    let _ = fs::remove_dir_all(&directory); // there is none the first time
    for part in ["reproduction", "images"] {
        fs::create_dir_all(directory.join(part)).unwrap();
        for entry in fs::read_dir(root().join("docs").join(part)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, directory.join(part).join(path.file_name().unwrap())).unwrap();
        }
    }
    for name in ["REPRODUCTION.md", "reproduction.json", "CHECKLIST.md"] {
        fs::copy(root().join("docs").join(name), directory.join(name)).unwrap();
    }
    Store { directory, form: Form::Full, needed: Needed::Current }
}

fn findings(store: &Store) -> Findings {
    audit(store, &root()).unwrap()
}

/// Changes the stored result of an experiment.
fn change(store: &Store, id: &str, change: impl FnOnce(&mut Value)) {
    let mut record = serde_json::from_str(&fs::read_to_string(store.path(id)).unwrap()).unwrap();
    change(&mut record);
    fs::write(store.path(id), record.to_string()).unwrap();
}

/// Changes a text file of the store.
fn edit(store: &Store, name: &str, from: &str, to: &str) {
    let path = store.directory.join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} has no {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

fn complains(store: &Store, about: &str) {
    let errors = findings(store).errors;
    assert!(errors.iter().any(|error| error.contains(about)), "nothing about `{about}` in {errors:#?}");
}

#[test]
fn the_stored_results_are_in_order() {
    let errors = findings(&copy("order")).errors;
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_tolerance_younger_than_its_result_is_no_reproduction() {
    let store = copy("young");
    change(&store, "ep-ttp-scores", |record| {
        record["fixed"]["score of [1,1]"]["fixed"] = "2999-01-01".into()
    });
    // The verdict is another one, which the page does not have.
    complains(&store, "`ep-ttp-scores`, row 122: **reproduced in shape**");
    change(&store, "ep-ttp-scores", |record| record["fixed"] = json!({}));
    complains(&store, "ep-ttp-scores: `score of [1,1]`: it is not recorded when its tolerance was fixed");
}

#[test]
fn a_claim_younger_than_the_first_result_is_no_reproduction() {
    let store = copy("claims");
    let mut claim = String::new();
    change(&store, "slides-bethe", |record| {
        claim = record["outcome"]["claims"][0]["text"].as_str().unwrap().to_owned();
        record["stated"].as_object_mut().unwrap().remove(&claim);
    });
    complains(&store, &format!("slides-bethe: `{claim}`: it is not recorded when this was claimed"));
    let mut reproduced = None;
    for entry in Book::read(&copy("reproduced")).unwrap().entries {
        if entry.verdict == Verdict::Reproduced && !entry.record.stated.is_empty() {
            reproduced = Some((entry.record.id.clone(), entry.record.row));
        }
    }
    let (id, row) = reproduced.expect("a reproduced result with claims");
    change(&store, &id, |record| {
        let stated = record["stated"].as_object_mut().unwrap().values_mut();
        stated.for_each(|stated| stated["stated"] = "2999-01-01".into());
    });
    complains(&store, &format!("`{id}`, row {row}: **reproduced in shape**"));
}

#[test]
fn a_tolerance_is_narrower_than_what_it_is_for() {
    let store = copy("wide");
    for (tolerance, complaint) in
        [(2.0, "wider than the one that was fixed"), (5.0, "as large as the paper's 5")]
    {
        change(&store, "ep-ttp-scores", |record| {
            record["outcome"]["numbers"][0]["tolerance"] = tolerance.into()
        });
        complains(&store, complaint);
    }
    change(&store, "ep-ttp-scores", |record| record["outcome"]["numbers"][0]["tolerance"] = 4.0.into());
    change(&store, "ep-ttp-scores", |record| {
        for (k, name) in ["A: score", "B: score"].into_iter().enumerate() {
            record["outcome"]["numbers"][k]["what"] = name.into();
        }
    });
    complains(&store, "as large as the range 3.7500 of its column");
}

#[test]
fn a_number_of_the_paper_is_compared() {
    let store = copy("shown");
    change(&store, "ep-ttp-scores", |record| record["outcome"]["numbers"][0]["tolerance"] = Value::Null);
    complains(&store, "stands beside the paper's number and is not compared");
}

#[test]
fn a_difference_needs_a_stored_reason() {
    let store = copy("reason");
    let gone = store.path("ep-table7-sigma");
    fs::remove_file(gone).unwrap();
    // Nothing else explains the numbers of EP2, so the page must say that the cause is not found.
    complains(&store, "`ep-table7`, row 107: **differs, cause not found**");
    complains(&store, "README.md does not name `ep-table7`");
    assert!(findings(&store).warnings.iter().any(|text| text.contains("ep-table7-sigma: no stored result")));
    let store = copy("numeral");
    change(&store, "smd-permutations-gains", |record| {
        record["outcome"]["why"][0]["text"] = "F differs by 77.77".into();
    });
    complains(&store, "states 77.77, which is not stored");
}

#[test]
fn page_and_list_are_those_of_the_results() {
    let store = copy("page");
    edit(&store, "REPRODUCTION.md", "| not testable | 1 |", "| not testable | 2 |");
    complains(&store, "REPRODUCTION.md has no line `| not testable | 1 |`");
    edit(&store, "reproduction.json", "\"reproduced\"", "\"differs\"");
    complains(&store, "reproduction.json has another");
    fs::remove_file(store.directory.join("images/pwpl-slopes-pass.svg")).unwrap();
    complains(&store, "the figure images/pwpl-slopes-pass.svg is missing");
}

#[test]
fn the_checklist_is_held_to_the_code() {
    let store = copy("checklist");
    edit(
        &store,
        "CHECKLIST.md",
        "crates/crfkit/src/loss/likelihood.rs",
        "crates/crfkit/src/loss/likelyhood.rs",
    );
    complains(&store, "row 5: the file crates/crfkit/src/loss/likelyhood.rs is gone");
    edit(&store, "CHECKLIST.md", "::forward_backward_equals_enumeration", "::forward_equals_backward");
    complains(&store, "row 1: the test crates/crfkit/tests/laws/oracle.rs::forward_equals_backward is gone");
    edit(&store, "CHECKLIST.md", "\n| 29a |", "\n| 29x |");
    complains(&store, "row 29a is there 0 times");
    complains(&store, "no row is called 29x");
    edit(&store, "CHECKLIST.md", "`ep-ttp-scores` | reproduced |", "`ep-ttp-scores` | differs |");
    complains(&store, "row 122: the verdict is `differs`, but its experiments say `reproduced`");
    complains(&store, "row 122: `differs` needs a reason");
}

#[test]
fn a_change_of_the_sources_makes_a_result_stale() {
    let store = copy("stale");
    change(&store, "ep-ttp-scores", |record| record["code"] = json!({"library": "0", "experiment": "0"}));
    let found = findings(&store);
    assert!(found.errors.is_empty(), "{:#?}", found.errors);
    let text = "ep-ttp-scores: stale, the sources of the experiment have changed";
    assert!(found.warnings.iter().any(|warning| warning == text), "{:#?}", found.warnings);
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit-papers"));
        command
            .current_dir(root())
            .args(words)
            .arg("--out")
            .arg(&store.directory)
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(run(&["audit"]), Some(0));
    assert_eq!(run(&["audit", "--strict"]), Some(1));
}
