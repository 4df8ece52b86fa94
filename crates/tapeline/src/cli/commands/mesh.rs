//! The command line of `tapeline mesh`.

use std::ffi::OsString;
use std::path::PathBuf;

use tapeline_mesh::{Mode, Pattern};

use super::line::one_on_standard_output;
use crate::plan::{Copies, Destination, MeshJob};

/// How it is used.
pub(crate) const USAGE: &str = "usage: tapeline mesh HOSTS.TOML [OPTIONS] [-- TEST], \
                                tapeline mesh --resume FILE [OPTIONS], or \
                                tapeline mesh --inventory FILE";

/// What was typed.
#[derive(Debug)]
pub(crate) struct MeshWords {
    pub(crate) hosts: Option<PathBuf>,
    /// What stands behind `--`.
    pub(crate) test: Option<Vec<OsString>>,
    pub(crate) resume: Option<PathBuf>,
    pub(crate) pattern: Option<String>,
    pub(crate) seed: Option<u64>,
    pub(crate) full_duplex: bool,
    pub(crate) all_at_once: bool,
    pub(crate) only_plan: bool,
    pub(crate) copy: bool,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) json: Option<Destination>,
    pub(crate) csv: Option<Destination>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) stream: bool,
    pub(crate) history: Option<PathBuf>,
    pub(crate) saves: bool,
}

/// What a line orders.
///
/// # Errors
/// A sentence about what is wrong with it.
pub(crate) fn job(words: MeshWords) -> Result<MeshJob, String> {
    let is_described = words.pattern.is_some()
        || words.seed.is_some()
        || words.test.is_some()
        || words.full_duplex
        || words.all_at_once;
    match (&words.hosts, &words.resume) {
        (None, None) => return Err(USAGE.to_owned()),
        (None, Some(_)) if is_described => {
            return Err(
                "--resume goes on as the journal says: no pattern, seed or test applies \
                        without the file of hosts"
                    .to_owned(),
            );
        }
        _ => {}
    }
    let mode = match (words.full_duplex, words.all_at_once) {
        (false, false) => Mode::InTurn,
        (true, false) => Mode::FullDuplex,
        (false, true) => Mode::AllAtOnce,
        (true, true) => return Err("--full-duplex and --all-at-once cannot be combined".to_owned()),
    };
    let pattern = words
        .pattern
        .as_deref()
        .unwrap_or("full")
        .parse::<Pattern>();
    let pattern = pattern.map_err(|error| format!("--pattern: {error}"))?;
    let text = |word: OsString| word.to_string_lossy().into_owned();
    one_on_standard_output(&words.json, &words.csv)?;
    let stdout = Some(Destination::Stdout);
    if words.stream && (words.json == stdout || words.csv == stdout) {
        return Err("--json-stream: --json and --csv need a file beside it".to_owned());
    }
    Ok(MeshJob {
        hosts: words.hosts,
        resume: words.resume,
        pattern,
        seed: words.seed,
        mode,
        test: words.test.map(|test| test.into_iter().map(text).collect()),
        only_plan: words.only_plan,
        copies: match words.binary {
            Some(file) => Copies::Other(file),
            None if words.copy => Copies::Own,
            None => Copies::None,
        },
        json: words.json,
        csv: words.csv,
        html: words.html,
        stream: words.stream,
        history: words.history.filter(|_| words.saves),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::resolve::resolve;
    use crate::plan::Plan;

    fn mesh(words: &str) -> Result<MeshJob, String> {
        let words = std::iter::once("mesh").chain(words.split_whitespace());
        let words: Vec<_> = words.map(Into::into).collect();
        let resolution = resolve(&words);
        match resolution.outcome {
            Ok(Plan::Mesh(job)) => Ok(*job),
            Ok(other) => panic!("{other:?}"),
            Err(_) => Err(resolution.messages[0].text.clone()),
        }
    }

    #[test]
    fn without_options_all_test_all() {
        let job = mesh("hosts.toml --history h").expect("a job");
        let plain = MeshJob {
            hosts: Some("hosts.toml".into()),
            resume: None,
            pattern: Pattern::Full,
            seed: None,
            mode: Mode::InTurn,
            test: None,
            only_plan: false,
            copies: Copies::None,
            json: None,
            csv: None,
            html: None,
            stream: false,
            history: Some("h".into()),
        };
        assert_eq!(job, plain);
        assert_eq!(mesh("hosts.toml --history h --save").expect("a job"), plain);
    }

    #[test]
    fn every_option_has_its_effect() {
        let job = mesh(
            "h.toml --pattern star:a --seed 7 --full-duplex --plan --copy --json --csv=c \
             --html=p --no-save --resume j -- -t 3",
        )
        .expect("a job");
        assert_eq!(
            (job.pattern, job.seed),
            (Pattern::Star("a".to_owned()), Some(7))
        );
        assert_eq!((job.mode, job.only_plan), (Mode::FullDuplex, true));
        assert_eq!(job.test.expect("a test"), ["-t", "3"]);
        assert_eq!((job.copies, job.history), (Copies::Own, None));
        assert_eq!(job.json, Some(Destination::Stdout));
        assert_eq!(job.csv, Some(Destination::File("c".into())));
        assert_eq!((job.html, job.resume), (Some("p".into()), Some("j".into())));
        let job = mesh("h.toml --all-at-once --binary b").expect("a job");
        assert_eq!(job.mode, Mode::AllAtOnce);
        assert_eq!(job.copies, Copies::Other("b".into()));
        assert_eq!(mesh("--resume j").expect("a job").hosts, None);
        let job = mesh("h.toml --json-stream --json=j").expect("a job");
        assert!(job.stream);
    }

    #[test]
    fn an_inventory_is_no_mesh() {
        let plan = resolve(&["mesh", "--inventory", "i"].map(Into::into)).outcome;
        assert_eq!(plan.expect("a plan"), Plan::Inventory("i".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            ("", "usage"),
            ("a b", "usage"),
            ("h --pattern rings", "--pattern: \"rings\" is no pattern"),
            ("h --seed x", "--seed"),
            ("h --full-duplex --all-at-once", "cannot be combined"),
            ("h --json --csv", "needs a file"),
            ("h --json-stream --json", "need a file"),
            ("h --html", "--html needs a file"),
            ("h -- -t 1 -- -t 2", "one test"),
            ("h --", "needs its options"),
            ("--resume j --pattern ring", "--resume goes on"),
            ("h.toml --inventory i", "nothing else stands beside it"),
            ("--inventory i --json", "nothing else stands beside it"),
            ("h --utc", "does not apply"),
        ] {
            let said = mesh(words).expect_err(words);
            assert!(said.contains(part), "{words}: {said}");
        }
    }
}
