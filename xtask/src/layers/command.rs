//! The check as a command and as a part of `cargo xtask check`.

use std::collections::BTreeMap;
use std::path::Path;

use super::arrows::Arrows;
use super::check::{Finding, Rule, check, library_name};
use super::crate_map::CrateMap;
use super::floors::FLOORS;
use super::pages;
use super::tree::Tree;
use crate::shell::{self, Result};
use crate::tally::Tally;

/// `cargo xtask layers [ROOT] [--crate NAME] [--arrows]`.
pub(crate) fn run(options: &[&str]) -> Result<Tally> {
    let mut root = shell::root().to_path_buf();
    let mut only = None;
    let mut arrows = false;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--crate" => only = Some(*options.next().ok_or("--crate needs a name")?),
            "--arrows" => arrows = true,
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            folder => root = Path::new(folder).to_path_buf(),
        }
    }
    let tree = Tree::read(&root)?;
    let mut tally = Tally::default();
    for krate in tree.crates() {
        let name = krate.strip_prefix("crates/").unwrap_or(krate);
        if only.is_some_and(|only| only != name) {
            continue;
        }
        if arrows {
            print_arrows(&tree, krate);
            tally.pass();
            continue;
        }
        count(&mut tally, krate, &findings(&tree, krate));
    }
    if only.is_none() && !arrows {
        count(
            &mut tally,
            "the pages about the code",
            &pages::check(&root)?,
        );
    }
    Ok(tally)
}

/// All rules in this checkout.
pub(crate) fn check_all() -> Tally {
    run(&[]).unwrap_or_else(|error| {
        let mut tally = Tally::default();
        tally.fail(format!("layers: {error}"));
        tally
    })
}

fn findings(tree: &Tree, krate: &str) -> Vec<Finding> {
    let floors = FLOORS.iter().find(|floors| floors.krate == krate);
    let mut findings = check(tree, krate, floors);
    for place in floors
        .into_iter()
        .flat_map(|floors| floors.empty(tree.below(krate)))
    {
        findings.push(Finding {
            file: "xtask/src/layers/floors.rs".to_owned(),
            line: 0,
            what: format!("{krate}/src has no {place}"),
            rule: Rule::Floor,
        });
    }
    findings
}

fn count(tally: &mut Tally, krate: &str, findings: &[Finding]) {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        tally.pass();
    } else {
        let count = findings.len();
        tally.fail(format!("layers: {krate}: {count} broken rules"));
    }
}

/// Prints how often which folder uses which, for the table of floors.
fn print_arrows(tree: &Tree, krate: &str) {
    let map = CrateMap::read(tree, krate);
    let arrows = Arrows::read(&map, &library_name(krate));
    let inside = format!("{krate}/src/");
    let place = |file: &str| {
        let file = file.strip_prefix(&inside).unwrap_or(file).to_owned();
        file.split_once('/')
            .map_or(file.clone(), |(folder, _)| format!("{folder}/"))
    };
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (from, to, _) in arrows.all() {
        let (from, to) = (place(from), place(to));
        if from != to {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    println!("{krate}:");
    for ((from, to), count) in counts {
        println!("  {from} -> {to} {count}");
    }
    for (file, place) in &arrows.unknown {
        println!("  not found: {file}:{}: {}", place.line, place.path);
    }
}
