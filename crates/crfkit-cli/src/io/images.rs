//! Images and masks in directories.

use super::classes::{add_labels, add_summary, share_line, write_summary};
use super::{Door, InputPlace, Inputs, Wanted, arrays, note_rough};
use crate::args::Marginals;
use crate::flags::ModelKind;
use crate::pipeline::{Pace, Source};
use anyhow::Result;
use crfkit::data::images::{Mask, MaskFile};
use crfkit::domain::Domain;
use crfkit::files::write_atomically;
use crfkit::graph::Label;
use crfkit::grid::{Decode, GridImage, GridModel, GridTagger};
use crfkit::tag::{Judgement, Tagger};
use crfkit::{Error, Place};
use crfkit_report::{GridSample, Png};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of file names that are read as images.
const ENDINGS: [&str; 9] = ["png", "jpg", "jpeg", "pgm", "ppm", "pbm", "pnm", "npy", "npz"];
/// The largest number of images on a page.
const SHOWN: usize = 12;

/// The files in a directory whose names end like those of images, in no particular order.
pub fn list_images(directory: &Path) -> crfkit::Result<Vec<PathBuf>> {
    let failed = |error| Error::io(directory.display().to_string(), error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if ENDINGS.contains(&ending.as_str()) {
            found.push(path);
        }
    }
    Ok(found)
}

/// The images in a directory by their names without endings, in that order.
fn list(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for path in list_images(directory)? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(other) = found.insert(stem, path.clone()) {
            anyhow::bail!("{} and {} have the same name: rename one", other.display(), path.display());
        }
    }
    match found.is_empty() {
        true => anyhow::bail!("{}: no image in it (PNG, JPEG, PGM, .npy, .npz)", directory.display()),
        false => Ok(found),
    }
}

/// The images in a directory with the masks of the same name in another.
pub fn picture_pairs(images: &Path, masks: &Path) -> Result<Vec<PictureFile>> {
    let mut of = list(masks)?;
    let pair = |(stem, image): (String, PathBuf)| match of.remove(&stem) {
        Some(mask) => Ok(PictureFile { stem, image, mask: Some(mask) }),
        None => {
            let message = format!("there is no mask called {stem} in {}", masks.display());
            Err(Error::input(Place::new(image.display().to_string(), 0), message).into())
        }
    };
    list(images)?.into_iter().map(pair).collect()
}

/// An image file, and its mask if there is one.
#[derive(Clone, Debug, Default)]
pub struct PictureFile {
    /// Its name without directory and ending.
    pub stem: String,
    /// The image.
    pub image: PathBuf,
    /// The mask.
    pub mask: Option<PathBuf>,
}

fn open(path: &Path) -> crfkit::Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| Error::io(path.display().to_string(), error))
}

/// Reads the mask of an image; nothing where there is none.
pub fn read_mask(file: &PictureFile) -> crfkit::Result<MaskFile> {
    let read = |path: &PathBuf| MaskFile::read(open(path)?, &path.display().to_string());
    Ok(file.mask.as_ref().map(read).transpose()?.unwrap_or_default())
}

/// Reads an image, and its mask where there is one.
pub fn read_picture(file: &PictureFile) -> crfkit::Result<GridImage> {
    let name = file.image.display().to_string();
    let MaskFile { mask, sets, weights } = read_mask(file)?;
    Ok(GridImage { mask, sets, weights, ..GridImage::read(open(&file.image)?, &name)? })
}

/// The images of a directory, one after the other; workers read them.
pub struct ImageFiles {
    files: std::vec::IntoIter<PictureFile>,
}

impl Source for ImageFiles {
    type Item = PictureFile;

    fn item(&self) -> PictureFile {
        PictureFile::default()
    }

