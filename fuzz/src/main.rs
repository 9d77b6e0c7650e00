//! Runs fuzz targets without guidance, lists them, writes their first inputs, or repeats a finding.

use crfkit_fuzz::{TARGETS, run, target};
use std::process::ExitCode;

const USAGE: &str = "usage: crfkit-fuzz list
       crfkit-fuzz seeds TARGET FOLDER     write the target's first inputs
       crfkit-fuzz replay TARGET FILE...   try these inputs
       crfkit-fuzz random TARGET N [SEED]  try N random changes; a finding is left in the file `finding`
       crfkit-fuzz each TARGET N [SEED]    the same, slower: also an abort or an endless loop leaves its input there";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match act(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn act(args: &[&str]) -> Result<(), String> {
    let named =
        |name: &str| target(name).ok_or_else(|| format!("there is no target {name}; `list` shows them"));
    let io = |file: &str, error: std::io::Error| format!("{file}: {error}");
    match args {
        ["list"] => TARGETS.iter().for_each(|target| println!("{:<12} {}", target.name, target.promise)),
        ["seeds", name, folder] => {
            std::fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
            for (number, seed) in (named(name)?.seeds)().iter().enumerate() {
                let file = format!("{folder}/seed-{number}");
                std::fs::write(&file, seed).map_err(|error| io(&file, error))?;
            }
        }
        ["replay", name, files @ ..] => {
            for file in files {
                (named(name)?.run)(&std::fs::read(file).map_err(|error| io(file, error))?);
            }
        }
        [how @ ("random" | "each"), name, count, seed @ ..] if seed.len() < 2 => {
            let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
            let seed = seed.first().map_or(Ok(1), |seed| number(seed))?;
            let count = number(count)?;
            let target = named(name)?;
            let mut input = Vec::new();
            let keep = |input: &[u8]| std::fs::write("finding", input).map_err(|error| io("finding", error));
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(target, count as usize, seed, |next| match *how {
                    "each" => keep(next).expect("a file can be written"),
                    _ => next.clone_into(&mut input),
                });
            }));
            if outcome.is_err() {
                keep(&input)?;
                return Err(format!("{name}: see the file `finding`"));
            }
            println!("{name}: {count} changed inputs, nothing found");
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
