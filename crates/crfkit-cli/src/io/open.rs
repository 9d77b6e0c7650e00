//! Opening files of text and models.

use super::Reading;
use crate::pipeline::Pace;
use anyhow::Result;
use crfkit::Error;
use crfkit::any::AnyModel;
use crfkit::data::text::{Lines, decompress};
use crfkit::model;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this is standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an input in messages.
pub fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens the model in a file, or from standard input for `-`.
pub fn open_model(path: &Path) -> Result<AnyModel> {
    let bytes = open_file(path).and_then(|file| model::open(&file));
    let bytes = bytes.map_err(|error| Error::io(name(path), error))?;
    AnyModel::from_memory(&bytes).map_err(|error| match error {
        Error::File { message, .. } => Error::File { name: name(path), message }.into(),
        error => anyhow::Error::new(error).context(name(path)),
    })
}

/// Reads a text file that has no format of its own here, such as a template.
pub fn read_text(path: &Path) -> crfkit::Result<String> {
    let mut text = String::new();
    open_text(path)?.read_to_string(&mut text).map_err(|error| Error::io(name(path), error))?;
    Ok(text)
}

/// Opens such a file, or standard input for `-`.
pub fn open_text(path: &Path) -> crfkit::Result<impl Read> {
    open_file(path).map(Text).map_err(|error| Error::io(name(path), error))
}

/// A text, read as it is. The first NUL byte is an error, so that a device or a binary file is not read to its end in search of a line's.
struct Text<R>(R);

impl<R: Read> Read for Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(buffer)?;
        match buffer[..read].contains(&0) {
            true => {
                Err(std::io::Error::new(ErrorKind::InvalidData, "a NUL byte in it: plain text is needed"))
            }
            false => Ok(read),
        }
    }
}

/// A text input that may come bit by bit.
pub struct Feed {
    pace: Pace,
    #[cfg(unix)]
    handle: Option<std::os::fd::OwnedFd>,
}

impl Feed {
    /// Opens a file, or standard input for `-`, to read it line by line; compressed data is decompressed.
    pub fn open(path: &Path, reading: &Reading) -> crfkit::Result<(Lines<Box<dyn Read + Send>>, Self)> {
        let failed = |error| Error::io(name(path), error);
        let raw = open_file(path).map_err(failed)?;
        // Whatever does not say that it is a file may be slow: a pipe, a socket, a terminal.
        let pace = match raw.metadata() {
            _ if reading.line_buffered => Pace::Each,
            Ok(found) if found.is_file() => Pace::Bulk,
            _ => Pace::Live,
        };
        #[cfg(unix)]
        let handle =
            (pace == Pace::Live).then(|| raw.try_clone().map(Into::into)).transpose().map_err(failed)?;
        let lines = Lines::new(decompress(Box::new(raw)).map_err(failed)?, &name(path), reading.encoding);
        Ok((
            lines,
            Feed {
                pace,
                #[cfg(unix)]
                handle,
            },
        ))
    }

    /// How the input comes.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Whether input is at hand, so that reading does not have to wait.
    #[cfg(unix)]
    pub fn at_hand(&self) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let Some(handle) = &self.handle else { return false };
        let mut asked = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
        poll(&mut asked, PollTimeout::ZERO).is_ok_and(|found| found > 0)
    }

    /// Elsewhere nobody can tell: whatever has been read is answered before more is read.
    #[cfg(not(unix))]
    pub fn at_hand(&self) -> bool {
        false
    }
}

/// Opens a file, or standard input for `-`. Standard input can be opened once: a second reader would find nothing, or a part.
fn open_file(path: &Path) -> std::io::Result<File> {
    static GIVEN: AtomicBool = AtomicBool::new(false);
    match is_stdin(path) {
        false => File::open(path),
        true if GIVEN.swap(true, Ordering::Relaxed) => {
            Err(std::io::Error::other("it is given twice, but can be read only once: give a file"))
        }
        true => standard_input(),
    }
}

/// Standard input, without the buffer that would hide from `at_hand` what it holds.
#[cfg(unix)]
fn standard_input() -> std::io::Result<File> {
    use std::os::fd::AsFd;
    Ok(std::io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Standard input, without the buffer that would hide what it holds.
#[cfg(windows)]
fn standard_input() -> std::io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(std::io::stdin().as_handle().try_clone_to_owned()?.into())
}
