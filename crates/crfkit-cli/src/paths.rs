//! Paths that name the same file. A run never writes over one of its inputs, nor two of its outputs into one file, whatever they are
//! called: the same path, another spelling of it, a symbolic or a hard link.

use crate::args::TrainArgs;
use crate::error::usage;
use crate::io::{is_stdin, list_images, name};
use anyhow::Result;
use crfkit::files::link_target;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A path, and what it is for: the name of its flag, or a few words.
pub type Named<'a> = (&'a str, &'a Path);

/// What makes two paths the same file.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Device and number of a file or directory that exists.
    #[cfg(unix)]
    Node(u64, u64),
    /// The real path: of a file that does not exist yet, or of any file where files have no numbers.
    Path(PathBuf),
}

/// The identity of a file, a directory, or a file that can be created. Devices, pipes and paths that lead nowhere have none: writing to
/// them destroys nothing.
fn identity(path: &Path) -> Option<Identity> {
    let path = if is_stdin(path) { Path::new("/dev/stdin") } else { path };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => None,
        #[cfg(unix)]
        Ok(found) => {
            use std::os::unix::fs::MetadataExt;
            Some(Identity::Node(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        Ok(_) => fs::canonicalize(path).ok().map(Identity::Path),
        Err(_) => {
            let target = link_target(path).ok()?;
            let directory = match target.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            Some(Identity::Path(fs::canonicalize(directory).ok()?.join(target.file_name()?)))
        }
    }
}

/// The files that a training run writes.
pub fn outputs(args: &TrainArgs) -> Vec<Named<'_>> {
    let more = [("--checkpoint", &args.checkpoint), ("--log", &args.log), ("--report", &args.report)];
    let more = more.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
    std::iter::once(("-m", &*args.model)).chain(more).collect()
}

/// Rejects two outputs into one file, and outputs that can be no files.
pub fn check_apart(outputs: &[Named]) -> Result<()> {
    let mut seen = HashMap::new();
    for &(flag, path) in outputs {
        // It would be found out only when the work is done: a file cannot have this name.
        if path.to_string_lossy().ends_with(std::path::is_separator) {
            return Err(usage(format!(
                "{flag} {}: this names a directory: give the name of a file",
                path.display()
            )));
        }
        if let Some(other) = identity(path).and_then(|identity| seen.insert(identity, flag)) {
            return Err(usage(format!(
                "{other} and {flag} would write to the same file, {}: give each its own file",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Rejects outputs that would replace an input, or are called like standard input. An input that is a directory stands for itself and the images in it.
pub fn check_inputs_kept(outputs: &[Named], inputs: &[Named]) -> Result<()> {
    if let Some((flag, _)) = outputs.iter().find(|(_, path)| is_stdin(path)) {
        return Err(usage(format!(
            "{flag} -: this is standard input; give the name of a file (/dev/stdout for standard output, ./- for a file called -)"
        )));
    }
    let written: HashMap<Identity, Named> =
        outputs.iter().filter_map(|&(flag, path)| Some((identity(path)?, (flag, path)))).collect();
    let check = |input: &Path, what: &str| match identity(input).and_then(|input| written.get(&input)) {
        None => Ok(()),
        Some((flag, output)) => {
            let also = match input == *output {
                true => String::new(),
                false => format!(" (the same file as {})", output.display()),
            };
            Err(usage(format!(
                "{flag} would write over {}{also}, which is {what}: give {flag} another path",
                name(input)
            )))
        }
    };
    for &(what, input) in inputs {
        check(input, what)?;
        if input.is_dir() {
            // A directory that cannot be read is an error of its own, later.
            let images = list_images(input).unwrap_or_default();
            images.iter().try_for_each(|image| check(image, &format!("in {what}")))?;
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn same(a: &Path, b: &Path) -> bool {
        identity(a).is_some_and(|a| Some(a) == identity(b))
    }

    #[test]
    fn links_spellings_and_files_to_come_are_recognised() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "x").unwrap();
        fs::create_dir(at("sub")).unwrap();
        symlink("file", at("soft")).unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("../to-come", at("sub/dangling")).unwrap();
        symlink("sub", at("other")).unwrap();
        symlink("round", at("round")).unwrap();
        for alias in ["file", "soft", "hard", "./file", "sub/../file"] {
            assert!(same(&at("file"), &at(alias)), "{alias}");
        }
        for alias in ["to-come", "sub/../to-come", "sub/dangling", "other/dangling"] {
            assert!(same(&at("to-come"), &at(alias)), "{alias}");
        }
        assert!(same(&at("sub"), &at("other")));
        for other in ["sub", "to-come", "absent/file", "round"] {
            assert!(!same(&at("file"), &at(other)), "{other}");
        }
        assert!(!same(&at("round"), &at("round")), "it leads nowhere");
        assert!(!same(Path::new("/dev/null"), Path::new("/dev/null")), "a device holds nothing to lose");
    }
}
