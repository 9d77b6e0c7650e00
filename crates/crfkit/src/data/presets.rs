//! Ready-made templates, so that a column file alone is enough to start.
//!
//! All are in the dialect crfpp. `chunking`, `chunking-pairs` and `seminars` are fixed. The others need only the word in column 0, and
//! add observations for every further column of the data.

use std::fmt::Write;

use super::template::{Dialect, Templates};
use crate::error::{Error, Result};

/// A ready-made set of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name on the command line.
    pub name: &'static str,
    /// What the preset is for, in one line.
    pub description: &'static str,
    /// The origin of its observations.
    pub source: &'static str,
    /// The dialect of its text.
    pub dialect: Dialect,
    /// The lines that are the same for all data.
    base: &'static str,
    further_columns: FurtherColumns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FurtherColumns {
    /// Columns that `base` does not use are ignored.
    Ignored,
    /// Every column except the word's gets its own observations.
    Used,
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "default",
        description: "any column file: words, affixes, shapes and places of column 0, values of further columns",
        source: "crfkit's own choice, the best all-round one of `bench/observations`",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/default.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "chunking",
        description: "chunking: words and parts of speech (columns 0 and 1) as in CRF++'s example",
        source: "the template of CRF++'s example for the CoNLL-2000 shared task",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/chunking.tpl"),
        further_columns: FurtherColumns::Ignored,
    },
    Preset {
        name: "ner",
        description: "named entities: words, affixes, n-grams and shapes of column 0 and its neighbours, values of further columns",
        source: "the observations of default, and what improved them on names in English and Dutch in `bench/observations`",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/ner.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "pos",
        description: "parts of speech: words and spelling of column 0, values of further columns",
        source: "spelling features of Lafferty, McCallum & Pereira (2001), their list of suffixes widened to all",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/pos.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "bio",
        description: "genes, proteins and the like: words and orthography of column 0, values of further columns",
        source: "orthographic features of Settles (2004) without ROMAN and GREEK; affixes and bigrams of words of our own",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/bio.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "factorial",
        description: "chunks and parts of speech together: words and spelling of column 0, values of further columns",
        source: "Sutton, Rohanimanesh & McCallum (2004), without their lists of names and their lexicon of parts of speech",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/factorial.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "seminars",
        description: "times, places and speakers in announcements: words, capitals, times and dates of column 0 alone",
        source: "Sutton & McCallum (2004), without their lists of names and titles and without parts of speech",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/seminars.tpl"),
        further_columns: FurtherColumns::Ignored,
    },
    Preset {
        name: "chunking-pairs",
        description: "as chunking, with every observation for label pairs too; best on second-order chains",
        source: "Sha & Pereira (2003), table 1, whose predicates are those of chunking",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/chunking-pairs.tpl"),
        further_columns: FurtherColumns::Ignored,
    },
    Preset {
        name: "settles",
        description: "genes, proteins and the like, by the features of one paper: orthography, affixes and shapes of column 0 and its neighbours",
        source: "Settles (2004), as the trainer of ABNER has them, without lists of words",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/settles.tpl"),
        further_columns: FurtherColumns::Used,
    },
    Preset {
        name: "mccallum-li",
        description: "named entities, by the features of one paper: words, affixes and capitalisation of column 0, values of further columns",
        source: "character tests after McCallum & Li (2003), without their word lists and feature induction",
        dialect: Dialect::Crfpp,
        base: include_str!("presets/mccallum-li.tpl"),
        further_columns: FurtherColumns::Used,
    },
];

/// The lines of segments that every preset has where segments have weights.
pub(crate) const SEGMENTS: &str = "# Segments.\nS:text=%x[0,0]\n";

/// The preset called `name`. An unknown name is an error.
pub fn preset(name: &str) -> Result<Preset> {
    PRESETS.iter().find(|preset| preset.name == name).copied().ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Error::Setting(format!("unknown preset `{name}`; choose one of {}", names.join(", ")))
    })
}

impl Preset {
    /// The template text for data with this many columns, not counting labels.
    pub fn text(&self, columns: usize) -> String {
        self.text_with(columns, &[])
    }

    /// The same for data in which some columns hold numbers.
    pub(crate) fn text_with(&self, columns: usize, numbers: &[usize]) -> String {
        self.words(columns, numbers) + &number_lines(numbers)
    }

    /// The text without the columns of numbers.
    fn words(&self, columns: usize, numbers: &[usize]) -> String {
        let mut text = self.base.to_owned();
        if self.further_columns == FurtherColumns::Used {
            for column in (1..columns).filter(|column| !numbers.contains(column)) {
                write_column(&mut text, column).expect("writing to a string succeeds");
            }
        }
        text
    }

    /// [`text`](Preset::text) compiled. It is an error if the preset needs more columns.
    pub fn compile(&self, columns: usize) -> Result<Templates> {
        self.compile_with(columns, &[])
    }

    /// [`text_with`](Preset::text_with) compiled.
    #[doc(hidden)]
    pub fn compile_with(&self, columns: usize, numbers: &[usize]) -> Result<Templates> {
        self.compile_text(self.text_with(columns, numbers), columns)
    }

    /// The preset for data in which some columns hold numbers that it is not to read, compiled. With `segments`, it has lines that observe
    /// segments.
    #[doc(hidden)]
    pub fn compile_for(&self, columns: usize, numbers: &[usize], segments: bool) -> Result<Templates> {
        self.compile_text(self.words(columns, numbers) + if segments { SEGMENTS } else { "" }, columns)
    }

    fn compile_text(&self, text: String, columns: usize) -> Result<Templates> {
        let templates = Templates::compile(&text, self.dialect, &format!("preset {}", self.name))?;
        templates.check_columns(columns)?;
        Ok(templates)
    }
}

