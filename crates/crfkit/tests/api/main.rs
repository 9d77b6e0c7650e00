//! Keeps a list of the public interface, so that no change of it goes unnoticed.
//!
//! `crates/crfkit/api.txt` has one line for everything that is promised to users: items, their public fields, variants and functions, and the
//! members of traits. Whatever is `#[doc(hidden)]` or cannot be reached is left out. After a change that is meant,
//! `CRFKIT_WRITE_DOCS=1 cargo test -p crfkit --test api` brings the list up to date; the commit then shows what changed.

mod interface;

use std::fs;
use std::path::Path;

#[test]
fn the_public_interface_is_the_listed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = interface::promised(&root.join("src"));
    for known in [
        "Model: fn open(",
        "Error: Setting(String)",
        "loss::Loss: fn loss<",
        "settings::Settings: sigma: f64",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(known)), "{known} was not found");
    }
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
    sent::<crfkit::SequenceTagger>();
    sent::<crfkit::Sequences>();
    sent::<crfkit::tag::Tagger<crfkit::chain::ChainModel>>();
    sent::<crfkit::tag::Tagger<crfkit::grid::GridModel>>();
}
