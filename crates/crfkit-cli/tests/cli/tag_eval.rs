//! `crfkit tag`, `crfkit eval` and `crfkit inspect` on the demo's model.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use std::fs;
use std::io::Write;
use std::process::Stdio;

fn tag(arguments: &[&str]) -> String {
    output(
        crfkit().args(["tag", "-m"]).arg(demo().join("model")).args(arguments).arg(demo().join("test.tsv")),
    )
}

#[test]
fn columns_are_echoed_and_the_label_appended() {
    let (plain, gold) = (tag(&[]), fs::read_to_string(demo().join("test.tsv")).unwrap());
    assert_eq!(plain.lines().count(), gold.lines().count());
    let mut right = 0;
    for (tagged, line) in plain.lines().zip(gold.lines()) {
        assert!(tagged.is_empty() == line.is_empty() && tagged.starts_with(line), "{tagged:?} {line:?}");
        right += usize::from(line.rsplit('\t').next() == tagged.rsplit('\t').next());
    }
    assert!(right * 100 > gold.lines().count() * 90);
    // The labels do not depend on the label column, nor on the number of threads, nor on where the text comes from.
    let words: String = gold.lines().map(|line| line.split('\t').next().unwrap().to_owned() + "\n").collect();
    for threads in ["1", "2", "3"] {
        let mut command = crfkit();
        command.args(["tag", "--threads", threads, "-m"]).arg(demo().join("model")).arg("-");
        let without = output(command.write_stdin(words.clone()));
        for (a, b) in without.lines().zip(plain.lines()) {
            assert_eq!(a.rsplit('\t').next(), b.rsplit('\t').next());
        }
        assert_eq!(tag(&["--threads", threads]), plain);
    }
}

