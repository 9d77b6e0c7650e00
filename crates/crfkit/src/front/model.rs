//! A trained model of any kind: save, open, apply and evaluate it.

use super::{SequenceTagger, Sequences};
use crate::any::{AnyModel, Ensemble};
use crate::data::rows::RowFormat;
use crate::domain::StoredKind;
use crate::eval::{Evaluation, Scores};
use crate::files::write_atomically;
use crate::foreign::crfsuite;
use crate::tag::{Judgement, Labeller, Tagger};
use crate::{Error, Result};
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A trained model of any kind. It never changes, cloning it is cheap, and threads may share it.
///
/// ```
/// use crfkit::chain::Sequence;
/// use crfkit::{Model, Trainer};
///
/// let model = Trainer::new().train([Sequence::from_rows([["Ada", "NAME"], ["sings", "VERB"]])])?;
/// let model = Model::from_bytes(&model.to_bytes()?)?; // or `save` and `open`, for a file
/// assert_eq!(model.labels(), ["NAME", "VERB"]);
/// assert_eq!(model.tagger()?.tag([["Ada"], ["sings"]])?[0].label, "NAME");
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model(AnyModel);

impl From<AnyModel> for Model {
    fn from(model: AnyModel) -> Self {
        Model(model)
    }
}

impl Model {
    /// Opens a model file, of crfkit or of [another toolkit](crate::foreign). The whole file is checked, to the last byte.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let bytes = File::open(path.as_ref()).and_then(|file| crate::model::open(&file));
        let bytes = bytes.map_err(|error| Error::io(&*name, error))?;
        AnyModel::from_memory(&bytes).map(Model).map_err(|error| match error {
            Error::File { message, .. } => Error::File { name, message },
            other => other,
        })
    }

    /// Writes the model to a file. The file is written whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomically(path.as_ref(), &self.to_bytes()?)
    }

    /// The model file as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.0.to_bytes()
    }

    /// The model as a file of CRFsuite, for programs that read such files. A model that such a file cannot hold is an error, which
    /// says why.
    pub fn to_crfsuite(&self) -> Result<Vec<u8>> {
        match &self.0 {
            AnyModel::Chain(model) => crfsuite::write(model, None),
            other => Err(Error::Setting(format!(
                "this is a model of the kind {}, which a file of CRFsuite cannot hold: only chains with weights fit",
                other.kind().name()
            ))),
        }
    }

    /// Reads a model from the bytes of its file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        AnyModel::from_bytes(bytes).map(Model)
    }

    /// The kind of model.
    pub fn kind(&self) -> StoredKind {
        self.0.kind()
    }

    /// The underlying model, with everything that its kind can do.
    pub fn any(&self) -> &AnyModel {
        &self.0
    }

    /// Names of the labels. A model with several sets of labels (label columns, types of nodes) lists one set after the
    /// other.
    pub fn labels(&self) -> Vec<String> {
        self.0.label_sets().iter().flat_map(|set| set.labels.iter().cloned()).collect()
    }

    /// A worker that labels sequences. Make one per thread; all of them share this model.
    pub fn tagger(&self) -> Result<SequenceTagger> {
        Ok(SequenceTagger::new(Tagger::new(Arc::new(self.chains()?))))
    }

    /// The sequences of a file of [CoNLL-U](crate::data::conllu), with the fields that the model was trained on.
    pub fn conllu(&self, path: impl AsRef<Path>) -> Result<Sequences> {
        Sequences::open(path.as_ref(), &RowFormat::Conllu(self.0.fields().unwrap_or_default()))
    }

    /// Labels the sequences and compares the result with the labels they came with.
    ///
    /// ```
    /// # use crfkit::{Sequences, Trainer};
    /// let data = || Sequences::read_columns("Ada B-PER\nsings O\n".as_bytes(), "text");
    /// let report = Trainer::new().train(data()?)?.evaluate(data()?)?;
    /// assert_eq!(report.scores().f1, 100.0);
    /// println!("{report}");
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn evaluate(&self, sequences: Sequences) -> Result<EvaluationReport> {
        evaluate(Tagger::new(Arc::new(self.chains()?)), sequences)
    }

    /// The same for sequences with partial labels: tokens whose label is `?`, or one of several (`A|B`), are not compared.
    pub fn evaluate_partial(&self, sequences: Sequences) -> Result<EvaluationReport> {
        evaluate(Tagger::new(Arc::new(self.chains()?)).with_partial_labels(), sequences)
    }

    /// The model, if it is a model of plain chains; otherwise an error.
    fn chains(&self) -> Result<Ensemble> {
        let member = self.0.member().ok_or_else(|| {
            Error::Setting(format!(
                "this is a model of the kind {}, which does not label plain sequences: match on Model::any() and use a Tagger of its kind",
                self.kind().name()
            ))
        })?;
        Ok(Ensemble::from(member))
    }
}

/// The scores of a worker on sequences.
fn evaluate(mut tagger: Tagger<Ensemble>, sequences: Sequences) -> Result<EvaluationReport> {
    let mut judgement = Judgement::new(1);
    for sequence in sequences {
        tagger.judge(&sequence?, tagger.model().decode(), &mut judgement)?;
    }
    match judgement.is_empty() {
        true => Err(Error::Setting(
            "there is no label to compare with: evaluate the model on labelled sequences".into(),
        )),
        false => Ok(EvaluationReport { evaluation: judgement.sets.swap_remove(0) }),
    }
}

/// The scores of a model on labelled sequences. Printing it gives conlleval's block, the accuracies and the confusion
/// table.
#[derive(Clone, Debug)]
pub struct EvaluationReport {
    evaluation: Evaluation,
}

impl EvaluationReport {
    /// Precision, recall, F1 and accuracies, in per cent.
    pub fn scores(&self) -> Scores {
        self.evaluation.scores()
    }

    /// All the counts behind the scores.
    pub fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }
}

impl fmt::Display for EvaluationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.evaluation.write_text(&mut text).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
    }
}
