//! The builder that trains models.

use super::Model;
use super::reading::Labelling;
use super::told::{OnFailure, OnProgress, Saved, Told, TrainingProgress, TrainingRun};
use crate::any::AnyModel;
use crate::checkpoint::{CheckpointFile, fingerprint};
use crate::data::presets::{number_lines, preset};
use crate::data::template::{Dialect, Templates};
use crate::domain::chain::{ChainDomain, Sequence};
use crate::domain::{Corpus, Dev, Domain};
use crate::files::check_writable;
use crate::loss::Pieces;
use crate::model::{Features, Keep, Precision};
use crate::settings::{Criterion, Init, Kind, Method, Settings};
use crate::train::{StopReason, TrainOptions, Trained, TrainingObjective, train};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Trains models of chains. Every method has a default that works; see [`Settings`] for the full list.
///
/// ```
/// use crfkit::chain::Sequence;
/// use crfkit::{Sequences, Trainer};
///
/// let sequences = [
///     Sequence::from_rows([["2", "B-QTY"], ["cups", "B-UNIT"], ["flour", "B-NAME"]])?,
///     Sequence::from_rows([["1", "B-QTY"], ["red", "B-NAME"], ["onion", "I-NAME"]])?,
/// ];
/// let model = Trainer::new().sigma(2.0).train(Sequences::new(sequences))?;
/// assert_eq!(model.labels(), ["B-NAME", "B-QTY", "B-UNIT", "I-NAME"]);
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Default)]
pub struct Trainer<'a> {
    pub(super) settings: Settings,
    pub(super) templates: Option<TemplateText>,
    /// The columns of numbers, ascending.
    pub(super) dense: Vec<usize>,
    pub(super) standardise: bool,
    pub(super) labelling: Labelling,
    dev: Option<Vec<Sequence>>,
    pub(super) start: Option<Model>,
    /// Whether the labels and observations of `start` are kept.
    pub(super) going_on: bool,
    pub(super) threads: usize,
    progress: Option<OnProgress<'a>>,
    stop: Option<Arc<AtomicBool>>,
    checkpoint: Option<(PathBuf, OnFailure<'a>)>,
}

/// How observations are made of columns.
pub(super) enum TemplateText {
    Preset(String),
    Text { text: String, dialect: Dialect },
}

impl<'a> Trainer<'a> {
    /// A trainer with all defaults: it maximises the likelihood with σ = 1, by the method that suits the data.
    pub fn new() -> Self {
        Trainer::default()
    }

    /// Uses a ready-made set of templates: `default`, `chunking`, `ner`, `pos`, `bio`, ... Works only with columns.
    pub fn preset(mut self, name: &str) -> Self {
        self.templates = Some(TemplateText::Preset(name.into()));
        self
    }

    /// Uses your own templates, in the syntax of CRF++ or Wapiti. Works only with columns. Lists and maps that they name are read,
    /// relative to the current directory, and become part of the model.
    pub fn template(mut self, text: &str, dialect: Dialect) -> Self {
        self.templates = Some(TemplateText::Text { text: text.into(), dialect });
        self
    }

    /// Takes the numbers in these columns, counted from 0, as features: the vector of a word, or measurements. A preset then does not
    /// read these columns as text.
    pub fn dense_columns(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.dense = columns.into_iter().collect();
        self.dense.sort_unstable();
        self.dense.dedup();
        self
    }

    /// Standardises the numbers of columns and vectors: each has mean 0 and standard deviation 1 in the training data. The model treats new
    /// data in the same way.
    pub fn standardise(mut self) -> Self {
        self.standardise = true;
        self
    }

