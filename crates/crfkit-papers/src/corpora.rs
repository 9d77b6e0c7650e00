//! The corpora that the papers use. None of them is part of this repository: the user names a directory that contains
//! them.

use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::text::{Encoding, Lines, decompress};
use crfkit::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// A data set that the user has to provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// The name of the data set.
    pub name: &'static str,
    /// Its files, relative to the directory of the corpora.
    pub files: &'static [&'static str],
    /// The format of the files.
    pub format: &'static str,
}

/// CoNLL-2000: text chunking.
pub const CONLL2000: DataSet = DataSet {
    name: "CoNLL-2000 shared task (chunking)",
    files: &["conll2000/train.txt", "conll2000/test.txt"],
    format: "word, part of speech and chunk label (IOB2), separated by spaces; an empty line after each sentence",
};
/// BioNLP/NLPBA-2004: genes, proteins, cells.
pub const BIONLP2004: DataSet = DataSet {
    name: "BioNLP/NLPBA-2004 shared task (GENIA)",
    files: &["bionlp2004/Genia4ERtask1.iob2", "bionlp2004/Genia4EReval1.iob2"],
    format: "word, tab, label (IOB2); an empty line after each sentence",
};
/// BioCreative II: gene mentions.
pub const BC2GM: DataSet = DataSet {
    name: "BioCreative II gene mention",
    files: &[
        "bc2gm/train.tsv",
        "bc2gm/devel.tsv",
        "bc2gm/test.tsv",
        "bc2gm/test.ids",
        "bc2gm/original/test.GENE.eval",
        "bc2gm/original/test.ALTGENE.eval",
    ],
    format: "tsv: word, tab, label (O, B-GENE, I-GENE), an empty line after each sentence; ids: sentence id of each; eval: \
             `id|start end|text`, offsets without spaces",
};
/// The Brown corpus: parts of speech.
pub const BROWN: DataSet = DataSet {
    name: "Brown corpus",
    files: &["brown/brown.tsv.gz"],
    format: "word, tab, tag; an empty line after each sentence; gzip",
};
/// CoNLL-2002: Dutch names.
pub const CONLL2002: DataSet = DataSet {
    name: "CoNLL-2002 shared task, Dutch",
    files: &["conll2002/ned.train", "conll2002/ned.testa", "conll2002/ned.testb"],
    format: "word, part of speech and label (IOB2), separated by spaces; an empty line after each sentence; UTF-8",
};
/// CoNLL-2003: English names.
pub const CONLL2003: DataSet = DataSet {
    name: "CoNLL-2003 shared task, English",
    files: &["conll2003/eng.train", "conll2003/eng.testa"],
    format: "word, part of speech, chunk and label (IOB1), separated by spaces; an empty line after each sentence",
};
/// The Wall Street Journal: parts of speech.
pub const WSJ: DataSet = DataSet {
    name: "public sample of the Penn Treebank's Wall Street Journal",
    files: &["wsj_sample/wsj_sample.tsv"],
    format: "word, tab, tag; an empty line after each sentence",
};
/// Seminar announcements.
pub const SEMINARS: DataSet = DataSet {
    name: "CMU seminar announcements",
    files: &["seminars/seminars.tsv"],
    format: "token, tab, line number in the e-mail, tab, label (IOB2); an empty line after each e-mail",
};
/// Kumar and Hebert's noisy images.
pub const DENOISE: DataSet = DataSet {
    name: "Kumar and Hebert's noisy images",
    files: &["grids/kh_denoise64/label.txt", "grids/kh_denoise64/noisy.txt"],
    format: "labels: 64 rows of 64 characters, 0, 1 or ? where it is not known; images: `# number`, then 64 rows of 64 numbers",
};
/// Kumar and Hebert's photographs with man-made structure.
pub const MANMADE: DataSet = DataSet {
    name: "Kumar and Hebert's man-made structure",
    files: &["grids/kh_manmade/labels.txt", "grids/kh_manmade/images/000.jpg"],
    format: "labels: `# number train|test`, then 16 rows of 24 digits, 0 for none; images: one photograph of 384 × 256 pixels for \
             each number",
};

/// Where the corpora are.
#[derive(Clone, Debug, Default)]
pub struct Corpora {
    /// The directory; `None` if the user has not named one.
    pub directory: Option<PathBuf>,
}

impl Corpora {
    /// Whether all files of a data set are present.
    pub fn has(&self, set: &DataSet) -> bool {
        self.missing(set).is_none()
    }

    /// The first file that is missing.
    fn missing(&self, set: &DataSet) -> Option<&'static str> {
        let there =
            |file: &&&str| self.directory.as_ref().is_some_and(|directory| directory.join(file).is_file());
        set.files.iter().find(|file| !there(file)).copied()
    }

    /// Returns an error that says what is needed if a data set is missing.
    pub fn require(&self, set: &DataSet) -> Result<()> {
        let Some(file) = self.missing(set) else { return Ok(()) };
        let place = match &self.directory {
            None => "no directory of corpora is named".to_owned(),
            Some(directory) => format!("{} is not in {}", file, directory.display()),
        };
        Err(Error::Setting(format!(
            "needs the data set `{}`, but {place}; name the directory by --data or CRFKIT_DATA; files: {}; format: {}",
            set.name,
            set.files.join(", "),
            set.format
        )))
    }

    /// Opens a file for reading.
    pub fn open(&self, file: &str) -> Result<File> {
        let path = self.directory.clone().unwrap_or_default().join(file);
        File::open(&path).map_err(|error| Error::io(path.display().to_string(), error))
    }

    /// The text of a file, decompressed if necessary.
    pub fn text(&self, file: &str) -> Result<String> {
        let mut text = String::new();
        decompress(Box::new(self.open(file)?))
            .and_then(|mut reader| reader.read_to_string(&mut text))
            .map_err(|error| Error::io(file, error))?;
        Ok(text)
    }

    /// The sentences of a file.
    pub fn sentences(&self, file: &str) -> Result<Vec<Columns>> {
        sentences(&self.text(file)?, file)
    }
}

/// The sequences of a text in columns.
pub fn sentences(text: &str, name: &str) -> Result<Vec<Columns>> {
    let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), name, Encoding::Utf8));
    let (mut all, mut sequence) = (Vec::new(), Columns::default());
    while reader.read(&mut sequence)? {
        all.push(sequence.clone());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_data_set_is_named_with_its_format() {
        let message = Corpora::default().require(&CONLL2000).unwrap_err().to_string();
        assert!(message.contains("CoNLL-2000") && message.contains("conll2000/train.txt"), "{message}");
        assert!(message.contains("CRFKIT_DATA") && message.contains("part of speech"), "{message}");
    }

    #[test]
    fn sentences_are_read_with_their_columns() {
        let all = sentences("a X 0\nb Y 1\n\nc Z 0\n", "text").unwrap();
        assert_eq!((all.len(), all[0].len(), all[1].field(0, 0)), (2, 2, "c"));
    }
}
