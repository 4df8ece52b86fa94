//! The licences of the program and of the crates in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::crates::Crate;
use super::tree::{files, name_of};
use crate::shell::Result;

/// Beginnings of the names of files that hold a licence.
const TITLES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The text that belongs to the program, each licence once; `apache` says where the longest of them is.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn text(crates: &BTreeSet<Crate>, apache: &str) -> Result<String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in crates {
        for file in files(&one.folder.to_string_lossy())? {
            let title = name_of(&file).to_uppercase();
            if file.is_file() && TITLES.iter().any(|word| title.starts_with(word)) {
                let text =
                    std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                let text = String::from_utf8_lossy(&text).trim().to_owned();
                let name = format!("{} {}", one.name, one.version);
                texts.entry(text).or_default().insert(name);
            }
        }
    }
    let own =
        std::fs::read_to_string("LICENSE-MIT").map_err(|error| format!("LICENSE-MIT: {error}"))?;
    let mut text = format!(
        "tapeline: Apache-2.0 ({apache}) or, as you choose:\n\n{own}\n\
         The program holds these crates:\n\n"
    );
    for one in crates {
        let _ = writeln!(text, "  {} {}: {}", one.name, one.version, one.licence);
    }
    for (licence, names) in &texts {
        if licence.contains("Apache License") && licence.contains("Version 2.0, January 2004") {
            continue;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let _ = write!(text, "\n----\n{}:\n\n{licence}\n", names.join(", "));
    }
    Ok(text)
}
