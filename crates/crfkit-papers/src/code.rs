//! Which sources made a result.
//!
//! A result is stale when the code that made it has changed since. The build script hashes, for each experiment, its file with the files of
//! this crate that it names, and the rooms of the library that these can reach: rooms that they name, and rooms that those name. So a
//! change of the readers of other toolkits' models, of explanations or of the front door makes nothing stale, and one of a kind of model only the
//! experiments with such models. Comments, white space and tests do not count. A stale result is a warning that a rerun is due, not an error.

pub mod sources;

use serde::{Deserialize, Serialize};

include!(concat!(env!("OUT_DIR"), "/code.rs"));

/// The sources of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The hash of the rooms of the library that the experiment can reach.
    pub library: String,
    /// The hash of the experiment.
    pub experiment: String,
}

/// The sources of which this program is made, for an experiment.
pub fn of(id: &str) -> Code {
    let found = EXPERIMENTS.iter().find(|(name, ..)| *name == id);
    let (library, experiment) = found.map_or(("", ""), |(_, library, experiment)| (library, experiment));
    Code { library: library.into(), experiment: experiment.into() }
}

/// The hash of the whole library.
pub fn library() -> &'static str {
    LIBRARY
}

#[cfg(test)]
mod tests {
    use super::sources::{Library, code, foreign};
    use super::*;
    use std::path::Path;

    #[test]
    fn comments_and_white_space_are_no_code() {
        let plain = code("fn f<'a>(x: &'a str) -> char { let y = \"// no comment \\\" {}\"; 'x' }");
        let commented = code(
            "/// Doc.\nfn f<'a>(x: &'a str)\n  -> char { /* a /* nested */ one */ let y = \"// no comment \\\" {}\"; // end\n 'x' }\n\n#[cfg(test)]\nmod tests { }",
        );
        assert_eq!(plain, commented);
        assert!(plain.contains("// no comment"), "{plain}");
        for (one, other) in [
            ("let x = 1;", "let x = 2;"),
            ("\"a b\"", "\"ab\""),
            ("r#\"a // b\"#", "r#\"a // c\"#"),
            ("'\"' /* a */ 1", "'\"' /* a */ 2"),
            ("'\\'' // a\n 1", "'\\'' // a\n 2"),
        ] {
            assert_ne!(code(one), code(other));
        }
        assert_eq!(code("'\"' /* a */ 1 '\"'"), "'\"'1'\"'");
        assert_eq!(code("r#\"a\" // b\"# // c"), "r#\"a\" // b\"#");
    }

    #[test]
    fn every_experiment_has_sources_of_its_own() {
        for experiment in crate::experiments() {
            assert!(!of(experiment.id).experiment.is_empty(), "{}", experiment.id);
        }
        // Files that share nothing but tools have different hashes; constants of one file share theirs.
        assert_ne!(of("ep-table2").experiment, of("psa-table1-conll").experiment);
        assert_eq!(of("ep-table2").experiment, of("ep-table6").experiment);
    }

    #[test]
    fn an_experiment_reaches_the_rooms_that_it_names_and_those_that_they_name() {
        let library = Library::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crfkit/src")).unwrap();
        let chains = library
            .reached("usecrfkit::{Error,Result};usecrfkit::chain::CorpusBuilder;usecrfkit::train::Settings;");
        for room in ["domain", "domain/chain", "train", "optim", "math", "infer", "error", "lib"] {
            assert!(chains.contains(&room), "{room} is not in {chains:?}");
        }
        for room in
            ["files", "foreign", "front", "any", "explain", "empirical", "domain/typed", "domain/linked"]
        {
            assert!(!chains.contains(&room), "{room} is in {chains:?}");
        }
        let linked = library.reached("usecrfkit::linked::LinkedBuilder;");
        assert!(linked.contains(&"domain/linked") && !linked.contains(&"domain/typed"), "{linked:?}");
        assert!(library.reached("usecrfkit::domain::{Domain,grid};").contains(&"domain/grid"));
        // Counting has explanations of its own, and what the root hands on is from the front.
        let counted = library.reached("usecrfkit::empirical::Counts;");
        assert!(counted.contains(&"explain") && !counted.contains(&"foreign"), "{counted:?}");
        assert!(library.reached("usecrfkit::Trainer;").contains(&"foreign"));
        // What can reach a room has another hash than what cannot.
        assert_ne!(library.hash_for("crfkit::linked::X"), library.hash_for("crfkit::train::X"));
        assert_eq!(library.hash_for("crfkit::train::X"), library.hash_for("crfkit::train::Y"));
    }

    #[test]
    fn an_implementation_for_a_type_from_elsewhere_is_found() {
        let plain = "struct Own; trait Ours { } impl Own { } impl<T: Into<Own>> Ours for Vec<T> { } impl fmt::Debug for Own { } ";
        assert!(foreign(plain).is_empty(), "{:?}", foreign(plain));
        assert_eq!(
            foreign("trait Ours { } impl<'a, F: Fn(u8) -> u8> Sink for &'a mut Other<F> { } ").len(),
            1
        );
        assert_eq!(foreign("use a::B; impl B { pub fn more(&self) { } } "), ["more"]);
        assert!(foreign("struct Own; impl Theirs<Own> { fn more(&self) { } } ").is_empty());
        // A variable of a trait is none.
        assert!(foreign("fn f(x: impl Fn() for B) { } ").is_empty());
    }
}