#[test]
fn compressed_input_is_read_as_it_is() {
    let directory = scratch();
    let path = directory.path().join("test.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::fast());
    encoder.write_all(&fs::read(demo().join("test.tsv")).unwrap()).unwrap();
    encoder.finish().unwrap();
    assert_eq!(output(crfkit().args(["tag", "-m"]).arg(demo().join("model")).arg(&path)), tag(&[]));
}

#[test]
fn probabilities_in_every_layout_agree() {
    let json = json_lines(&tag(&["--output", "json", "--marginals", "--probability", "--nbest", "3"]));
    assert_eq!(json.len(), 500);
    assert_eq!(json_lines(&tag(&["--output", "json"]))[7].as_object().unwrap().len(), 1, "labels alone");
    let columns = tag(&["--marginals", "--probability"]);
    let crfpp = tag(&["--output", "crfpp", "--marginals"]);
    let ranked = tag(&["--output", "crfpp", "--nbest", "3"]);
    assert_eq!(tag(&["--output", "crfpp"]), tag(&[]));
    assert_eq!(tag(&["--nbest", "3"]), ranked);
    let mut ranked = ranked.split_terminator("\n\n");
    let blocks = columns.split_terminator("\n\n").zip(crfpp.split_terminator("\n\n"));
    for (object, (columns, crfpp)) in json.iter().zip(blocks) {
        let probability = object["probability"].as_f64().unwrap();
        let header = format!("# {probability:.6}");
        assert_eq!((columns.lines().next(), crfpp.lines().next()), (Some(&*header), Some(&*header)));
        let rows = columns.lines().zip(crfpp.lines()).skip(1);
        let labels = object["labels"].as_array().unwrap();
        assert_eq!(labels.len(), rows.clone().count());
        for (k, (columns, crfpp)) in rows.enumerate() {
            let (label, marginal) = (labels[k].as_str().unwrap(), object["marginals"][k].as_f64().unwrap());
            assert!(columns.ends_with(&format!("\t{label}\t{marginal:.6}")), "{columns}");
            assert!(crfpp.ends_with(&format!("\t{label}/{marginal:.6}")), "{crfpp}");
            assert!(marginal >= probability * (1.0 - 1e-9) && marginal <= 1.0 + 1e-9);
        }
        for (rank, candidate) in object["nbest"].as_array().unwrap().iter().enumerate() {
            let block = ranked.next().unwrap();
            let expected = format!("# {rank} {:.6}", candidate["probability"].as_f64().unwrap());
            assert_eq!(block.lines().next(), Some(&*expected));
            let labels: Vec<_> = block.lines().skip(1).map(|row| row.rsplit('\t').next().unwrap()).collect();
            assert_eq!(candidate["labels"], serde_json::json!(labels));
        }
        assert_eq!(object["nbest"][0]["labels"], object["labels"]);
    }
    assert_eq!(ranked.next(), None);
    let best = json_lines(&tag(&["--output", "json", "--marginals", "--decode", "max-marginal"]));
    for (viterbi, best) in json.iter().zip(&best) {
        let sum = |object: &serde_json::Value| {
            object["marginals"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).sum::<f64>()
        };
        assert!(sum(best) >= sum(viterbi) - 1e-9);
    }
    let model = demo().join("model");
    failure(crfkit().args(["tag", "--nbest", "2", "--decode", "max-marginal", "-m"]).arg(model), 2);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let directory = scratch();
    let large = directory.path().join("large");
    fs::write(&large, fs::read_to_string(demo().join("train.tsv")).unwrap().repeat(40)).unwrap();
    for threads in ["1", "2"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_crfkit"))
            .args(["tag", "--threads", threads, "-m"])
            .args([demo().join("model"), large.clone()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(ended.stderr, b"");
    }
}

#[test]
fn scores_of_a_model_and_of_its_output_agree() {
    let directory = scratch();
    let (test, tagged) = (demo().join("test.tsv"), directory.path().join("tagged"));
    let eval = |arguments: &[&str]| output(crfkit().arg("eval").args(arguments));
    let (model, test) = (demo().join("model").display().to_string(), test.display().to_string());
    let tagged = tagged.display().to_string();
    let both = |decode: &str| {
        fs::write(&tagged, tag(&["--decode", decode])).unwrap();
        let scores = [&["--decode", decode, "-m", &model, &test][..], &["--predicted", &tagged]]
            .map(|of| serde_json::from_str(&eval(&[&["--json"], of].concat())).unwrap());
        let [by_model, by_file]: &[serde_json::Value; 2] = &scores;
        for field in ["f1", "precision", "recall", "accuracy", "sequence_accuracy", "tokens", "sequences"] {
            assert_eq!(by_model[field], by_file[field], "{field}");
            assert!(by_model[field].is_number(), "{field}");
        }
        scores
    };
    let [by_model, by_file] = both("viterbi");
    assert_ne!(both("max-marginal")[0]["f1"], by_model["f1"]);
    failure(crfkit().args(["eval", "--decode", "graph-cut", "-m", &model, &test]), 2);
    assert!(by_model["known_accuracy"].is_f64() && by_file["known_accuracy"].is_null());
    assert!(by_model["unknown_accuracy"].as_f64() < by_model["known_accuracy"].as_f64());
    assert!((90.0..99.0).contains(&by_model["f1"].as_f64().unwrap()), "{by_model}");
    let printed = eval(&["-m", &model, &test, "--threads", "3"]);
    assert!(printed.starts_with("processed 3178 tokens with "), "{printed}");
    let f1 = format!("FB1:  {:.2}", by_model["f1"].as_f64().unwrap());
    for piece in [&f1[..], "sequence accuracy:", "unknown-word accuracy:", "taken for"] {
        assert!(printed.contains(piece), "{piece} in {printed}");
    }
}

#[test]
fn labels_that_are_no_chunks_have_accuracies_only() {
    let directory = scratch();
    let data = directory.path().join("data");
    let eval = |text: &str, arguments: &[&str]| {
        fs::write(&data, text).unwrap();
        output(crfkit().arg("eval").arg("--predicted").arg(&data).args(arguments))
    };
    let parts_of_speech = "the DT DT\ndog NN NN\nbarks VB NN\n. . .\n";
    let printed = eval(parts_of_speech, &[]);
    assert!(printed.starts_with("token accuracy:         75.00%  (4 tokens)\n"), "{printed}");
    assert!(!printed.contains("FB1"), "{printed}");
    let scores: serde_json::Value = serde_json::from_str(&eval(parts_of_speech, &["--json"])).unwrap();
    assert!(["f1", "precision", "recall"].iter().all(|field| scores[field].is_null()), "{scores}");
    assert_eq!(scores.as_object().unwrap().len(), 9, "every field is there");
    assert_eq!(scores["accuracy"], 75.0);
    // One mistyped label does not make chunks something else, and no chunk at all is what conlleval counts too.
    for chunks in ["a B-NP B-NP\nb I-NP X\n", "a B B\nb I I\n", "a O O\n"] {
        assert!(eval(chunks, &[]).starts_with("processed "), "{chunks}");
    }
}

#[test]
fn labels_that_the_model_does_not_know_are_errors_and_named() {
    let directory = scratch();
    let data = directory.path().join("data");
    fs::write(&data, "2\tB-QTY\ncups\tB-UNIT\nsalt\tNEW\n\nsalt\tNEWER\n").unwrap();
    let assert =
        crfkit().args(["eval", "--json", "-m"]).arg(demo().join("model")).arg(&data).assert().success();
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(message.contains("2 tokens have labels that the model does not know: NEW, NEWER"), "{message}");
    fs::write(directory.path().join("one"), "salt\tNEW\n").unwrap();
    let mut one = crfkit();
    one.args(["eval", "-m"]).arg(demo().join("model")).arg(directory.path().join("one"));
    let message = String::from_utf8(one.assert().success().get_output().stderr.clone()).unwrap();
    assert!(message.contains("note: 1 token has a label that the model does not know: NEW"), "{message}");
    let scores: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    assert_eq!(scores["accuracy"], 50.0);
    // Of thousands of labels, a few are named.
    let words: String = (0..1000).map(|k| format!("salt\tword{k:03}\n")).collect();
    fs::write(&data, words).unwrap();
    let assert = crfkit().args(["eval", "-m"]).arg(demo().join("model")).arg(&data).assert().success();
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(message.ends_with("word018, word019 and 980 more\n"), "{message}");
}

#[test]
fn inspect_shows_and_dumps() {
    let inspect =
        |arguments: &[&str]| output(crfkit().arg("inspect").arg(demo().join("model")).args(arguments));
    let summary = inspect(&["--top", "2"]);
    for piece in ["labels        13: B-NAME", "heaviest transitions", "heaviest observations of O", "sigma"] {
        assert!(summary.contains(piece), "{piece} in {summary}");
    }
    assert!(inspect(&["--label", "B-UNIT"]).contains("heaviest observations of B-UNIT"));
    assert!(inspect(&["--observation", "U:w[0]=cups"]).contains("B-UNIT"));
    assert!(inspect(&["--dump"]).lines().count() > 10_000);
    failure(crfkit().arg("inspect").arg(demo().join("model")).args(["--label", "nope"]), 1);
}

#[test]
fn attribute_lists_from_end_to_end() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let text = fs::read_to_string(demo().join("small.tsv")).unwrap();
    let attributes: String = text
        .lines()
        .map(|line| match line.split_once('\t') {
            Some((word, label)) => format!("{label}\tw={}\tlen:{}\n", word.replace(':', "\\:"), word.len()),
            None => "\n".into(),
        })
        .collect();
    fs::write(path("data"), &attributes).unwrap();
    let mut train = crfkit();
    train.args(["train", "--format", "attributes", "--quiet", "--passes", "10"]).arg(path("data"));
    train.arg("-m").arg(path("m")).assert().success();
    let tagged = output(crfkit().args(["tag", "--marginals", "-m"]).arg(path("m")).arg(path("data")));
    let mut right = 0;
    for (tagged, line) in tagged.lines().zip(attributes.lines()) {
        right += usize::from(tagged.split('\t').next() == line.split('\t').next());
        assert!(line.is_empty() || tagged.split('\t').count() == 2, "{tagged}");
    }
    assert_eq!(tagged.lines().count(), attributes.lines().count());
    assert!(right * 10 > tagged.lines().count() * 8);
    crfkit().args(["eval", "-m"]).arg(path("m")).arg(path("data")).assert().success();
    let columns = ["tag", "--format", "columns", "-m"];
    let message = failure(crfkit().args(columns).arg(path("m")).write_stdin("a b\n"), 1);
    assert!(message.contains("--format attributes"), "{message}");
}

/// ctjpgis-psa-2007 section 5: the mean of the models' marginals decides on each label.
#[test]
fn several_models_label_together() {
    let directory = scratch();
    let train = |name: &str, options: &[&str]| {
        let path = directory.path().join(name);
        let mut command = crfkit();
        command.args(["train", "--quiet"]).args(options).arg("-m").arg(&path).arg(demo().join("small.tsv"));
        output(&mut command);
        path
    };
    let one = train("one", &["--optimizer", "psa", "--passes", "1"]);
    let two = train("two", &["--optimizer", "adagrad", "--passes", "2", "--preset", "ner"]);
    let with = |models: &[&std::path::Path], options: &[&str]| {
        let mut command = crfkit();
        command.arg("tag").args(options).arg(demo().join("test.tsv"));
        for model in models {
            command.arg("-m").arg(model);
        }
        command
    };
    let marginals = |models: &[&std::path::Path]| {
        let options = ["--output", "json", "--marginals", "--decode", "max-marginal"];
        json_lines(&output(&mut with(models, &options)))
    };
    let (first, second) = (marginals(&[&one]), marginals(&[&two]));
    let (both, swapped) = (marginals(&[&one, &two]), marginals(&[&two, &one]));
    let number = |json: &serde_json::Value, t: usize| json["marginals"][t].as_f64().unwrap();
    let (mut changed, mut compared) = (0, 0);
    for (k, together) in both.iter().enumerate() {
        assert_eq!(together["labels"], swapped[k]["labels"]);
        for t in 0..together["labels"].as_array().unwrap().len() {
            let label = &together["labels"][t];
            let [a, b] =
                [&first[k], &second[k]].map(|alone| (&alone["labels"][t] == label).then(|| number(alone, t)));
            // Where both agree the mean is known, else one of them does not have this label in the first place.
            if let (Some(a), Some(b)) = (a, b) {
                assert!((number(together, t) - 0.5 * (a + b)).abs() < 1e-12);
                compared += 1;
            }
            changed += usize::from(a.is_none());
        }
    }
    assert!(compared > 1000 && changed > 0, "{compared} {changed}");
    // By default, too, and the same model twice is that model.
    let plain = output(&mut with(&[&one, &two], &[]));
    assert_eq!(plain, output(&mut with(&[&one, &two], &["--decode", "max-marginal"])));
    assert_eq!(
        output(&mut with(&[&one, &one], &[])),
        output(&mut with(&[&one], &["--decode", "max-marginal"]))
    );
    let mut eval = crfkit();
    eval.arg("eval").arg("-m").arg(&one).arg("-m").arg(&two).arg("--json").arg(demo().join("test.tsv"));
    let f1 = json_lines(&output(&mut eval))[0]["f1"].as_f64().unwrap();
    assert!(f1 > 50.0, "{f1}");
    for options in [
        &["--nbest", "2"][..],
        &["--probability"],
        &["--decode", "viterbi"],
        &["--output", "crfpp", "--marginals"],
    ] {
        failure(&mut with(&[&one, &two], options), 2);
    }
    let other = directory.path().join("other.tsv");
    fs::write(&other, "a\tX\nb\tY\n\n").unwrap();
    let strange = directory.path().join("strange");
    output(crfkit().args(["train", "--quiet", "-m"]).arg(&strange).arg(&other));
    let message = failure(&mut with(&[&one, &strange], &[]), 1);
    assert!(message.contains("labels") && message.contains("strange"), "{message}");
}

#[test]
fn probabilities_of_all_labels_in_every_layout() {
    let chosen = json_lines(&tag(&["--output", "json", "--marginals"]));
    let all = json_lines(&tag(&["--output", "json", "--marginals", "all"]));
    let columns = tag(&["--marginals", "all"]);
    let crfpp = tag(&["--output", "crfpp", "--marginals", "all"]);
    let mut rows = columns.lines().filter(|line| !line.is_empty());
    let mut like_crfpp = crfpp.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    for (few, all) in chosen.iter().zip(&all) {
        for (k, label) in all["labels"].as_array().unwrap().iter().enumerate() {
            let label = label.as_str().unwrap();
            let probabilities = all["marginals"][k].as_object().unwrap();
            let number = |label: &str| probabilities[label].as_f64().unwrap();
            assert!((probabilities.keys().map(|label| number(label)).sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(few["marginals"][k], all["marginals"][k][label]);
            let listed: Vec<String> =
                probabilities.keys().map(|label| format!("{label}/{:.6}", number(label))).collect();
            let listed = listed.join("\t");
            assert!(rows.next().unwrap().ends_with(&format!("\t{label}\t{listed}")));
            assert!(
                like_crfpp.next().unwrap().ends_with(&format!("\t{label}/{:.6}\t{listed}", number(label)))
            );
        }
    }
    assert_eq!((rows.next(), like_crfpp.next()), (None, None));
}

#[test]
fn predictions_with_probabilities_are_compared_by_their_labels() {
    let directory = scratch();
    let eval = |arguments: &[&str]| {
        let path = directory.path().join("tagged");
        fs::write(&path, tag(arguments)).unwrap();
        let mut command = crfkit();
        command.args(["eval", "--predicted"]).arg(&path);
        command
    };
    let expected = output(&mut eval(&[]));
    assert!(expected.contains("FB1:  9"), "{expected}");
    assert_eq!(output(&mut eval(&["--marginals"])), expected);
    let message = failure(&mut eval(&["--marginals", "all"]), 1);
    assert!(message.contains("the last column has labels with probabilities"), "{message}");
    // A line of probabilities in front of a sequence is no token, and the message says where it comes from.
    for arguments in [
        &["--output", "crfpp", "--marginals"][..],
        &["--probability"],
        &["--confidence"],
        &["--nbest", "2"],
        &["--probability", "--marginals"],
    ] {
        let message = failure(&mut eval(arguments), 1);
        assert!(message.contains("tagged:1: a line `#` with a probability, not a token"), "{message}");
    }
    // Words and labels have nothing in common, and neither have the words of brackets.
    let path = directory.path().join("words");
    fs::write(&path, "a\tX\nb\tY\n\n").unwrap();
    let ran = crfkit().args(["eval", "--predicted"]).arg(&path).output().unwrap();
    let note = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success() && note.contains("no label in common: are they gold"), "{note}");
    // What `tag --marginals` has added to words alone has no gold labels.
    fs::write(&path, "a\tX\t0.500000\nb\tY\t0.750000\n\n").unwrap();
    let message = failure(crfkit().args(["eval", "--predicted"]).arg(&path), 1);
    assert!(message.contains("words: the column in front of the predicted labels has none"), "{message}");
    let path = directory.path().join("some");
    fs::write(&path, "a\tX\tX\t0.500000\n\nb\tX\tX\tX\n\n").unwrap();
    let message = failure(crfkit().args(["eval", "--predicted"]).arg(&path), 1);
    assert!(message.contains("some:3: the last column has probabilities in some rows only"), "{message}");
}

#[test]
fn tests_are_shown_in_words() {
    let directory = scratch();
    let (template, model) = (directory.path().join("template"), directory.path().join("model"));
    fs::write(&template, "U:shape[0]=%t[0,0,\"^\\u\"]/%t[0,0,\"\\d\"]/%t[0,0,\"^\\p\\p*$\"]\nB\n").unwrap();
    let mut train = crfkit();
    train.arg("train").arg(demo().join("train.tsv")).arg("--template").arg(&template).arg("-m").arg(&model);
    output(train.arg("--quiet"));
    let text = output(crfkit().arg("inspect").arg(&model).args(["--top", "40"]));
    let shown = text.lines().find(|line| line.contains("U:shape[0]=")).expect("the shape of a word matters");
    assert!(!shown.contains("true") && !shown.contains("false"), "{shown}");
    let words = shown.split("  ").find(|part| part.starts_with("U:shape[0]=")).unwrap();
    let asked = output(crfkit().arg("inspect").arg(&model).args(["--observation", words]));
    assert!(asked.contains(words) && !asked.contains("\n  none\n"), "{asked}");
    let dump = output(crfkit().arg("inspect").arg(&model).arg("--dump"));
    assert!(dump.contains("U:shape[0]=true/"), "the dump keeps names");
}
