//! Writes the hashes of the sources that a result depends on: see `src/code.rs`.

#[path = "src/code/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let library = here.join("../crfkit/src");
    println!("cargo::rerun-if-changed={}", library.display());
    println!("cargo::rerun-if-changed={}", here.join("src").display());
    let library = sources::Library::read(&library)?;
    let hashes = sources::experiments(&here.join("src"), &library)?;
    let table = format!(
        "const LIBRARY: &str = {:?};\nconst EXPERIMENTS: &[(&str, &str, &str)] = &{hashes:?};\n",
        library.whole(),
    );
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("code.rs"), table)
}
