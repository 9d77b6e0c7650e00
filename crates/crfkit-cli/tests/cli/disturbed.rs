//! Every verb over every kind of model, while one of its calls to the system fails, is cut short or is its last: what stands under the name of
//! an output is the old file or the new one, success means that all of it was written, and the same command, given again, ends as if
//! nothing had happened.
//!
//! `disturbed/fault.c` disturbs the calls. It is compiled by the tests; without a C compiler they are skipped.
//! `CRFKIT_FAULT_RUNS=1000 cargo test -p crfkit-cli --test cli disturbed:: -- --nocapture` is the long run.

use crate::common::*;
use crate::faults::data;
use crfkit::math::random::Random;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command with its arguments, separated by spaces, and the files that it writes. Standard output is one of them.
struct Scene {
    command: &'static str,
    /// Written whole or not at all, the same bytes each time.
    outputs: &'static [&'static str],
}

const fn scene(command: &'static str, outputs: &'static [&'static str]) -> Scene {
    Scene { command, outputs }
}

/// What training writes besides: it has times in it, or is gone at the end.
const TRAINED: &str = "--log log --checkpoint checkpoint --report page --threads 1";

/// Training, which also makes the models of the other scenes: the kind and its arguments.
const KINDS: [(&str, &str); 6] = [
    ("chain", "small.tsv --optimizer adagrad --passes 3"),
    ("second", "skip.tsv --order 2 --optimizer lbfgs --passes 4"),
    ("linked", "skip.tsv --graph skip-chain --skip same(0) --optimizer lbfgs --passes 4"),
    ("typed", "graphs --graph file --optimizer lbfgs --passes 6"),
    ("grid", "--graph grid --images images --masks masks --optimizer lbfgs --passes 10"),
    ("counts", "small.tsv --method ep1"),
];

const SCENES: [Scene; 34] = [
    scene("train chain", &["out"]),
    scene("train second", &["out"]),
    scene("train linked", &["out"]),
    scene("train typed", &["out"]),
    scene("train grid", &["out"]),
    scene("train counts", &["out"]),
    scene("train small.tsv --stream --optimizer psa -m out", &["out"]),
    scene("train small.tsv --passes 2 --calibrate --shrink 0.01 -m out --threads 1", &["out"]),
    scene("tag -m model.chain small.tsv", &[]),
    scene("tag -m model.second --marginals skip.tsv", &[]),
    scene("tag -m model.linked skip.tsv", &[]),
    scene("tag -m model.typed graphs", &[]),
    scene("tag -m model.grid --images images --output-dir masks.out", &["masks.out"]),
    scene("tag -m model.counts small.tsv", &[]),
    scene("eval -m model.chain small.tsv", &[]),
    scene("eval -m model.typed graphs", &[]),
    scene("eval -m model.grid --images images --masks masks", &[]),
    scene("inspect --dump model.chain", &[]),
    scene("inspect --dump model.second", &[]),
    scene("inspect --dump model.linked", &[]),
    scene("inspect model.counts", &[]),
    scene("report log.old -m model.chain --test small.tsv -o out", &["out"]),
    scene("report -m model.grid --images images --masks masks -o out", &["out"]),
    scene("convert model.chain out", &["out"]),
    scene("convert model.typed out", &["out"]),
    scene("edit -m model.chain weights.chain -o out", &["out"]),
    scene("edit -m model.linked --only weights.linked -o out", &["out"]),
    scene("edit -m model.grid weights.grid -o out", &["out"]),
    scene("calibrate -m model.chain small.tsv -o out", &["out"]),
    scene(
        "search skip.tsv --sigma 0.3,1 --l1 0,0.1 --passes 3 --threads 1 -m out --points points",
        &["out", "points"],
    ),
    scene("cv skip.tsv --folds 2 --passes 2 --threads 1", &[]),
    scene("rank -m model.chain skip.tsv", &[]),
    scene("explain -m model.second --token 1 skip.tsv", &[]),
    scene("diff model.chain model.second --on skip.tsv", &[]),
];

const HOWS: [&str; 6] = ["fail", "short", "kill", "term", "again", "drip"];

/// The library that disturbs; `None` if there is no compiler.
fn library(directory: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/disturbed/fault.c");
    let library = directory.join("fault.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    compiler.status().is_ok_and(|status| status.success()).then_some(library)
}

/// How a command has ended.
struct StopReason {
    status: std::process::ExitStatus,
    message: String,
    calls: usize,
}

/// Runs a command in a directory, disturbed or not. Standard output goes to the file `stdout` there.
fn run(directory: &Path, scene: &Scene, library: &Path, fault: Option<(&str, usize)>) -> StopReason {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit"));
    command.current_dir(directory).args(scene.command.split(' ').flat_map(expanded));
    command.env_remove("CRFKIT_SIMD").env("CRFKIT_CHECKPOINT_SECONDS", "0.005");
    command.env("LD_PRELOAD", library).env("CRFKIT_FAULT_COUNT", "calls");
    if let Some((how, at)) = fault {
        command.env("CRFKIT_FAULT", how).env("CRFKIT_FAULT_AT", at.to_string());
    }
    let open = |name: &str| File::create(directory.join(name)).unwrap();
    command.stdin(Stdio::null()).stdout(open("stdout")).stderr(open("stderr"));
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > Duration::from_secs(120) => {
                child.kill().unwrap();
                panic!("{} does not end with {fault:?}", scene.command);
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
    StopReason { status, message: text("stderr"), calls: text("calls").trim().parse().unwrap_or(0) }
}

/// A kind stands for the arguments of its training.
fn expanded(word: &'static str) -> Vec<&'static str> {
    match KINDS.iter().find(|(kind, _)| *kind == word) {
        Some((kind, arguments)) => {
            let outputs = if *kind == "counts" { "--log log" } else { TRAINED };
            arguments.split(' ').chain(["-m", "out"]).chain(outputs.split(' ')).collect()
        }
        None => vec![word],
    }
}

/// The files of a name: itself, or what is in the directory.
fn contents(directory: &Path, name: &str) -> BTreeMap<String, Vec<u8>> {
    let path = directory.join(name);
    match fs::read_dir(&path) {
        Ok(entries) => entries
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect(),
        Err(_) => fs::read(&path).ok().map(|bytes| (name.to_owned(), bytes)).into_iter().collect(),
    }
}

/// What commands read: data and models of all kinds.
fn stage(directory: &Path, library: &Path) {
    data(directory);
    for (kind, _) in KINDS {
        let train = SCENES.iter().find(|scene| scene.command == format!("train {kind}")).unwrap();
        let ended = run(directory, train, library, None);
        assert!(ended.status.success(), "{kind}: {}", ended.message);
        fs::rename(directory.join("out"), directory.join(format!("model.{kind}"))).unwrap();
        fs::rename(directory.join("log"), directory.join("log.old")).unwrap();
    }
    for (kind, lines) in [("chain", 40), ("linked", 30), ("grid", 8)] {
        let dump =
            output(crfkit().current_dir(directory).args(["inspect", "--dump", &format!("model.{kind}")]));
        let part: String = dump.split_inclusive('\n').take(lines).collect();
        fs::write(directory.join(format!("weights.{kind}")), part).unwrap();
    }
    fs::create_dir(directory.join("masks.out")).unwrap();
    ["page", "calls", "stdout", "stderr"].iter().for_each(|name| drop(fs::remove_file(directory.join(name))));
}

/// A copy of a directory, whose outputs hold something old.
fn copy_of(stage: &Path, scene: &Scene) -> tempfile::TempDir {
    let copy = scratch();
    let status = Command::new("cp").arg("-r").arg(stage.join(".")).arg(copy.path()).status().unwrap();
    assert!(status.success());
    for name in scene.outputs.iter().filter(|name| !name.starts_with("masks") && **name != "points") {
        fs::write(copy.path().join(name), OLD).unwrap();
    }
    copy
}

const OLD: &[u8] = b"old";

/// An undisturbed run: what it leaves under the names of its outputs, what it prints, and how many calls it makes.
struct Expected {
    outputs: Vec<BTreeMap<String, Vec<u8>>>,
    printed: Vec<u8>,
    calls: usize,
}

fn undisturbed(stage: &Path, scene: &Scene, library: &Path) -> Expected {
    let place = copy_of(stage, scene);
    let ended = run(place.path(), scene, library, None);
    assert!(ended.status.success(), "{}: {}", scene.command, ended.message);
    assert!(ended.calls > 0, "{}: no call was counted", scene.command);
    Expected {
        outputs: scene.outputs.iter().map(|name| contents(place.path(), name)).collect(),
        printed: fs::read(place.path().join("stdout")).unwrap(),
        calls: ended.calls,
    }
}

/// Disturbs one run, and checks what is left.
fn disturb(stage: &Path, scene: &Scene, library: &Path, expected: &Expected, fault: (&str, usize)) -> bool {
    let place = copy_of(stage, scene);
    let ended = run(place.path(), scene, library, Some(fault));
    let StopReason { status, ref message, .. } = ended;
    let what = format!("{} with {fault:?} of {}: {status}, {message}", scene.command, expected.calls);
    assert!(!message.contains("panicked"), "{what}");
    let training = scene.command.starts_with("train");
    let (how, _) = fault;
    match (status.code(), status.signal()) {
        (Some(0), _) => {}
        (Some(1), _) => assert!(!message.is_empty() && ["fail", "short"].contains(&how), "{what}"),
        (Some(130), _) => assert!(how == "term", "{what}"),
        (None, Some(9)) => assert!(how == "kill", "{what}"),
        (None, Some(15)) => assert!(how == "term", "{what}"),
        _ => panic!("{what}"),
    }
    for (name, expected) in scene.outputs.iter().zip(&expected.outputs) {
        for (file, bytes) in contents(place.path(), name) {
            let whole = expected.get(&file).is_some_and(|expected| *expected == bytes);
            // A model trained so far, one that could not be calibrated, the best one so far of a search: they are said to be what they are.
            let other = training && (status.code() == Some(130) || message.contains("has no temperature"))
                || scene.command.starts_with("search");
            let may = match *name {
                _ if file.starts_with('.') => true, // the remains of a killed write, which the next one removes
                "points" => true,
                _ if status.success() => whole,
                _ => whole || bytes == OLD || other && opens(place.path(), name),
            };
            assert!(may, "{what}: {name}: {file} is neither the old nor the new file");
        }
        assert!(
            !status.success() || contents(place.path(), name).len() >= expected.len(),
            "{what}: {name} lacks files"
        );
    }
    let printed = fs::read(place.path().join("stdout")).unwrap();
    assert!(expected.printed.starts_with(&printed), "{what}: prints something else");
    assert!(!status.success() || printed == expected.printed, "{what}: success, but not all is printed");

    let again = run(place.path(), scene, library, None);
    let what = format!("{what}; afterwards: {}", again.message);
    assert!(again.status.success(), "{what}");
    for (name, expected) in scene.outputs.iter().zip(&expected.outputs) {
        // A search that resumes starts its next model from zero weights instead of those of the point before.
        let may = match scene.command.starts_with("search") {
            true => *name == "points" || opens(place.path(), name),
            false => contents(place.path(), name) == *expected,
        };
        assert!(may, "{what}: {name} is another one");
    }
    let remains: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') || name == "checkpoint")
        .collect();
    assert!(remains.is_empty(), "{what}: {remains:?} are left");
    !status.success()
}

/// Whether a model can be read to its end.
fn opens(directory: &Path, model: &str) -> bool {
    crfkit().current_dir(directory).args(["inspect", model]).ok().is_ok()
}

/// A number in the environment.
fn given(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().expect(variable))
}

#[test]
fn a_disturbed_call_costs_no_file() {
    let directory = scratch();
    let Some(library) = library(directory.path()) else {
        return eprintln!("skipped: there is no C compiler (cc)");
    };
    let place = scratch();
    stage(place.path(), &library);
    let (runs, seed) = (given("CRFKIT_FAULT_RUNS", 20), given("CRFKIT_FAULT_SEED", 1) as u64);
    let mut known: BTreeMap<usize, Expected> = BTreeMap::new();
    let (mut random, mut counts) = (Random::new(seed), BTreeMap::<&str, [usize; 2]>::new());
    for number in 0..runs {
        // Neighbours in the list are of one verb: a stride that has no divisor in common visits all of them.
        let at = (number * 13 + seed as usize) % SCENES.len();
        let how = HOWS[(number + number / SCENES.len()) % HOWS.len()];
        let scene = &SCENES[at];
        let expected = known.entry(at).or_insert_with(|| undisturbed(place.path(), scene, &library));
        let fault = (how, 1 + random.below(expected.calls));
        let failed = disturb(place.path(), scene, &library, expected, fault);
        let count = counts.entry(how).or_default();
        count[0] += 1;
        count[1] += usize::from(failed);
    }
    let ended: usize = counts.values().map(|count| count[1]).sum();
    println!(
        "{runs} runs of {} commands, {ended} did not succeed; runs and failures by disturbance: {counts:?}",
        known.len()
    );
    assert!(ended * 4 >= runs, "only {ended} of {runs} runs noticed: {counts:?}");
}
