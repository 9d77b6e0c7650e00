//! `crfkit-papers list | run NAME... | run all | document | confirm NAME... | audit`; see the README of this crate.

use crfkit::{Error, Result};
use crfkit_papers::book::Book;
use crfkit_papers::confirm::{self, Confirmation};
use crfkit_papers::{Corpora, Done, Experiment, Form, Needed, Store, audit, document, experiments, find};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Runs the experiments of the papers again, and writes docs/REPRODUCTION.md: our numbers beside the paper's, and a verdict for each.
Run it in the root of the repository.

usage: crfkit-papers list
       crfkit-papers run NAME... | all [--quick] [--as-stored] [--data DIR] [--out DIR]
       crfkit-papers document [--quick] [--out DIR]
       crfkit-papers confirm NAME... | all [--data DIR] [--out DIR]
       crfkit-papers audit [--strict] [--out DIR]

list        prints the name of each experiment, one a line
run         runs those that are named, or all, and those whose results they need, and writes the page; a result that is up to date
            (same settings, same sources of the library and of the experiment) is not made again, so a run that was interrupted
            goes on where it stopped. `run all` takes about four hours on two cores, an experiment an hour at most
document    writes the page, reproduction.json and the figures from the results that are there
confirm     runs the quick form of each experiment twice. For a result that is up to date it stores the quick numbers; for one made
            before the library changed it compares them with those stored then: if all are equal, the result is confirmed
audit       checks stored results, page and docs/CHECKLIST.md in seconds, without corpora: tolerances older than results and
            narrower than what they are for, a stored reason for every number out of tolerance, counts that agree, files and
            tests that exist; stale and confirmed results are warnings

--quick     small parts of everything, in minutes, to see that it runs; the verdicts prove nothing
--as-stored use stored results of other experiments as they are, stale or not, instead of making them again
--strict    stale, confirmed and missing results are errors of the audit
--data DIR  the directory of the corpora; CRFKIT_DATA otherwise; an experiment says which files it misses, and in which format
--out DIR   where the results are: docs, or target/quick with --quick
-h, --help  prints this

A failed experiment, or one that was named and has no data, makes the exit status 1; a wrong command line makes it 2.";

/// The command line.
#[derive(Default)]
struct Arguments {
    words: Vec<String>,
    help: bool,
    quick: bool,
    as_stored: bool,
    strict: bool,
    data: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn arguments() -> Result<Arguments> {
    let mut given = std::env::args().skip(1);
    let mut arguments = Arguments::default();
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or_else(|| Error::Setting(format!("{word} needs a directory")));
        match word.as_str() {
            "-h" | "--help" => arguments.help = true,
            "--quick" => arguments.quick = true,
            "--as-stored" => arguments.as_stored = true,
            "--strict" => arguments.strict = true,
            "--data" => arguments.data = Some(value()?.into()),
            "--out" => arguments.out = Some(value()?.into()),
            flag if flag.starts_with('-') => {
                return Err(Error::Setting(format!("unknown option {flag}\n\n{USAGE}")));
            }
            _ => arguments.words.push(word),
        }
    }
    Ok(arguments)
}

/// Runs the experiments and writes the page. Returns whether all of them succeeded.
fn run(store: &Store, names: &[&str], corpora: &Corpora) -> Result<bool> {
    let chosen = chosen(names)?;
    let mut well = true;
    for (k, experiment) in chosen.iter().enumerate() {
        let at = format!("[{}/{}] {}", k + 1, chosen.len(), experiment.id);
        match store.run(experiment, corpora, &|text| eprintln!("  {text}")) {
            Ok(Done::Ran(record)) => println!("{at}: {:.1} s", record.seconds),
            Ok(Done::UpToDate(_)) => println!("{at}: up to date"),
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
    let book = Book::read(store)?;
    for entry in chosen.iter().filter_map(|experiment| book.entry(experiment.id)) {
        println!("{}: {}", entry.record.id, entry.verdict);
    }
    if store.form == Form::Quick {
        println!("quick: these verdicts prove nothing");
    }
    println!("{} is written", store.directory.join("REPRODUCTION.md").display());
    Ok(well)
}

/// Confirms results by their quick forms, and writes the page. Returns whether none has changed.
fn confirmed(store: &Store, names: &[&str], corpora: &Corpora) -> Result<bool> {
    let found = confirm::confirm(store, &chosen(names)?, corpora, &|text| eprintln!("  {text}"))?;
    let mut well = true;
    for (id, found) in found {
        match found {
            Confirmation::Stored(count) => println!("{id}: up to date, {count} quick numbers are stored"),
            Confirmation::Confirmed(count) => println!("{id}: confirmed, {count} quick numbers are the same"),
            Confirmation::Changed(which) => {
                println!("{id}: changed: {}", which.join("; "));
                well = false;
            }
            Confirmation::Impossible(why) => println!("{id}: not confirmed, {why}"),
        }
    }
    document::generate(store)?;
    Ok(well)
}

/// The experiments of these names, or all.
fn chosen(names: &[&str]) -> Result<Vec<&'static Experiment>> {
    match names {
        ["all"] => Ok(experiments().iter().collect()),
        _ => names.iter().map(|name| find(name)).collect(),
    }
}

/// Audits the stored results, and prints what is wrong. Returns whether all is in order.
fn check(store: &Store, strict: bool) -> Result<bool> {
    let found = audit::audit(store, Path::new("."))?;
    found.warnings.iter().for_each(|text| println!("warning: {text}"));
    found.errors.iter().for_each(|text| println!("error: {text}"));
    println!("{}: {} errors, {} warnings", found.checked, found.errors.len(), found.warnings.len());
    Ok(found.errors.is_empty() && (!strict || found.warnings.is_empty()))
}

/// Executes the command line. Returns `None` if it is not a valid command.
fn go(arguments: Arguments) -> Result<Option<bool>> {
    let Arguments { words, help, quick, as_stored, strict, data, out } = arguments;
    if help {
        println!("{USAGE}");
        return Ok(Some(true));
    }
    let form = if quick { Form::Quick } else { Form::Full };
    let directory = out.unwrap_or_else(|| form.pick("docs", "target/quick").into());
    let needed = if as_stored { Needed::Stored } else { Needed::Current };
    let store = Store { directory, form, needed };
    let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
    match &words[..] {
        ["list"] => {
            experiments().iter().for_each(|experiment| println!("{}", experiment.id));
            Ok(Some(true))
        }
        ["audit"] => check(&store, strict).map(Some),
        ["document"] => document::generate(&store).map(|()| Some(true)),
        [verb @ ("run" | "confirm"), names @ ..] if !names.is_empty() => {
            let directory = data.or_else(|| std::env::var_os("CRFKIT_DATA").map(PathBuf::from));
            let corpora = Corpora { directory };
            match *verb {
                "run" => run(&store, names, &corpora).map(Some),
                _ => confirmed(&store, names, &corpora).map(Some),
            }
        }
        _ => Ok(None),
    }
}

fn main() -> ExitCode {
    /// The exit status for an invalid command line.
    const WRONG: u8 = 2;
    let complain = |error: &Error| eprintln!("crfkit-papers: {error}");
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            complain(&error);
            return WRONG.into();
        }
    };
    match go(arguments) {
        Ok(Some(true)) => ExitCode::SUCCESS,
        Ok(Some(false)) => ExitCode::FAILURE,
        Ok(None) => {
            eprintln!("{USAGE}");
            WRONG.into()
        }
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}
