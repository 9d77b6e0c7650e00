//! Atomic file writing: after a crash or on a full disk, no reader ever sees half a file.

use crate::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to the file `path`, either all of them or none. They are written to a temporary file beside it,
/// which then takes its place and its permissions. If `path` is a symbolic link, its target is replaced. If `path`
/// exists and is not a regular file (a device, a pipe), it is written to directly.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically_with(path, |out| out.write_all(bytes))
}

/// The same for bytes that are made while they are written, so that they need not all be in memory. If `write` fails, nothing is changed.
pub fn write_atomically_with<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T> {
    let written = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "this is a directory")),
        Ok(found) if !found.is_file() => write_directly(path, write),
        Ok(found) => {
            fs::canonicalize(path).and_then(|target| replace(&target, write, Some(found.permissions())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            link_target(path).and_then(|target| replace(&target, write, None))
        }
        Err(error) => Err(error),
    };
    written.map_err(|error| Error::io(path.display().to_string(), error))
}

/// Checks that [`write_atomically`] could write there, so that hours of work before it are not in vain, and removes what a killed
/// write has left beside it. The file itself is not touched.
pub fn check_writable(path: &Path) -> Result<()> {
    let checked = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "this is a directory")),
        Ok(found) if !found.is_file() => Ok(()),
        Ok(_) => fs::canonicalize(path).and_then(|target| Temporary::create(&target)).map(drop),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            link_target(path).and_then(|target| Temporary::create(&target)).map(drop)
        }
        Err(error) => Err(error),
    };
    checked.map_err(|error| Error::io(path.display().to_string(), error))
}

fn write_directly<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut device = OpenOptions::new().write(true).open(path)?;
    let outcome = write(&mut device)?;
    device.flush()?;
    Ok(outcome)
}

/// The end of a chain of symbolic links whose final target does not exist yet: the file that writing to `path` would create.
pub fn link_target(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40; // as in Linux
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // A relative link is relative to the link's own directory; an absolute one replaces the whole path.
            Ok(link) => target = directory_of(&target).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Replaces or creates a regular file.
fn replace<T>(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    permissions: Option<fs::Permissions>,
) -> io::Result<T> {
    let mut temporary = Temporary::create(target)?;
    let outcome = write(&mut temporary.file)?;
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, target)?;
    temporary.placed = true;
    // The file is now complete under its name. To survive a power cut, the directory must be on disk too. Not every
    // file system can do that, so a failure here is ignored.
    if cfg!(unix) {
        let _ = File::open(directory_of(target)).and_then(|directory| directory.sync_all());
    }
    Ok(outcome)
}

/// A file beside a target called NAME, under the name `.NAME.0.tmp` or with the next number that is free. It is locked as long as it is
/// being written. So whoever finds such a file and can lock it has found the remains of a process that was killed, and removes them.
struct Temporary {
    path: PathBuf,
    file: File,
    /// Whether it has taken the place of its target.
    placed: bool,
}

impl Temporary {
    fn create(target: &Path) -> io::Result<Self> {
        const MAX_WRITERS: usize = 1000;
        let directory = directory_of(target);
        if !directory.is_dir() {
            let message = format!("there is no directory {}; create it first", directory.display());
            return Err(io::Error::new(ErrorKind::NotFound, message));
        }
        let Some(file_name) = target.file_name() else { return Err(ErrorKind::InvalidInput.into()) };
        let path = |number: usize| {
            let mut name = std::ffi::OsString::from(".");
            name.push(file_name);
            name.push(format!(".{number}.tmp"));
            directory.join(name)
        };
        for number in 0..MAX_WRITERS {
            let own = path(number);
            remove_remains(&own);
            match OpenOptions::new().write(true).create_new(true).open(&own) {
                Ok(file) if claim(&file, &own) => {
                    (number + 1..MAX_WRITERS)
                        .map(path)
                        .take_while(|path| path.exists())
                        .for_each(|path| remove_remains(&path));
                    return Ok(Temporary { path: own, file, placed: false });
                }
                Ok(_) => {} // somebody has taken it for remains, and removes it
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("too many temporary files beside it; remove those whose names end in .tmp"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Once it is placed, the name may be another writer's.
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks a new file. False if somebody has taken it for remains before it was locked.
fn claim(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true, // a file system without locks, where nobody takes it for remains
    }
}

/// Removes what a killed process has left under this name. Whatever it cannot tell from the file of a living one stays.
fn remove_remains(path: &Path) {
    if !cfg!(unix) || !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return;
    }
    if let Ok(file) = OpenOptions::new().write(true).open(path)
        && file.try_lock().is_ok()
        && is_at(&file, path)
    {
        let _ = fs::remove_file(path);
    }
}

/// Whether an open file is the one under this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(named)) => (file.dev(), file.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Elsewhere remains stay, and so no file is ever taken for them.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn creates_and_replaces_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        write_atomically(&path, b"one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_atomically(&path, b"").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(names(directory.path()), ["model"]);
    }

    #[test]
    fn remains_of_a_killed_write_vanish_and_a_living_one_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [".model.0.tmp", ".model.1.tmp", ".other.0.tmp"] {
            fs::write(at(name), "half").unwrap();
        }
        write_atomically(&at("model"), b"one").unwrap();
        assert_eq!(fs::read(at("model")).unwrap(), b"one");
        if cfg!(unix) {
            assert_eq!(names(directory.path()), [".other.0.tmp", "model"]);
        }
        let living = Temporary::create(&at("model")).unwrap();
        write_atomically(&at("model"), b"two").unwrap();
        assert!(living.path.exists(), "its writer is not done");
        drop(living);
        assert_eq!(fs::read(at("model")).unwrap(), b"two");
    }

