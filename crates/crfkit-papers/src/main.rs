//! `crfkit-papers list | run NAME... | run all`: see the README of this crate.

use crfkit::{Error, Result};
use crfkit_papers::{Corpora, Done, Form, Store, document, experiments, find};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: crfkit-papers list
       crfkit-papers run NAME... | all [--quick] [--data DIR] [--out DIR]
       crfkit-papers document [--quick] [--out DIR]

--data DIR  the directory of the corpora; CRFKIT_DATA otherwise
--out DIR   where the results are: docs, or target/quick with --quick; run it in the root of the repository
--quick     small parts of everything, to see that it runs";

/// The command line.
#[derive(Default)]
struct Arguments {
    words: Vec<String>,
    quick: bool,
    data: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn arguments() -> Result<Arguments> {
    let mut given = std::env::args().skip(1);
    let mut arguments = Arguments::default();
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or_else(|| Error::Setting(format!("{word} needs a directory")));
        match word.as_str() {
            "--quick" => arguments.quick = true,
            "--data" => arguments.data = Some(value()?.into()),
            "--out" => arguments.out = Some(value()?.into()),
            flag if flag.starts_with('-') => {
                return Err(Error::Setting(format!("unknown option {flag}\n{USAGE}")));
            }
            _ => arguments.words.push(word),
        }
    }
    Ok(arguments)
}

/// Runs the experiments and writes the page. Returns whether all went well.
fn run(store: &Store, names: &[&str], corpora: &Corpora) -> Result<bool> {
    let chosen: Vec<_> = match names {
        ["all"] => experiments().iter().collect(),
        _ => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
    };
    let mut well = true;
    for (k, experiment) in chosen.iter().enumerate() {
        let at = format!("[{}/{}] {}", k + 1, chosen.len(), experiment.id);
        match store.run(experiment, corpora, &|text| eprintln!("  {text}")) {
            Ok(Done::Ran(record)) => println!("{at}: {} ({:.1} s)", record.verdict, record.seconds),
            Ok(Done::UpToDate(record)) => println!("{at}: {} (up to date)", record.verdict),
            Ok(Done::NoData(error)) => {
                println!("{at}: skipped, {error}");
                well &= names == ["all"];
            }
            Err(error) => {
                println!("{at}: failed, {error}");
                well = false;
            }
        }
    }
    document::generate(store)?;
    if store.form == Form::Quick {
        println!("quick: these verdicts prove nothing");
    }
    println!("{} is written", store.directory.join("REPRODUCTION.md").display());
    Ok(well)
}

fn go() -> Result<bool> {
    let Arguments { words, quick, data, out } = arguments()?;
    let form = if quick { Form::Quick } else { Form::Full };
    let directory = out.unwrap_or_else(|| form.pick("docs", "target/quick").into());
    let store = Store { directory, form };
    let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
    match &words[..] {
        ["list"] => {
            experiments().iter().for_each(|experiment| println!("{}", experiment.id));
            Ok(true)
        }
        ["document"] => document::generate(&store).map(|()| true),
        ["run", names @ ..] if !names.is_empty() => {
            let directory = data.or_else(|| std::env::var_os("CRFKIT_DATA").map(PathBuf::from));
            run(&store, names, &Corpora { directory })
        }
        _ => Err(Error::Setting(USAGE.into())),
    }
}

fn main() -> ExitCode {
    match go() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crfkit-papers: {error}");
            ExitCode::FAILURE
        }
    }
}
