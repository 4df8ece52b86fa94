//! `cargo xtask test`.

use super::run::Failures;
use super::table::chosen;
use super::test_programs::TestPrograms;
use crate::shell::Result;
use crate::tally::Tally;
use crate::{builds, setup};

/// Runs what is named, or what runs by default: levels, `LEVEL/PROGRAM`, `--times N`.
///
/// # Errors
/// There is no level or test program of such a name.
pub(crate) fn test(words: &[&str]) -> Result<Tally> {
    let (names, times) = match words {
        ["--times", times, names @ ..] | [names @ .., "--times", times] => {
            let times = times.parse::<usize>();
            (names, times.map_err(|_| "--times wants a number")?)
        }
        names => (names, 1),
    };
    let runs = chosen(names)?;
    // Who names what is run looks for unsteady tests, and sees each failure.
    let failures = if names.is_empty() && times == 1 {
        Failures::TryAlone
    } else {
        Failures::Count
    };
    setup::prepare();
    let mut tally = Tally::default();
    // Most tests are of the program as it is shipped.
    let built = builds::release(&[]).and_then(|_| TestPrograms::build());
    let programs = match built {
        Ok(programs) => programs,
        Err(error) => {
            tally.fail(format!("build: {error}"));
            return Ok(tally);
        }
    };
    for time in 1..=times {
        let mut level_before = "";
        for (level, run) in &runs {
            if level.name != level_before {
                println!("\n== {}: {}", level.name, level.about);
                level_before = level.name;
            }
            tally.add(run.execute(&programs, failures)?);
        }
        if times > 1 {
            println!("\n{time} of {times} times: {tally}");
        }
    }
    Ok(tally)
}
