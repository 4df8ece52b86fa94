//! Options, and the rows one after the other.

use std::path::{Path as FilePath, PathBuf};

use interop::NamespacePair;

use crate::builds;
use crate::page;
use crate::setup;
use crate::shell::{self, Result};
use crate::tally::Tally;

use super::path::Path;
use super::record::{self, Circumstances, Record};
use super::row::{PathKind, Row};
use super::session::Site;
use super::{contest, guard, profile, report, rows};

/// The project's own results, and the page that has their tables.
const RESULTS: &str = "docs/performance.json";
const PAGE: &str = "docs/dev/performance.md";
/// What the page names as their source.
const GENERATOR: &str = "cargo xtask bench";

/// How to run the benchmarks.
#[derive(Debug, Default)]
struct Options {
    /// As many, and as long, as the purpose needs, unless given.
    rounds: Option<usize>,
    seconds: Option<f64>,
    /// Numbers or parts of names; all rows when empty.
    rows: Vec<String>,
    out: Option<PathBuf>,
    /// Show where the time goes instead.
    profile: bool,
    /// Compare with the program of this commit instead.
    compare: Option<String>,
}

/// Rounds beside peers, and their length.
const ROUNDS: usize = 5;
const SECONDS: f64 = 1.0;

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(name) = words.next() {
            if *name == "--profile" {
                options.profile = true;
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("bench: {name} needs a value"))?;
            let bad = || format!("bench: {name} cannot be '{value}'");
            match *name {
                "--rounds" => options.rounds = Some(value.parse().map_err(|_| bad())?),
                "--compare" => options.compare = Some((*value).to_owned()),
                "--seconds" => options.seconds = Some(value.parse().map_err(|_| bad())?),
                "--rows" => options.rows = value.split(',').map(str::to_owned).collect(),
                "--out" => options.out = Some(value.into()),
                _ => return Err(format!("bench: there is no option {name}")),
            }
        }
        if options.rounds == Some(0) || !(0.2..=60.0).contains(&options.seconds()) {
            return Err("bench: at least one round, of 0.2 to 60 seconds".to_owned());
        }
        Ok(options)
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(match self.compare {
            Some(_) => guard::ROUNDS,
            None => ROUNDS,
        })
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(match self.compare {
            Some(_) => guard::SECONDS,
            None => SECONDS,
        })
    }

    /// The rows that are meant.
    ///
    /// # Errors
    /// A word means none.
    fn rows(&self) -> Result<Vec<Row>> {
        let all = rows::all();
        let unknown = |word: &&String| !all.iter().any(|row| row.is_meant(word));
        if let Some(word) = self.rows.iter().find(unknown) {
            let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
            return Err(format!(
                "bench: there is no row '{word}' (there are 1 to 35, {})",
                names.join(", ")
            ));
        }
        if self.rows.is_empty() && self.compare.is_some() {
            return Ok(guard::short(all));
        }
        let meant =
            |row: &Row| self.rows.is_empty() || self.rows.iter().any(|word| row.is_meant(word));
        Ok(all.into_iter().filter(meant).collect())
    }
}

/// Runs the benchmarks; the tally holds what could not be measured here.
///
/// # Errors
/// The options are wrong, the program cannot be built, or the results cannot be written.
pub(crate) fn run(words: &[&str]) -> Result<Tally> {
    let options = Options::parse(words)?;
    let mut rows = options.rows()?;
    setup::prepare();
    // Another binary can be measured, for example an older one.
    let mut program = builds::under_test()?;
    if let Some(commit) = &options.compare {
        program = guard::build(commit, &program)?;
        let pairs = rows.into_iter().filter_map(guard::against_earlier);
        rows = pairs.collect();
    }
    interop::use_tapeline(program);
    // Programs with many streams inherit it.
    interop::raise_descriptor_limit();
    if options.profile {
        return profile::run(options.out.as_deref(), options.seconds());
    }
    let mut tally = Tally::default();
    let pair = NamespacePair::new();
    if let Err(error) = &pair {
        tally.skip(format!("everything over a veth pair: {error}"));
    }
    let mut records = Vec::new();
    for row in &rows {
        for site in sites(row, pair.as_ref().ok(), options.seconds()) {
            let record = contest::hold(row, &site, circumstances(&options));
            print_bars(&record);
            // Each row is kept at once: a run may be ended on the way.
            if let Some(out) = &options.out {
                write(out, vec![record.clone()])?;
            }
            records.push(record);
        }
    }
    match &options.compare {
        Some(commit) => tally.add(guard::judge(commit, &records)),
        None => println!("\n{}", report::markdown(&records)),
    }
    Ok(tally)
}

