//! Forms and lines.

mod goldens;
mod iperf3;
mod key;
mod reading;
mod samples;
mod table;

use std::ffi::OsString;

use tapeline_remote::GivenOption;

use super::*;
use crate::cli::invocation::understand;
use crate::cli::order;
use crate::cli::spec::{OptionId, OptionSpec};
use crate::plan::{CommandName, Invocation, Resolution};

fn form(job: FormJob, options: &[(&str, Option<&str>)]) -> Form {
    let options = options.iter().map(|(name, value)| GivenOption {
        name: (*name).to_owned(),
        value: value.map(str::to_owned),
    });
    Form::new(job, options.collect())
}

/// A form of words such as `client=h udp`.
fn described(job: FormJob, words: &str) -> Form {
    let options: Vec<(&str, Option<&str>)> = words
        .split_whitespace()
        .map(|word| match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        })
        .collect();
    form(job, &options)
}

fn client(words: &str) -> Form {
    described(FormJob::Client, words)
}

fn server(words: &str) -> Form {
    described(FormJob::Server, words)
}

/// What the program under that name makes of words.
fn resolved(name: CommandName, words: Vec<OsString>, key: Option<&str>) -> Resolution {
    understand(&Invocation {
        program: name.word().into(),
        arguments: words,
        variable: &|name| match name {
            "TAPELINE_PERMIT_KEY" => key.map(OsString::from),
            _ => None,
        },
        resolver: |_| Vec::new(),
    })
    .1
}

/// The words of a composed line behind the program's name.
fn arguments(line: &str) -> Vec<OsString> {
    let words = shell::words(line).expect("a line that a shell can read");
    let words = words.into_iter().skip_while(|word| word.contains("_KEY="));
    words.skip(1).map(OsString::from).collect()
}
