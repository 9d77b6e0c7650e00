//! libFuzzer on the target that the variable CRFKIT_FUZZ_TARGET names when this is compiled. `fuzz/run` builds and starts it.
//!
//! A program of its own for each target, because libFuzzer looks at all counters of the program after every execution: with the code of all
//! targets that would take longer than the execution itself.
#![no_main]

use crfkit::math::random::Random;
use crfkit_fuzz::{Target, target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

const CHOSEN: &Target = target(env!("CRFKIT_FUZZ_TARGET")).expect("CRFKIT_FUZZ_TARGET names a target");

fuzz_target!(|data: &[u8]| (CHOSEN.run)(data));

// Half of the changes are libFuzzer's own, half those that know the form of the input.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut input = data[..size].to_vec();
    (CHOSEN.mutate)(&mut input, &mut Random::new(u64::from(seed)));
    input.truncate(max_size);
    data[..input.len()].copy_from_slice(&input);
    input.len()
});