    /// Sets the standard deviation of the Gaussian prior; infinity means no prior.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.settings.sigma = sigma;
        self
    }

    /// Sets the weight of the L1 penalty.
    pub fn l1(mut self, l1: f64) -> Self {
        self.settings.l1 = l1;
        self
    }

    /// Lets training choose σ: the one with the best score on the development set, or on a tenth of the training data if there is none.
    /// It takes up to four times as long.
    pub fn choose_sigma(mut self) -> Self {
        self.settings.choose.sigma = true;
        self
    }

    /// Lets training choose the weight of the L1 penalty, in the same way as [`Trainer::choose_sigma`].
    pub fn choose_l1(mut self) -> Self {
        self.settings.choose.l1 = true;
        self
    }

    /// Ignores observations that occur fewer than `count` times.
    pub fn min_count(mut self, count: u32) -> Self {
        self.settings.min_count = count;
        self
    }

    /// Chooses which (observation, label) pairs get a weight.
    pub fn features(mut self, keep: Keep) -> Self {
        self.settings.features = keep;
        self
    }

    /// Gives weights to whole segments of up to `longest` tokens (semi-Markov chains). The labels are those of chunks, in IOB2 or IOBES; template
    /// lines that begin with `S` observe segments.
    pub fn segments(mut self, longest: usize) -> Self {
        self.settings.segments = Some(longest);
        self
    }

    /// Chooses the order of the chains: 2 for weights of three neighbouring labels. Only label pairs that occur in the training data are
    /// then possible, unless [`Settings::transitions`] is [`Keep::All`].
    pub fn order(mut self, order: u8) -> Self {
        self.settings.order = order;
        self
    }

    /// Chooses the objective to minimise.
    pub fn objective(mut self, objective: Criterion) -> Self {
        self.settings.objective = objective;
        self
    }

    /// Chooses the pieces of the piecewise objectives.
    pub fn pieces(mut self, pieces: Pieces) -> Self {
        self.settings.pieces = Some(pieces);
        self
    }

    /// Chooses the method that minimises the objective.
    pub fn optimizer(mut self, method: Method) -> Self {
        self.settings.optimizer = method;
        self
    }

    /// Limits the number of passes over the training set.
    pub fn passes(mut self, passes: usize) -> Self {
        self.settings.passes = Some(passes);
        self
    }

    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Chooses the number format of the weights in the model file.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.settings.precision = precision;
        self
    }

    /// Changes any other setting.
    pub fn configure(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Sets the number of threads; 0, the default, means all cores. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Adds a development set. The model is evaluated on it after each pass, and the best weights are kept.
    pub fn dev(mut self, sequences: impl IntoIterator<Item = Result<Sequence>>) -> Result<Self> {
        self.dev = Some(sequences.into_iter().collect::<Result<_>>()?);
        Ok(self)
    }

    /// Starts from the weights of another model of the same kind.
    pub fn start_from(mut self, model: &Model) -> Self {
        self.start = Some(model.clone());
        self
    }

    /// Continues training a model of chains with more data. Its labels and observations are kept, and new ones are added. Training starts
    /// from its weights, which are also the mean of the prior, so that weights that the new data does not touch keep their values. The
    /// templates are those of the model; giving others is an error.
    ///
    /// ```
    /// use crfkit::Trainer;
    /// use crfkit::chain::Sequence;
    /// let of = |word: &str, label: &str| Sequence::from_features([(label, [(word, 1.0)])]);
    /// let first = Trainer::new().train([of("Ada", "NAME"), of("sings", "VERB")])?;
    /// let both = Trainer::new().continue_from(&first).train([of("the", "DET")])?;
    /// assert_eq!(both.labels(), ["DET", "NAME", "VERB"]);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn continue_from(mut self, model: &Model) -> Self {
        (self.start, self.going_on) = (Some(model.clone()), true);
        self
    }

    /// Calls `progress` at every step. If it returns false, training stops early with the weights found so far.
    pub fn on_progress(mut self, progress: impl FnMut(&TrainingProgress) -> bool + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Stops training when another thread sets this flag, also in the middle of a pass over the training set. The model has the
    /// weights found so far.
    pub fn stop_when(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Keeps the state of the run in a file, every ten seconds and when the run is stopped, and resumes from that file if it is there: the
    /// model is then the one that a run without interruption would have found. A run that ends by itself removes the file. A file
    /// of another run, with other data or settings, is an error. If the file cannot be written, training continues without it, and
    /// `failed` gets the first error.
    ///
    /// ```
    /// # use crfkit::Trainer;
    /// # use crfkit::chain::Sequence;
    /// # let file = std::env::temp_dir().join(format!("crfkit-{}.checkpoint", std::process::id()));
    /// # let data = || [Sequence::from_rows([["Ada", "NAME"], ["sings", "VERB"]])];
    /// let model = Trainer::new().checkpoint(&file, |error| eprintln!("{error}")).train(data())?;
    /// assert!(!file.exists());
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn checkpoint(mut self, file: impl Into<PathBuf>, failed: impl FnMut(&Error) + 'a) -> Self {
        self.checkpoint = Some((file.into(), Box::new(failed)));
        self
    }

    /// The templates of this trainer, for rows with this number of fields, not counting labels; for the builders of other kinds of model.
    pub fn templates(&self, fields: usize) -> Result<Templates> {
        match &self.templates {
            None => preset("default")?.compile_with(fields, &self.dense),
            Some(TemplateText::Preset(name)) => preset(name)?.compile_with(fields, &self.dense),
            Some(TemplateText::Text { text, dialect }) => {
                let text = format!("{text}\n{}", number_lines(&self.dense));
                Templates::compile_in(text.trim_end_matches('\n'), *dialect, "template", Path::new(""))
            }
        }
    }

    /// The objective that [`Trainer::train`] would minimise on these sequences, for your own optimiser.
    pub fn training_objective(
        self,
        sequences: impl IntoIterator<Item = Result<Sequence>>,
    ) -> Result<TrainingObjective<ChainDomain>> {
        self.settings.check(Kind::Chain)?;
        TrainingObjective::new(self.read(sequences)?, &self.settings, self.threads)
    }

    /// Trains a model on sequences.
    pub fn train(self, sequences: impl IntoIterator<Item = Result<Sequence>>) -> Result<Model> {
        self.run(sequences).map(|run| run.model)
    }

    /// Trains a model on sequences, and reports how the training went.
    ///
    /// ```
    /// # use crfkit::Trainer;
    /// # use crfkit::chain::Sequence;
    /// # let data = || [Sequence::from_rows([["Ada", "NAME"], ["sings", "VERB"]])];
    /// let trainer = Trainer::new().on_progress(|at| {
    ///     println!("{:?}: {} passes", at.phase, at.passes);
    ///     at.passes < 50.0 // false stops the training
    /// });
    /// let run = trainer.run(data())?;
    /// println!("{:?} after {} passes, objective {}", run.stop, run.passes, run.objective);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn run(self, sequences: impl IntoIterator<Item = Result<Sequence>>) -> Result<TrainingRun> {
        self.settings.check(Kind::Chain)?; // before anything is read
        let corpus = self.read(sequences)?;
        let dev = self.dev.as_ref().map(|dev| self.labelling.dev(&corpus.domain, dev)).transpose()?;
        let Trained { model, stop, passes, objective, .. } = match self.known()? {
            None => self.fit(corpus, dev)?,
            Some(known) => self.continued(corpus, dev, &known)?,
        };
        Ok(TrainingRun { model: AnyModel::from(model).into(), stop, passes, objective })
    }

    /// Trains on a corpus of any kind that a builder has made, with the settings of this trainer.
    ///
    /// Kinds of model other than chains have other defaults: begin with [`Trainer::for_kind`]. A preset, a template or [`Trainer::dev`] is rejected
    /// with an error, because the corpus is already read.
    ///
    /// ```
    /// use crfkit::data::images::{Image, Mask};
    /// use crfkit::grid::{Decode, GridBuilder, GridDomain, GridImage, GridTagger, SiteFeatures};
    /// use crfkit::{Trainer, settings::Kind};
    ///
    /// let pixels = Image { height: 2, width: 2, channels: 1, values: vec![0.9, 0.8, 0.1, 0.3] };
    /// let mask = Mask { height: 2, width: 2, values: vec![1, 1, 0, 0] };
    /// let image = GridImage { mask: Some(mask), ..GridImage::new(pixels.into(), "image") };
    /// let domain = GridDomain::new(vec![0, 1], SiteFeatures::default(), &image.sites, &image.name)?;
    /// let mut builder = GridBuilder::new(domain)?;
    /// builder.add_image(&image)?;
    /// let model = Trainer::for_kind(Kind::Grid).train_corpus(builder.finish()?, None)?.model;
    /// let mut tagger = GridTagger::new(model.into());
    /// tagger.load(&image)?;
    /// let labels = tagger.labels(Decode::MaxMarginal)?.to_vec();
    /// assert_eq!(tagger.mask(&labels).values, [1, 1, 0, 0]);
    /// # Ok::<(), crfkit::Error>(())
    /// ```
    pub fn train_corpus<D: Domain>(self, corpus: Corpus<D>, dev: Option<Dev<D>>) -> Result<Trained<D>> {
        if self.going_on || !self.labelling.is_plain() {
            return Err(Error::Setting(
                "`continue_from`, and settings about labels, work with `train` only: for `train_corpus`, give them to the builder of the corpus".into(),
            ));
        }
        if self.templates.is_some() || self.dev.is_some() {
            return Err(Error::Setting(
                "templates and `dev` work with `train` only: a corpus has its features already, and its development set is the second \
                 argument of `train_corpus`"
                    .into(),
            ));
        }
        self.fit(corpus, dev)
    }

    /// A trainer with the defaults for this kind of model.
    pub fn for_kind(kind: Kind) -> Self {
        Trainer { settings: Settings::for_kind(kind), ..Trainer::default() }
    }

    fn fit<D: Domain>(mut self, corpus: Corpus<D>, dev: Option<Dev<D>>) -> Result<Trained<D>> {
        let features = corpus.features(&self.settings);
        let theta = match &self.start {
            None => Vec::new(),
            Some(model) => {
                self.settings.init = Init::Model;
                let other = || Error::Setting("training can only start from a model of the same kind".into());
                model.any().weighted::<D>().ok_or_else(other)?.weights_for(&corpus, &features)?
            }
        };
        let start = TrainOptions { theta, dev, threads: self.threads, ..TrainOptions::default() };
        self.fit_from(corpus, features, start)
    }

    /// Trains from a start.
    pub(super) fn fit_from<D: Domain>(
        self,
        corpus: Corpus<D>,
        features: Features,
        mut start: TrainOptions<D>,
    ) -> Result<Trained<D>> {
        let saved = match self.checkpoint {
            None => None,
            Some((path, failed)) => {
                check_writable(&path)?;
                let file = CheckpointFile::new(&path, fingerprint(&corpus, &self.settings, &start))?;
                start.resume = file.read()?;
                Some(Saved { file, failed })
            }
        };
        let mut listener = Told::new(self.progress, self.stop, features.dim()).saved(saved);
        let mut trained = train(corpus, features, &self.settings, start, &mut listener)?;
        if trained.stop != StopReason::Listener {
            listener.finish();
        }
        if let Some(threshold) = self.settings.shrink {
            trained.model = trained.model.shrink(threshold);
        }
        Ok(trained)
    }
}

impl std::fmt::Debug for Trainer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