    #[test]
    fn a_check_removes_remains_and_leaves_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [".model.0.tmp", ".model.1.tmp", "model"] {
            fs::write(at(name), "whole").unwrap();
        }
        check_writable(&at("model")).unwrap();
        check_writable(&at("new")).unwrap();
        if cfg!(unix) {
            assert_eq!(names(directory.path()), ["model"]);
        }
        assert_eq!(fs::read(at("model")).unwrap(), b"whole");
        for (path, said) in [(at("absent/model"), "there is no directory"), (at("."), "this is a directory")]
        {
            let message = check_writable(&path).unwrap_err().to_string();
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn writers_of_one_file_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        std::thread::scope(|scope| {
            for writer in 0..4u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        write_atomically(path, &[writer; 5000]).unwrap();
                        let found = fs::read(path).unwrap();
                        assert!(found.len() == 5000 && found.iter().all(|byte| *byte == found[0]));
                    }
                });
            }
        });
        assert_eq!(names(directory.path()), ["model"]);
    }

    #[test]
    fn a_missing_directory_and_a_directory_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("absent");
        let message = write_atomically(&missing.join("model"), b"x").unwrap_err().to_string();
        let expected = format!("there is no directory {}; create it first", missing.display());
        assert!(message.ends_with(&expected), "{message}");
        let message = write_atomically(directory.path(), b"x").unwrap_err().to_string();
        assert_eq!(message, format!("{}: this is a directory", directory.path().display()));
        assert!(names(directory.path()).is_empty());
    }

    #[cfg(unix)]
    mod unix {
        use super::*;
        use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

        #[test]
        fn links_stay_links() {
            let directory = tempfile::tempdir().unwrap();
            let at = |name: &str| directory.path().join(name);
            fs::create_dir(at("there")).unwrap();
            symlink("there/target", at("second")).unwrap();
            symlink("second", at("first")).unwrap();
            for text in ["into a link to nothing", "over what is there by now"] {
                write_atomically(&at("first"), text.as_bytes()).unwrap();
                assert_eq!(fs::read_to_string(at("there/target")).unwrap(), text);
                assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
                assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
                assert_eq!(names(&at("there")), ["target"]);
            }
            symlink("round", at("round")).unwrap();
            assert!(write_atomically(&at("round"), b"x").is_err(), "a link to itself leads nowhere");
        }

        #[test]
        fn permissions_are_those_of_the_old_file_or_the_usual_ones() {
            let directory = tempfile::tempdir().unwrap();
            let at = |name: &str| directory.path().join(name);
            let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
            fs::write(at("usual"), b"").unwrap();
            write_atomically(&at("new"), b"x").unwrap();
            assert_eq!(mode("new"), mode("usual"));
            fs::set_permissions(at("new"), fs::Permissions::from_mode(0o606)).unwrap();
            let before = fs::metadata(at("new")).unwrap().ino();
            write_atomically(&at("new"), b"y").unwrap();
            assert_eq!(mode("new"), 0o606);
            assert_ne!(fs::metadata(at("new")).unwrap().ino(), before, "it is another file: nobody saw half");
        }

        #[test]
        fn devices_are_written_to_and_left_alone() {
            write_atomically(Path::new("/dev/null"), b"x").unwrap();
            let full = Path::new("/dev/full");
            if full.exists() {
                let error = write_atomically(full, b"x").unwrap_err();
                assert!(matches!(&error, Error::Io { error, .. } if error.kind() == ErrorKind::StorageFull));
                assert!(fs::metadata(full).unwrap().file_type().is_char_device());
            }
            assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        }

        #[test]
        fn a_pipe_gets_the_bytes() {
            use std::io::Read;
            let (mut reader, writer) = io::pipe().unwrap();
            let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
            if !Path::new(&path).exists() {
                return;
            }
            write_atomically(Path::new(&path), b"through").unwrap();
            drop(writer);
            let mut got = String::new();
            reader.read_to_string(&mut got).unwrap();
            assert_eq!(got, "through");
        }
    }
}