/// Everywhere that a row is measured.
fn sites<'a>(row: &Row, pair: Option<&'a NamespacePair>, seconds: f64) -> Vec<Site<'a>> {
    let path = |kind: &PathKind| match kind {
        PathKind::Loopback => Some(Path::Loopback),
        PathKind::Veth => pair.map(Path::Cable),
    };
    let mut paths: Vec<Path<'_>> = row.paths.iter().filter_map(path).collect();
    if row.paths.is_empty() {
        paths.push(Path::Loopback);
    }
    let mut controls: Vec<_> = row.congestion.iter().copied().map(Some).collect();
    if controls.is_empty() {
        controls.push(None);
    }
    let mut sites = Vec::new();
    for path in paths {
        for congestion in &controls {
            sites.push(Site {
                path,
                congestion: *congestion,
                seconds,
                processor: None,
            });
        }
    }
    sites
}

/// Prints how the row stands to its bars. Nothing is asserted: speed is no fault.
fn print_bars(record: &Record) {
    for verdict in &record.verdicts {
        println!("{}", report::bar_line(record, verdict));
    }
}

fn circumstances(options: &Options) -> Circumstances {
    let first = |path: &str, key: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_default();
        line.split_once(':')
            .map_or(line, |(_, value)| value)
            .trim()
            .to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = first("/proc/loadavg", "");
    let today = shell::read(std::process::Command::new("date").args(["-u", "+%F"]));
    Circumstances {
        date: today.map_or_else(|_| "an unknown day".to_owned(), |day| day.trim().to_owned()),
        kernel: first("/proc/sys/kernel/osrelease", ""),
        machine: format!("{cores} cores, {}", first("/proc/cpuinfo", "model name")),
        load: load.split(' ').next().unwrap_or_default().to_owned(),
        rounds: options.rounds(),
        seconds: options.seconds(),
    }
}

/// Merges the records into a JSON file, in the order of the rows, and enters the tables into the
/// page for people.
fn write(out: &FilePath, new: Vec<Record>) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", out.display());
    let mut records = read(out)?;
    record::merge(&mut records, new);
    let order = rows::all();
    let place = |record: &Record| order.iter().position(|row| row.name == record.row);
    // A row that is no more leaves the file.
    records.retain(|record| place(record).is_some());
    records.sort_by_key(place);
    let text = serde_json::to_string_pretty(&records).map_err(|error| failed(&error))?;
    std::fs::write(out, text + "\n").map_err(|error| failed(&error))?;
    page::enter(&page_of(out), GENERATOR, &report::markdown(&records))
}

/// Writes the tables of the project's own results again, without measuring.
///
/// # Errors
/// The results cannot be read, or the page cannot be written.
pub(crate) fn write_tables() -> Result<()> {
    let records = read(FilePath::new(RESULTS))?;
    page::enter(FilePath::new(PAGE), GENERATOR, &report::markdown(&records))?;
    println!("{PAGE}");
    Ok(())
}

/// The records of a file; none without one.
fn read(file: &FilePath) -> Result<Vec<Record>> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(&error)),
    }
}

/// The page with the tables of a file: the project's own has one for developers, any other file
/// one beside it.
fn page_of(out: &FilePath) -> PathBuf {
    if out == FilePath::new(RESULTS) {
        PAGE.into()
    } else {
        out.with_extension("md")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_to_a_page() {
        assert_eq!(page_of(FilePath::new(RESULTS)), FilePath::new(PAGE));
        let beside = page_of(FilePath::new("target/a.json"));
        assert_eq!(beside, FilePath::new("target/a.md"));
        // What is entered there has a place, and is what the file holds.
        let page = std::fs::read_to_string(shell::root().join(PAGE)).expect("the page");
        for generator in [GENERATOR, profile::GENERATOR] {
            let mark = format!("<!-- generated by {generator} -->\n");
            assert!(page.contains(&mark), "{generator}");
        }
        let file = std::fs::read_to_string(shell::root().join(RESULTS)).expect("the file");
        let records: Vec<Record> = serde_json::from_str(&file).expect("records");
        let tables = report::markdown(&records);
        assert!(page.contains(tables.trim_matches('\n')), "older tables");
    }

    #[test]
    fn options_are_checked() {
        let words = ["--rounds", "7", "--profile", "--out", "a.json"];
        let options = Options::parse(&words).expect("good options");
        assert_eq!(
            (options.rounds, options.out),
            (Some(7), Some("a.json".into()))
        );
        assert!(options.profile);
        for bad in [
            &["--rounds"][..],
            &["--rounds", "x"],
            &["--what", "1"],
            &["--seconds", "0"],
        ] {
            assert!(Options::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rows_are_chosen() {
        let chosen = |words: &[&str]| Options::parse(words).and_then(|options| options.rows());
        assert_eq!(chosen(&["--rows", "14,idle"]).expect("rows").len(), 2);
        assert_eq!(chosen(&[]).expect("rows").len(), rows::all().len());
        assert!(chosen(&["--rows", "99"]).is_err());
    }
}
