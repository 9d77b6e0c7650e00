//! Which sources made a result.
//!
//! A result is stale when the code that made it has changed since. The build script hashes the library's sources as a whole, and the
//! sources of each experiment: its file and the files of this crate that it names. Comments, white space and tests do not count, so a
//! reworded comment makes nothing stale. Every other change of the library makes every result stale, because nearly every room takes
//! part in training: a warning, that a rerun is due, and not an error.

pub mod sources;

use serde::{Deserialize, Serialize};

include!(concat!(env!("OUT_DIR"), "/code.rs"));

/// The sources of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The hash of the library.
    pub library: String,
    /// The hash of the experiment.
    pub experiment: String,
}

/// The sources of which this program is made, for an experiment.
pub fn of(id: &str) -> Code {
    let found = EXPERIMENTS.iter().find(|(name, _)| *name == id);
    Code { library: LIBRARY.into(), experiment: found.map_or("", |(_, hash)| hash).into() }
}

#[cfg(test)]
mod tests {
    use super::sources::code;
    use super::*;

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
}
