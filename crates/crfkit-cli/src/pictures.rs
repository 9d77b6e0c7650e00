//! Directories of pictures and masks.

use anyhow::Result;
use crfkit::data::images::Mask;
use crfkit::data::sites::Sites;
use crfkit::grid::GridModel;
use crfkit::{Error, Place};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Endings of the names of pictures.
const ENDINGS: [&str; 9] = ["png", "jpg", "jpeg", "pgm", "ppm", "pbm", "pnm", "npy", "npz"];

/// The pictures in a directory by their names without endings, in that order.
pub fn list(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let failed = |error| Error::io(directory.display().to_string(), error);
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if !ENDINGS.contains(&ending.as_str()) {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(other) = found.insert(stem, path.clone()) {
            anyhow::bail!("{} and {} have the same name: rename one", other.display(), path.display());
        }
    }
    match found.is_empty() {
        true => anyhow::bail!("{}: no picture in it (PNG, JPEG, PGM, .npy, .npz)", directory.display()),
        false => Ok(found),
    }
}

/// The pictures in a directory with the masks of the same name in another.
pub fn pairs(images: &Path, masks: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut of = list(masks)?;
    let pair = |(stem, image): (String, PathBuf)| match of.remove(&stem) {
        Some(mask) => Ok((image, mask)),
        None => {
            let message = format!("there is no mask called {stem} in {}", masks.display());
            Err(Error::input(Place::new(image.display().to_string(), 0), message).into())
        }
    };
    list(images)?.into_iter().map(pair).collect()
}

fn open(path: &Path) -> crfkit::Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| Error::io(path.display().to_string(), error))
}

/// A picture.
pub fn read_picture(path: &Path) -> crfkit::Result<Sites> {
    Sites::read(open(path)?, &path.display().to_string())
}

/// A mask.
pub fn read_mask(path: &Path) -> crfkit::Result<Mask> {
    Mask::read(open(path)?, &path.display().to_string())
}

/// The model of pictures in a file.
pub fn read_model(path: &Path) -> Result<GridModel> {
    use anyhow::Context;
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| Error::io(&name, error))?;
    GridModel::from_bytes(&bytes).context(name)
}
