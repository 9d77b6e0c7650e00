//! Fuzz targets: each takes bytes, does with them what users' bytes go through, and panics if a promise is broken.
//!
//! Targets are plain functions, so that the same ones serve three engines: a short run with random changes in
//! `cargo test`, the same for as long as you like (`cargo run -p crfkit-fuzz`), and libFuzzer, which is guided by coverage
//! (`fuzz/run`).

pub mod mutate;
pub mod sections;
pub mod source;
pub mod targets;

pub use targets::{TARGETS, target};

/// Something that takes bytes.
pub struct Target {
    /// Its name on the command line, and of the folder of its kept inputs.
    pub name: &'static str,
    /// What it promises, in a few words.
    pub promise: &'static str,
    /// Tries an input. Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How an input is changed so that it still gets past the first checks.
    pub mutate: mutate::Mutator,
}

/// The inputs that a run starts from: the target's own, then the kept ones, in the order of their names.
pub fn inputs(target: &Target) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
    let mut kept: Vec<_> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    kept.sort();
    let read = |path: &std::path::PathBuf| std::fs::read(path).expect("a kept input can be read");
    (target.seeds)().into_iter().chain(kept.iter().map(read)).collect()
}

/// Tries all inputs as they are, then `executions` changed ones. The same `seed` makes the same changes. `started` is called
/// with each input before it is tried.
pub fn run(target: &Target, executions: usize, seed: u64, mut started: impl FnMut(&[u8])) {
    let inputs = inputs(target);
    for input in &inputs {
        started(input);
        (target.run)(input);
    }
    let mut random = crfkit::math::random::Random::new(seed);
    for _ in 0..executions {
        let mut input = inputs[random.below(inputs.len())].clone();
        for _ in 0..1 + random.below(4) {
            (target.mutate)(&mut input, &mut random);
        }
        started(&input);
        (target.run)(&input);
    }
}
