//! `crfkit explain`, `diff` and `edit`.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use std::fs;

fn explain(arguments: &[&str], input: &str) -> String {
    let mut command = crfkit();
    command.args(["explain", "-m"]).arg(demo().join("model")).args(arguments);
    output(command.write_stdin(input))
}

/// Contributions and what is left of them add up, and an observation without which another label wins is named.
#[test]
fn explanations_add_up() {
    let words = "2\ncups\nof\nflour\n";
    let all = json_lines(&explain(&["--output", "json", "--top", "3"], words));
    assert_eq!(all.len(), 4);
    for (token, object) in all.iter().enumerate() {
        assert_eq!(object["token"], token);
        let parts = object["contributions"].as_array().unwrap();
        assert_eq!(parts.len(), 3);
        let amount = |value: &serde_json::Value| value["amount"].as_f64().unwrap();
        let sum: f64 = parts.iter().map(amount).sum::<f64>() + amount(&object["others"]);
        assert!((sum - object["difference"].as_f64().unwrap()).abs() < 1e-9);
        assert!(object["difference"].as_f64().unwrap() > 0.0 && object["rival"] != object["label"]);
    }
    let one = explain(&["--token", "1"], words);
    assert!(one.starts_with("standard input:1 token 1 cups: B-UNIT beats "), "{one}");
    assert_eq!(one.matches(" beats ").count(), 1);
    assert_eq!(explain(&["--token", "9"], words), "", "no sequence has such a token");
    assert_eq!(explain(&[], ""), "");
    // The number of threads changes nothing.
    let test = demo().join("test.tsv");
    let test = test.to_str().unwrap();
    let wrong = |threads| explain(&["--only-wrong", "--top", "2", "--threads", threads, test], "");
    assert!(wrong("1").contains("(gold: "));
    assert_eq!(wrong("1"), wrong("3"));
}

/// An edited weight has its new value, a forbidden pair does not occur, and diff shows both.
#[test]
fn models_can_be_edited_and_compared() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let model = demo().join("model");
    let edit = |text: &str, arguments: &[&str]| {
        fs::write(path("weights"), text).unwrap();
        let mut command = crfkit();
        command.args(["edit", "-m"]).arg(&model).arg(path("weights")).arg("-o").arg(path("edited"));
        command.args(arguments);
        command
    };
    let dump = |model: &std::path::Path| output(crfkit().args(["inspect", "--dump"]).arg(model));
    // B-QTY → I-NOTE never occurs in training: the weight is new.
    let text = "# by hand\n\ntransition\tB-QTY\tB-UNIT\tforbid\ntransition\tB-QTY\tI-NOTE\t1.25\nnode\tU:w[0]=cup\tB-UNIT\tdelete\n";
    edit(text, &[]).assert().success();
    let dumped = dump(&path("edited"));
    assert!(dumped.contains("transition\tB-QTY\tB-UNIT\t-60000\n"));
    assert!(dumped.contains("transition\tB-QTY\tI-NOTE\t1.25\n"));
    assert!(!dump(&model).contains("transition\tB-QTY\tI-NOTE\t"));
    let diff = |arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("diff").arg(&model).arg(path("edited")).args(arguments);
        command
    };
    let test = demo().join("test.tsv");
    let object = &json_lines(&output(diff(&["--output", "json", "--on"]).arg(&test)))[0];
    let weights = &object["weights"];
    assert_eq!(weights["changed"], 1, "one has another value");
    let alone = [0, 1].map(|k| weights["counts"][k].as_u64().unwrap() - weights["common"].as_u64().unwrap());
    assert_eq!(alone, [1, 1], "one is deleted, one is new");
    assert_eq!(object["settings"], serde_json::json!({}));
    let largest: Vec<_> =
        weights["largest"].as_array().unwrap().iter().map(|weight| &weight["values"]).collect();
    assert!(largest.contains(&&serde_json::json!([null, 1.25])), "{largest:?}");
    assert_eq!(largest[0][1], -60_000.0);
    assert!(!object["different"].as_array().unwrap().is_empty());
    let tagged = output(crfkit().arg("tag").arg("-m").arg(path("edited")).arg(&test));
    let labels: Vec<&str> = tagged.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert!(!labels.windows(2).any(|pair| pair == ["B-QTY", "B-UNIT"]));
    // A whole dump changes nothing; with --only, what is not in it is gone.
    edit(&dump(&model), &["--only"]).assert().success();
    assert_eq!(dump(&path("edited")), dump(&model));
    let text = output(&mut diff(&[]));
    assert!(text.contains("0 of them differ; distance 0.000000"), "{text}");
    edit("node\tU:w[0]=cup\tB-UNIT\t3\n", &["--only"]).assert().success();
    let left = dump(&path("edited"));
    let left: Vec<&str> =
        left.lines().filter(|line| !line.starts_with("label\t") && !line.ends_with("\t0")).collect();
    assert_eq!(left, ["node\tU:w[0]=cup\tB-UNIT\t3"]);
    // What is wrong is named with its line.
    for (text, message) in [
        (
            "\nnode\tU:w[0]=nowhere\tO\t1\n",
            "weights:2: the model has no observation `U:w[0]=nowhere` of node",
        ),
        ("begin\tNONE\t1\n", "weights:1: the model has no label `NONE` here"),
        ("node\tU:w[0]=cup\tO\tmuch\n", "weights:1: this line is not a weight"),
        ("node\tU:w[0]=cup\tO\t1e300\n", "weights:1: the weight 1e300 is far too large"),
    ] {
        let found = failure(&mut edit(text, &[]), 1);
        assert!(found.contains(message), "{found}");
    }
    let mut command = crfkit();
    command.args(["edit", "-m"]).arg(&model).arg(path("weights")).arg("-o").arg(&model);
    assert!(failure(&mut command, 2).contains("the model"), "an input is never written over");
}

