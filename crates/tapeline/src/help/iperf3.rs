//! The help: iperf3's sections, made from the table.

use crate::cli::iperf3::options::{End, Spec, listed};
use crate::cli::parse::Arity;

/// Column of the descriptions.
const COLUMN: usize = 30;

/// The whole page, without its last line end.
pub(crate) fn page() -> String {
    let mut lines = vec![
        "Usage: iperf3 [-s|-c host] [options]".to_owned(),
        "       iperf3 [-h|--help] [-v|--version]".to_owned(),
    ];
    for (title, end) in [
        ("Server or Client:", End::Both),
        ("Server specific:", End::Server),
        ("Client specific:", End::Client),
    ] {
        lines.push(String::new());
        lines.push(title.to_owned());
        for spec in listed().filter(|spec| spec.end == end) {
            describe(spec, &mut lines);
        }
    }
    lines.push(String::new());
    lines
        .push("[KMGT] marks sizes that take a suffix: K, M, G or T, multiples of 1024.".to_owned());
    lines.push("Rates take the same suffixes as multiples of 1000.".to_owned());
    lines.join("\n")
}

fn describe(spec: &Spec, lines: &mut Vec<String>) {
    let letter = match spec.letter {
        Some(letter) => format!("-{letter}, "),
        None => String::new(),
    };
    let value = match spec.arity {
        Arity::Switch => String::new(),
        Arity::Required => format!(" {}", spec.value),
        Arity::Optional => format!("[={}]", spec.value),
    };
    let mut line = format!("  {letter}--{}{value}", spec.names[0]);
    for text in spec.help.split('\n') {
        if line.len() + 1 >= COLUMN {
            lines.push(std::mem::take(&mut line));
        }
        lines.push(format!("{line:COLUMN$}{text}"));
        line.clear();
    }
}