/// The lines of a template that make the numbers in these columns features: one line for each run of columns. The numbers must ascend.
#[doc(hidden)]
pub fn number_lines(columns: &[usize]) -> String {
    let mut lines = String::new();
    for run in columns.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (run[0], run[run.len() - 1]);
        writeln!(lines, "U:number=%number[0,{first}-{last}]").expect("writing to a string succeeds");
    }
    lines
}

/// Writes templates for one column: its values in a window of two rows on either side, and the two pairs that include
/// the token's own row.
fn write_column(text: &mut String, column: usize) -> std::fmt::Result {
    writeln!(text, "# Column {column}.")?;
    for row in -2..=2 {
        writeln!(text, "U:c{column}[{row}]=%x[{row},{column}]")?;
    }
    writeln!(text, "U:c{column}[-1,0]=%x[-1,{column}]/%x[0,{column}]")?;
    writeln!(text, "U:c{column}[0,1]=%x[0,{column}]/%x[1,{column}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunking_is_the_crfpp_template() {
        let templates = preset("chunking").unwrap().compile(2).unwrap();
        assert_eq!(templates.unigram.len(), 19);
        assert_eq!(templates.extractors.len(), 2);
        assert!(templates.bigram.is_empty() && templates.label_bigram);
        assert_eq!(templates.columns_needed, 2);
        assert_eq!(preset("chunking").unwrap().compile(5).unwrap().unigram.len(), 19);
        let message = preset("chunking").unwrap().compile(1).unwrap_err().to_string();
        assert!(message.starts_with("preset chunking:10: column 1 is used"), "{message}");
    }

    /// The same lines, each for labels and for label pairs.
    #[test]
    fn chunking_pairs_is_chunking_twice() {
        let (single, both) = (preset("chunking").unwrap(), preset("chunking-pairs").unwrap());
        assert_eq!(both.base.replace("\n*", "\nU"), single.base);
        let templates = both.compile(2).unwrap();
        assert_eq!((templates.unigram.len(), templates.bigram.len()), (19, 19));
        assert!(templates.label_bigram);
    }

    #[test]
    fn seminars_read_the_word_alone() {
        let templates = preset("seminars").unwrap().compile(3).unwrap();
        assert_eq!((templates.columns_needed, templates.bigram.len()), (1, 0));
        assert_eq!(templates.skeletons.len(), templates.unigram.len());
    }

    #[test]
    fn all_others_need_the_word_and_use_what_there_is() {
        for preset in PRESETS.iter().filter(|preset| preset.further_columns == FurtherColumns::Used) {
            let alone = preset.compile(1).unwrap();
            assert!(alone.label_bigram, "{}", preset.name);
            assert_eq!(alone.columns_needed, 1, "{}", preset.name);
            let more = preset.compile(3).unwrap();
            assert_eq!(more.columns_needed, 3, "{}", preset.name);
            assert_eq!(more.unigram.len(), alone.unigram.len() + 2 * 7, "{}", preset.name);
            // Every line is a separate feature, or one for every length.
            let mut lines: Vec<_> = more.unigram.iter().map(|template| template.line).collect();
            lines.dedup();
            assert_eq!(more.skeletons.len(), lines.len(), "{}", preset.name);
        }
    }

    /// The orthographic tests of Settles that name something: Roman numerals and Greek letters.
    #[test]
    fn settles_knows_roman_numerals_and_greek_letters() {
        let text = preset("settles").unwrap().text(1);
        for (name, yes, no) in [
            ("ROMAN", &["II", "XIV", "C"][..], &["Il", "ii", "II-a", "A"][..]),
            ("HASROMAN", &["II", "type-II", "II-like", "a/IV/b"], &["VIP", "SIV", "ii"]),
            ("GREEK", &["alpha", "omega"], &["alphas", "NF-kappa"]),
            ("HASGREEK", &["alpha", "NF-kappaB", "beta2"], &["NF", "gam"]),
            ("REALNUMBER", &["1.5", "-0,25", "1,000.0"], &["15", "1.", "a.5"]),
            ("ALPHANUMERIC", &["p53", "5a"], &["p", "53"]),
            ("PUNCTUATION", &[",", "-", "+"], &["..", "a", "("]),
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("U:{name}="))).unwrap();
            let pattern = line.split('"').nth(1).unwrap();
            let pattern: crate::data::pattern::Pattern = pattern.parse().unwrap();
            yes.iter().for_each(|word| assert!(pattern.find(word).is_some(), "{name}: {word}"));
            no.iter().for_each(|word| assert!(pattern.find(word).is_none(), "{name}: {word}"));
        }
    }

    #[test]
    fn columns_of_numbers_are_no_text() {
        assert_eq!(number_lines(&[2, 3, 4, 7]), "U:number=%number[0,2-4]\nU:number=%number[0,7-7]\n");
        let templates = preset("default").unwrap().compile_with(5, &[2, 4]).unwrap();
        let plain = preset("default").unwrap().compile(1).unwrap();
        assert_eq!(templates.unigram.len(), plain.unigram.len() + 2 * 7 + 2);
        assert!(templates.has_numbers() && !plain.has_numbers());
    }

    #[test]
    fn names_are_distinct_and_an_unknown_one_lists_them() {
        for (index, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS[..index].iter().all(|other| other.name != preset.name));
        }
        let message = preset("chunk").unwrap_err().to_string();
        assert!(
            message.contains("`chunk`")
                && message.contains(
                    "default, chunking, ner, pos, bio, factorial, seminars, chunking-pairs, settles, mccallum-li"
                ),
            "{message}"
        );
    }
}