/// Models made of counts are explained word by word; they have no weights to edit or to compare.
#[test]
fn counts_are_explained_too() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let small = demo().join("small.tsv");
    let mut command = crfkit();
    output(command.arg("train").arg(&small).args(["--method", "ep1", "--quiet", "-m"]).arg(path("counts")));
    let text = output(crfkit().args(["explain", "-m"]).arg(path("counts")).write_stdin("2\ncups\n"));
    assert!(text.contains(" token 1 cups: ") && text.contains("  cups  "), "{text}");
    fs::write(path("weights"), "").unwrap();
    let mut command = crfkit();
    command.args(["edit", "-m"]).arg(path("counts")).arg(path("weights")).arg("-o").arg(path("new"));
    assert!(failure(&mut command, 1).contains("has no weights to edit"));
    let mut command = crfkit();
    let text =
        output(command.arg("diff").arg(path("counts")).arg(demo().join("model")).arg("--on").arg(&small));
    assert!(text.contains("not compared: a model made from counts has no weights"), "{text}");
    assert!(text.contains(" of 300 labelled differently by "), "{text}");
}

/// On other graphs, lines of single weights are enough: the parts are known.
#[test]
fn factorial_chains_are_explained_and_edited() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("two.tsv"), "a\tX\tn\nb\tY\tv\n\nb\tX\tv\na\tY\tn\n\n".repeat(3)).unwrap();
    let mut command = crfkit();
    command.arg("train").arg(path("two.tsv")).args([
        "--graph",
        "factorial",
        "--label-column",
        "1,2",
        "--preset",
        "factorial",
    ]);
    output(command.args(["--passes", "10", "--quiet", "-m"]).arg(path("model")));
    let all = json_lines(&output(
        crfkit()
            .args(["explain", "--output", "json", "--token", "1", "-m"])
            .arg(path("model"))
            .arg(path("two.tsv")),
    ));
    assert_eq!(all.len(), 12, "two columns of one token in six sequences");
    assert!(all.iter().all(|object| object["token"] == 1 && object["contributions"][0]["amount"] != 0.0));
    let dump = output(crfkit().args(["inspect", "--dump"]).arg(path("model")));
    let weight =
        dump.lines().find(|line| line.starts_with("feature\t")).unwrap().rsplit_once('\t').unwrap().0;
    fs::write(path("weights"), format!("{weight}\t2.5\n")).unwrap();
    let mut command = crfkit();
    output(
        command.args(["edit", "-m"]).arg(path("model")).arg(path("weights")).arg("-o").arg(path("edited")),
    );
    let edited = output(crfkit().args(["inspect", "--dump"]).arg(path("edited")));
    assert!(edited.contains(&format!("{weight}\t2.5\n")));
    let text =
        output(crfkit().arg("diff").arg(path("model")).arg(path("edited")).arg("--on").arg(path("two.tsv")));
    assert!(text.contains("1 of them differ") && text.contains(" of 6 labelled differently"), "{text}");
}

/// Models whose templates differ are told apart, even if both come from a file with equally many lines.
#[test]
fn differences_of_features_are_shown() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let train = |name: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(path(name));
        output(command.args(["--quiet", "--passes", "1"]).args(arguments));
    };
    let template = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        path(name).to_str().unwrap().to_owned()
    };
    train("preset", &[]);
    train("words", &["--template", &template("a", "U0:%x[0,0]\nB\n")]);
    train("next", &["--template", &template("b", "U0:%x[1,0]\nB\n")]);
    let diff = |a: &str, b: &str, layout: &str| {
        output(crfkit().arg("diff").args([path(a), path(b)]).args(["--output", layout]))
    };
    let text = diff("preset", "words", "text");
    assert!(text.contains(", from preset default | 2, from template file"), "{text}");
    let text = diff("words", "next", "text");
    assert!(text.contains("templates     2, from template file | another text\n"), "{text}");
    assert!(!diff("words", "words", "text").contains("templates"));
    let object = &json_lines(&diff("words", "next", "json"))[0];
    assert_eq!(object["summaries"]["templates"][1], "another text", "{object}");
}
