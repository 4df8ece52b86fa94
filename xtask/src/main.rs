//! The project's chores.
//!
//! ```text
//! cargo xtask test [LEVEL ...]            set up, build, run every level of tests
//! cargo xtask check                       everything else a change must pass
//! cargo xtask ci                          check and test
//! cargo xtask portability                 compile for every system, and statically
//! cargo xtask layers [ROOT]               check folders and imports only
//! cargo xtask generate [FOLDER]           write what is made from the program
//! cargo xtask readme                      measure the README's sample again
//! cargo xtask dist                        static programs in archives
//! cargo xtask deb                         Debian packages
//! cargo xtask release-check               one version everywhere
//! cargo xtask soak [--minutes N]          honest and hostile clients for a long time
//! cargo xtask fleet-sim [--agents N]      many agents with a real server: its memory and CPU
//! cargo xtask fuzz [TARGET ...]            run the fuzz targets
//! cargo xtask verdicts [--seeds N]        run the matrix of verdicts, write its tables
//! cargo xtask bench [--out docs/F.json]   compare speed with the peers
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its caller"
)]

mod bench;
mod builds;
mod ci;
mod fleet_sim;
mod fuzz;
mod generate;
mod layers;
mod levels;
mod licences;
mod line_limits;
mod packages;
mod page;
mod pictures;
mod portability;
mod prose;
mod readme;
mod setup;
mod shell;
mod soak;
mod tally;
mod terminal;
mod verdicts;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [LEVEL ...]   install what the tests need, build, and run the levels
                     pure, loopback, namespaces, interop, fleet (those without
                     arguments) and verdicts, the whole matrix of verdicts;
                     LEVEL/PROGRAM is one test program of it (interop/iperf3)
                       --times N      run them N times
  check              formatting, lints, documentation, licences, line limits, folders and
                     imports, the pages' words and lengths, that it compiles for Windows, the
                     README's commands and sample, the schema, the page of warnings
  ci                 check and test: everything that a change must pass
  portability        compile for Windows, macOS and FreeBSD, with the oldest compiler,
                     statically, and the fuzz targets; `check` does the first
  layers [ROOT]      check the rules for folders and imports in this checkout or another one
                       --crate NAME   only this crate
                       --arrows       print how often which folder uses which instead
  generate           write docs/schema, the classes of the Python package,
                     docs/warnings.md and the tables of docs/performance.json
  generate FOLDER    write the manual pages and the completions for bash, zsh and fish of a
                     release build below FOLDER, as they are installed below
                     /usr/local/share
  readme             run a test over a path of 1 Gbit/s and 2 ms, as root, and write what
                     it prints into README.md
  pictures           take the pictures of the documentation, with chromium
  dist               build archives with a program that needs no library, for x86-64 and ARM,
                     with checksums and bills of materials, in target/dist
  deb                build Debian packages with the program and its fleet in target/deb: tapeline,
                     tapeline-as-iperf, tapeline-as-iperf3
  release-check      whether manifests, changelog, README and program have one version
  soak [OPTIONS]     serve honest and hostile clients of both families for a long time,
                     and tell whether memory and descriptors grow
                       --minutes N    how long (10)
                       --seed N       which tests and faults (1)
  fleet-sim [OPTIONS]
                     connect many agents, whose tests are pretended, with a real nats-server,
                     controller and collector; restart the server; compare memory, CPU and
                     times with their bars
                       --agents N     how many (10000)
                       --seconds S    how long CPU and messages are measured (60)
                       --jobs-per-second RATE    tests that begin each second (2)
  fuzz [TARGET ...]  run the fuzz targets whose names contain TARGET (all without), with the
                     nightly compiler, from the corpora in fuzz/corpus on
                       --runs N       executions of each (1000000)
                       --seconds S    for each, at most
                       --merge        keep inputs that reach new code as seeds
  verdicts [OPTIONS] run all situations of the matrix of verdicts, print its tables and put
                     them into docs/dev/verdicts.md
                       --seeds N      runs of each situation, with other numbers (3)
                       --only NAME    only the runs with this part in their names; the page stays
  bench [OPTIONS]    compare with the peers over loopback and a veth pair
                       --rounds N     alternated rounds (5)
                       --seconds S    length of one run (1)
                       --rows A,B     only these rows: numbers of the targets, or
                                      parts of names (tcp-one-stream, technique)
                       --compare C    build the commit C, too, run a short set of rows with
                                      both (10 rounds), and name what changed by more
                                      than its noise; what is worse fails
                       --out F.json   put the results there, in the places of older
                                      ones of the same rows, and the tables in F.md
                                      (docs/performance.json: docs/dev/performance.md)
                       --profile      show where the time goes instead; --out F.md
";

fn generate_to(folder: Option<&&str>) -> Result<tally::Tally, String> {
    if let Some(folder) = folder {
        let folder = std::path::Path::new(folder);
        let pages =
            builds::release(&[]).and_then(|program| generate::installed::write(&program, folder));
        return passed(pages);
    }
    passed(
        generate::schema::write()
            .and_then(|()| generate::python::write())
            .and_then(|()| generate::warnings::write())
            .and_then(|()| bench::write_tables()),
    )
}

fn passed(done: Result<(), String>) -> Result<tally::Tally, String> {
    done?;
    let mut tally = tally::Tally::default();
    tally.pass();
    Ok(tally)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = std::env::set_current_dir(shell::root()) {
        eprintln!("xtask: {}: {error}", shell::root().display());
        return ExitCode::FAILURE;
    }
    let tally = match words.split_first() {
        Some((&"test", levels)) => levels::test(levels),
        Some((&"layers", options)) => layers::run(options),
        Some((&"check", [])) => Ok(ci::check()),
        Some((&"ci", [])) => Ok(ci::all()),
        Some((&"portability", [])) => Ok(ci::compile_all()),
        Some((&"generate", folder)) if folder.len() < 2 => generate_to(folder.first()),
        Some((&"readme", [])) => passed(readme::measure()),
        Some((&"pictures", [])) => passed(pictures::take()),
        Some((&"dist", [])) => packages::dist::build(),
        Some((&"deb", [])) => passed(packages::deb::build()),
        Some((&"release-check", [])) => packages::release::check(),
        Some((&"soak", options)) => soak::run(options),
        Some((&"fleet-sim", options)) => fleet_sim::run(options),
        Some((&"fuzz", options)) => fuzz::run(options),
        Some((&"verdicts", options)) => verdicts::run(options),
        Some((&"bench", options)) => bench::run(options),
        _ => Err(USAGE.to_owned()),
    };
    match tally {
        Ok(tally) => {
            tally.print_details();
            println!("{tally}");
            ExitCode::from(u8::from(tally.failed() > 0))
        }
        Err(message) => {
            eprint!("{message}");
            if !message.ends_with('\n') {
                eprintln!();
            }
            ExitCode::from(2)
        }
    }
}
