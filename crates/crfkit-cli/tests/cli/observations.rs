//! Observations that templates and flags make: lists in files, and columns of numbers.

use crate::common;

use common::{crfkit, demo, failure, output, scratch};
use std::fs;

#[test]
fn a_model_holds_the_lists_of_its_template() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("units"), "cups\nfluid ounces\n").unwrap();
    fs::write(path("template"), "U:w=%x[0,0]\nU:unit=%List[0,0,\"units\"]\nB\n").unwrap();
    let train = || {
        let mut command = crfkit();
        command.arg("train").arg(demo().join("train.tsv")).arg("--template").arg(path("template"));
        command.arg("-m").arg(path("model")).arg("--quiet");
        command
    };
    output(&mut train());
    fs::remove_file(path("units")).unwrap();
    // The template is found from any folder, and the model needs neither it nor the list.
    let summary = output(crfkit().arg("inspect").arg(path("model")));
    assert!(summary.contains("with units"), "{summary}");
    let listed = output(crfkit().arg("inspect").arg(path("model")).args(["--observation", "U:unit=B"]));
    assert!(listed.contains("B-UNIT"), "{listed}");
    assert!(
        output(crfkit().arg("eval").arg("-m").arg(path("model")).arg(demo().join("test.tsv")))
            .contains("FB1")
    );
    let message = failure(&mut train(), 1);
    assert!(
        message.contains("template:2: `%List[") && message.contains("folder of the template"),
        "{message}"
    );
    fs::write(path("units"), "cups\na\tb\n").unwrap();
    let message = failure(&mut train(), 1);
    assert!(message.contains("units:2: a tab in a list of words: use %map"), "{message}");
}

#[test]
fn columns_of_numbers_are_features() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let data: String = (0..20)
        .map(|k| {
            let (a, label) = (f64::from(k % 5) - 2.0, if k % 5 < 2 { "low" } else { "high" });
            format!("w{k}\t{a}\t0.5\t{label}\nv{k}\t{}\t0.25\t{label}\n\n", a / 2.0)
        })
        .collect();
    fs::write(path("data"), data).unwrap();
    let train = |columns: &str| {
        let mut command = crfkit();
        command.arg("train").arg(path("data")).args(["--dense", columns, "--quiet", "-m"]).arg(path("model"));
        command
    };
    output(&mut train("1-2"));
    let dump = output(crfkit().arg("inspect").arg(path("model")).arg("--dump"));
    assert!(dump.contains("column[1]\t") && !dump.contains("U:c1["), "{dump}");
    // The words are new: only the numbers tell.
    let tag = |input: &str| output(crfkit().arg("tag").arg("-m").arg(path("model")).write_stdin(input));
    assert_eq!(tag("x\t-2\t0.5\nx\t-1\t0.25\n\n"), "x\t-2\t0.5\tlow\nx\t-1\t0.25\tlow\n\n");
    assert_eq!(tag("x\t2\t0.5\nx\t1\t0.25\n\n"), "x\t2\t0.5\thigh\nx\t1\t0.25\thigh\n\n");
    let message = failure(crfkit().arg("tag").arg("-m").arg(path("model")).write_stdin("x\tmany\t1\n\n"), 1);
    assert!(message.contains("standard input:1: `many` in column 1 is not a number"), "{message}");
    for (columns, why) in [
        ("0", "data:1: `w0` in column 0 is not a number"),
        ("3", "column 3 is the label"),
        ("1-9", "column 3 is the label"),
    ] {
        let message = failure(&mut train(columns), 1);
        assert!(message.contains(why), "{columns}: {message}");
    }
    for bad in ["2-1", "a", "1-", "-3"] {
        let message = failure(&mut train(bad), 2);
        assert!(message.contains("--dense") || message.contains("unexpected"), "{bad}: {message}");
    }
}
