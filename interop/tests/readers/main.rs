//! What programs of others read from iperf's and iperf3's output.
//!
//! A rule is what one of them does with an output: line expressions, columns, paths in a document. Each is
//! written anew here, after what that program looks for. It reads the same run of the reference and of
//! tapeline; in both it must find the same fields, as often, with values that can be true. A run that the
//! reference ends without a word on standard error has none here either: some readers take any for a failure.

mod columns;
mod documents;
mod lines;
mod reading;
mod rule;
mod run;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use rule::Rule;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of a run is waiting, so more runs than cores.
    arguments.test_threads.get_or_insert(4);
    let rules = || [lines::RULES, columns::RULES, documents::RULES].concat();
    libtest_mimic::run(&arguments, trials(rules())).exit_code()
}

/// A trial for each rule and each server that its client may have.
fn trials(rules: Vec<&'static Rule>) -> Vec<Trial> {
    let each = |rule: &'static Rule| {
        let servers = rule.family.servers(rule.side);
        servers.iter().map(move |server| {
            let name = format!("{}, {} {server}", rule.name, rule.side);
            Trial::test(name.clone(), move || run::compare(&name, rule, *server))
        })
    };
    rules.into_iter().flat_map(each).collect()
}