    fn read(&mut self, file: &mut PictureFile) -> crfkit::Result<bool> {
        match self.files.next() {
            Some(next) => {
                *file = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// An image is as much work as a whole block of text.
    fn tokens(_file: &PictureFile) -> usize {
        1 << 20
    }

    fn pace(&self) -> Pace {
        Pace::Bulk
    }
}

impl Door for GridModel {
    type Source = ImageFiles;
    const NOTHING: &'static str = "no image in it has a pixel with a label to compare with";

    fn kind(&self) -> ModelKind {
        ModelKind::Grid
    }

    /// All observations of images are numbers.
    fn describe_tests(&self, part: &str, observation: &str) -> String {
        format!("{part}: dense {observation}")
    }

    fn open(&self, inputs: &Inputs) -> Result<ImageFiles> {
        let files = match &inputs.place {
            InputPlace::Images { images, masks: Some(masks) } => picture_pairs(images, masks)?,
            InputPlace::Images { images, masks: None } => {
                let file = |(stem, image)| PictureFile { stem, image, mask: None };
                list(images)?.into_iter().map(file).collect()
            }
            InputPlace::File(_) => {
                anyhow::bail!(
                    "a model of images: apply it with --images DIR, and evaluate it with --masks DIR too"
                )
            }
        };
        Ok(ImageFiles { files: files.into_iter() })
    }

    fn input<'a>(&self, file: &'a PictureFile) -> Result<Option<Cow<'a, GridImage>>> {
        Ok(Some(Cow::Owned(read_picture(file)?)))
    }

    /// Writes a label image and, if they are wanted, an image of the probabilities of the chosen labels, or one for each label.
    fn write(
        &self,
        wanted: &Wanted,
        picture: &GridImage,
        labels: &[Label],
        tagger: &mut GridTagger,
        _out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(directory) = &wanted.directory else {
            anyhow::bail!("--images needs --output-dir DIR, the directory for the label images");
        };
        let stem = Path::new(&picture.name).file_stem().unwrap_or_default().to_string_lossy();
        let mask = tagger.mask(labels);
        if wanted.arrays {
            let size = [mask.height, mask.width];
            let bytes = arrays::image(wanted, size, &mask.values, labels, tagger.answers())?;
            write_atomically(&directory.join(format!("{stem}.npz")), &bytes)?;
            if tagger.converged() == Some(false) {
                note_rough(&picture.name);
            }
            return Ok(());
        }
        write_atomically(&directory.join(format!("{stem}.png")), &mask.to_png()?)?;
        if let Some(which) = wanted.marginals {
            let grey = |p: f64| (255.0 * p).round() as u16;
            let write = |values: Vec<u16>, ending: String| -> Result<()> {
                let image = Mask { values, ..mask.clone() };
                Ok(write_atomically(&directory.join(format!("{stem}.p{ending}.png")), &image.to_png()?)?)
            };
            match which {
                Marginals::Chosen => {
                    let rows = tagger.answers().marginals()?.zip(labels);
                    write(rows.map(|(row, &label)| grey(row[label as usize])).collect(), String::new())?;
                }
                Marginals::All => {
                    for (label, value) in self.domain.labels.iter().enumerate() {
                        let rows = tagger.answers().marginals()?;
                        write(rows.map(|row| grey(row[label])).collect(), value.to_string())?;
                    }
                }
            }
            if tagger.converged() == Some(false) {
                note_rough(&picture.name);
            }
        }
        Ok(())
    }

    fn repeat(&self, file: &PictureFile, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(file.image.to_string_lossy().as_bytes());
        out.push(b'\n');
        Ok(())
    }

    fn variable_name(&self, picture: &GridImage, pixel: usize) -> String {
        let width = (picture.sites.nodes.width / self.domain.sites.patch).max(1);
        format!("(row {}, column {})", pixel / width, pixel % width)
    }

    fn text(&self, judgement: &Judgement, images: u64) -> Result<Vec<u8>> {
        let (pixels, wrong) = (judgement.overall().total, judgement.overall().wrong());
        let error = percent(wrong, pixels);
        let mut text = format!("pixel error: {error:.2} %  ({wrong} of {pixels} pixels, {images} images)\n")
            .into_bytes();
        share_line("pixel accuracy:", &judgement.overall(), "pixels", &mut text)?;
        write_summary(judgement, "pixels", "images", &mut text)?;
        text.push(b'\n');
        judgement.sets[0].write_classes("pixels", &mut text)?;
        Ok(text)
    }

    fn json(&self, judgement: &Judgement, images: u64) -> Result<String> {
        let (pixels, wrong) = (judgement.overall().total, judgement.overall().wrong());
        let error = percent(wrong, pixels);
        let mut object = json!({"pixel_error": error, "wrong": wrong, "pixels": pixels, "images": images});
        object["accuracy"] = judgement.overall().percent().into();
        add_summary(judgement, &mut object);
        add_labels(&judgement.sets[0], &mut object);
        Ok(object.to_string())
    }
}

/// A share in per cent; 0 if there is nothing to share.
fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Labels images that have masks, and keeps those with the most mistakes for a page, worst first.
pub fn grid_samples(model: &Arc<GridModel>, inputs: &Inputs) -> Result<Vec<GridSample>> {
    let InputPlace::Images { images, masks: Some(masks) } = &inputs.place else { return Ok(Vec::new()) };
    let files = picture_pairs(images, masks)?;
    let mut tagger = Tagger::new(model.clone());
    let mut all = Vec::new();
    for file in &files {
        let mut judgement = Judgement::new(1);
        let labels = tagger.judge(&read_picture(file)?, Decode::MaxMarginal, &mut judgement)?;
        let share = judgement.overall();
        all.push((share.wrong(), share.total, file, labels));
    }
    all.sort_by(|(a, m, ..), (b, n, ..)| percent(*b, *n).total_cmp(&percent(*a, *m)));
    all.truncate(SHOWN);
    let sample = |(wrong, pixels, file, labels): (u64, u64, &PictureFile, Vec<Label>)| {
        let picture = read_picture(file)?;
        tagger.load(&picture)?;
        let gold = model.domain.truth(&picture)?.labels;
        let value = |name: &Option<Cow<str>>| name.as_ref().and_then(|name| name.parse().ok());
        let label = |name| value(name).and_then(|value| model.domain.label(value));
        let truth: Vec<u16> = gold.iter().map(|name| shade(model, label(name))).collect();
        let found = labels.iter().map(|&label| shade(model, Some(label))).collect();
        let mask = tagger.mask(&labels);
        let grey = |values: Vec<u16>| Mask { values, ..mask }.to_png().map(|png| Some(Png(png)));
        Ok(GridSample {
            name: format!("{}: {wrong} of {pixels} wrong", file.stem),
            input: Some(Png(picture.sites.nodes.to_png()?)),
            truth: grey(truth)?,
            prediction: grey(found)?,
            marginals: grey(sureness(&mut tagger, model.domain.labels.len())?)?,
        })
    };
    all.into_iter().map(sample).collect()
}

/// The shade of a label, from black to white; grey for no label.
fn shade(model: &GridModel, label: Option<Label>) -> u16 {
    let steps = (model.domain.labels.len() - 1).max(1);
    label.map_or(128, |label| (255 * label as usize / steps) as u16)
}

/// The probability of the second of two labels, or of the most probable of more labels, from black to white.
fn sureness(tagger: &mut GridTagger, labels: usize) -> Result<Vec<u16>> {
    let most = |row: &[f64]| match labels {
        2 => row[1],
        _ => row.iter().fold(0.0, |most: f64, &p| most.max(p)),
    };
    Ok(tagger.answers().marginals()?.map(|row| (255.0 * most(row)).round() as u16).collect())
}
