//! Atomic file writing: after a crash or on a full disk, no reader ever sees half a file.

use crate::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to the file `path`, either all of them or none. They are written to a temporary file beside it,
/// which then takes its place and its permissions. If `path` is a symbolic link, its target is replaced. If `path`
/// exists and is not a regular file (a device, a pipe), it is written to directly.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "this is a directory")),
        Ok(found) if !found.is_file() => write_directly(path, bytes),
        Ok(found) => {
            fs::canonicalize(path).and_then(|target| replace(&target, bytes, Some(found.permissions())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            link_target(path).and_then(|target| replace(&target, bytes, None))
        }
        Err(error) => Err(error),
    };
    written.map_err(|error| Error::io(path.display().to_string(), error))
}

fn write_directly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut device = OpenOptions::new().write(true).open(path)?;
    device.write_all(bytes)?;
    device.flush()
}

/// The end of a chain of symbolic links whose final target does not exist yet.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40; // as in Linux
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // A relative link is relative to the link's own directory; an absolute one replaces the whole path.
            Ok(link) => target = directory_of(&target).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links, one after the other"))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Replaces or creates a regular file.
fn replace(target: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let directory = directory_of(target);
    if !directory.is_dir() {
        let message = format!("there is no directory {}; make it first", directory.display());
        return Err(io::Error::new(ErrorKind::NotFound, message));
    }
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    // The permissions of a newly created file; the system subtracts the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = builder.tempfile_in(directory)?;
    temporary.write_all(bytes)?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|error| error.error)?;
    // The file is now complete under its name. To survive a power cut, the directory must be on disk too. Not every
    // file system can do that, so a failure here is ignored.
    if cfg!(unix) {
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    Ok(())
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
    fn a_missing_directory_and_a_directory_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("absent");
        let message = write_atomically(&missing.join("model"), b"x").unwrap_err().to_string();
        let expected = format!("there is no directory {}; make it first", missing.display());
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
