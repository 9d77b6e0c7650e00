//! Keeps a list of the public interface, so that no change of it goes unnoticed.
//!
//! `crates/crfkit/api.txt` has one line for every public item: its file and the first line of its declaration. After a change that is meant,
//! `CRFKIT_WRITE_DOCS=1 cargo test -p crfkit --test api` brings the list up to date; the commit then shows what changed.

use std::fs;
use std::path::Path;

/// Files whose items are public only because our own crates and tests use them (`#[doc(hidden)]`).
const HIDDEN: [&str; 24] = [
    "checkpoint.rs",
    "files.rs",
    "data/bytes.rs",
    "data/half.rs",
    "data/numpy.rs",
    "data/pattern.rs",
    "data/strings.rs",
    "empirical/spelling.rs",
    "empirical/studies",
    "graph/clique_tree.rs",
    "graph/fields.rs",
    "graph/forest.rs",
    "graph/scopes.rs",
    "graph/slices.rs",
    "graph/sparse.rs",
    "math/entropy.rs",
    "math/series.rs",
    "math/simd.rs",
    "math/vector.rs",
    "model/dense.rs",
    "model/dump.rs",
    "model/map.rs",
    "model/rows.rs",
    "risk/threads.rs",
];

/// The public items of one file, in their order, without those that are hidden.
fn items(text: &str) -> impl Iterator<Item = String> + '_ {
    let program = text.lines().take_while(|line| *line != "#[cfg(test)]");
    let mut hidden = false;
    program.filter_map(move |line| {
        let item = line.trim_start();
        let skip = std::mem::replace(&mut hidden, item.starts_with("#[doc(hidden)]"));
        if skip {
            return None;
        }
        let declared = item.strip_prefix("pub ")?;
        let end = declared.find(" {").or(declared.find(';')).unwrap_or(declared.len());
        Some(declared[..end].trim_end_matches([',', '(']).to_owned())
    })
}

fn list(root: &Path, directory: &Path, lines: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        if HIDDEN.iter().any(|hidden| name.starts_with(hidden)) {
            continue;
        }
        if path.is_dir() {
            list(root, &path, lines);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            lines.extend(items(&text).map(|item| format!("{name}: {item}")));
        }
    }
}

#[test]
fn the_public_interface_is_the_listed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut lines = Vec::new();
    list(&root.join("src"), &root.join("src"), &mut lines);
    assert!(
        lines.iter().any(|line| line.starts_with("front/model.rs: fn open(")),
        "the sources were not found"
    );
    let (path, found) = (root.join("api.txt"), lines.join("\n") + "\n");
    if std::env::var_os("CRFKIT_WRITE_DOCS").is_some() {
        return fs::write(path, found).unwrap();
    }
    let known = fs::read_to_string(path).unwrap();
    let only = |a: &str, b: &str| -> Vec<String> {
        let known: std::collections::HashSet<&str> = b.lines().collect();
        a.lines().filter(|line| !known.contains(line)).map(str::to_owned).collect()
    };
    let (new, gone) = (only(&found, &known), only(&known, &found));
    assert!(
        new.is_empty() && gone.is_empty(),
        "the public interface has changed; if that is meant, run CRFKIT_WRITE_DOCS=1 cargo test -p crfkit --test api\nnew: {new:#?}\ngone: {gone:#?}"
    );
}

/// Models are shared between threads; workers may move to another one.
#[test]
fn models_are_shared_and_workers_are_sent() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<crfkit::Model>();
    shared::<crfkit::any::AnyModel>();
    shared::<crfkit::chain::ChainModel>();
    shared::<crfkit::linked::LinkedModel>();
    shared::<crfkit::typed::TypedModel>();
    shared::<crfkit::grid::GridModel>();
    shared::<crfkit::empirical::EmpiricalModel>();
    shared::<crfkit::Error>();
    sent::<crfkit::front::SequenceTagger>();
    sent::<crfkit::Sequences>();
    sent::<crfkit::tag::Tagger<crfkit::chain::ChainModel>>();
    sent::<crfkit::tag::Tagger<crfkit::grid::GridModel>>();
}
