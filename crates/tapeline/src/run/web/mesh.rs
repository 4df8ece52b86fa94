//! Tests among many hosts, as far as a page may order them: hosts are reached by ssh alone, and all of
//! them are among those that may be tested.

use std::ffi::OsString;
use std::path::Path;

use tapeline_base::{Endpoint, counted};
use tapeline_mesh::{Mode, Pattern, Via};
use tapeline_remote::{CommandLine, GivenOption};
use tapeline_report::matrix::{MeshDocument, MeshRun, csv, html, text};
use tapeline_web::{Form, MeshCommand, MeshRequest, Refusal};

use crate::cli::flows;
use crate::identity;
use crate::run::history::json;
use crate::run::mesh::{Planned, Unplanned, Wanted};

/// Tests of a mesh that a page can show.
const MOST_TESTS: usize = 4000;

/// To start from.
const EXAMPLE: &str = "\
# Hosts that ssh reaches; each needs tapeline, and nothing that runs.
[defaults]
test = \"-t 3\"

[hosts.fra1]
ssh = \"net@fra1.example\"     # default: the name
address = \"198.51.100.4\"     # what the others test towards; default: its first
[hosts.fra2]
[hosts.nyc1]
";

/// Hosts to start from.
pub(crate) fn example() -> MeshRequest {
    MeshRequest {
        hosts: EXAMPLE.to_owned(),
        pattern: "full".to_owned(),
        test: String::new(),
    }
}

/// What a mesh comes to; `admit` says whether a host may be tested with some options.
///
/// # Errors
/// Something is wrong with it, or it may not be ordered from a page.
pub(crate) fn check(
    request: &MeshRequest,
    admit: impl Fn(&[GivenOption], &str) -> Result<(), Refusal>,
    is_limited: bool,
) -> Result<String, Refusal> {
    let test = words(request)?;
    let planned = Planned::read(&Wanted {
        name: MeshCommand::HOSTS,
        content: &request.hosts,
        pattern: &pattern(request)?,
        seed: None,
        test: test.as_deref(),
        mode: Mode::InTurn,
    });
    let planned = planned.map_err(|why| match why {
        Unplanned::File(error) => Refusal::AtLine(error.to_string(), error.line),
        Unplanned::Test(why) => Refusal::Wrong(why),
    })?;
    for host in &planned.plan.hosts {
        if let Via::Command(command) = &host.via {
            return Err(Refusal::Forbidden(format!(
                "{}: via = \"{command}\" would run a command here: a page reaches hosts by ssh alone",
                host.name
            )));
        }
        admit(&planned.line.options, &destination(&host.destination))?;
        match &host.address {
            Some(address) => admit(&planned.line.options, address)?,
            None if is_limited => {
                return Err(Refusal::Forbidden(format!(
                    "{} needs an address = \"...\" that may be tested from this page (--targets)",
                    host.name
                )));
            }
            None => {}
        }
    }
    let tests = planned.tests().map_err(Refusal::Wrong)?;
    if tests > MOST_TESTS {
        let tests = counted(tests as u64, "test");
        return Err(Refusal::Wrong(format!(
            "{tests} are more than a page shows ({MOST_TESTS}): run tapeline mesh in a terminal, \
             or choose another pattern"
        )));
    }
    let forecast = planned.forecast().map_err(Refusal::Wrong)?;
    Ok(planned.text(&forecast).trim_end().to_owned())
}

/// The host of `user@host`, `ssh://user@host:port`.
fn destination(text: &str) -> String {
    let (is_address, rest) = match text.strip_prefix("ssh://") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    match is_address {
        true => Endpoint::parse(host).host,
        false => host.to_owned(),
    }
}

/// The process; results go to the history, if there is one.
///
/// # Errors
/// Something is wrong with the mesh, or this program is not found.
pub(crate) fn command(
    request: &MeshRequest,
    history: Option<&Path>,
) -> Result<MeshCommand, Refusal> {
    let pattern = pattern(request)?.to_string();
    let mut typed = vec!["mesh", MeshCommand::HOSTS, "--pattern", &pattern];
    let test = words(request)?.unwrap_or_default();
    if !test.is_empty() {
        typed.push("--");
        typed.extend(test.iter().map(String::as_str));
    }
    let line = std::iter::once("tapeline").chain(typed.iter().copied());
    let line = identity::command(line.map(str::to_owned));
    let document = format!("--json={}", MeshCommand::DOCUMENT);
    let mut command = CommandLine::default();
    let own = ["--as", "tapeline", "mesh", "--json-stream", &document];
    command.words.extend(own.map(OsString::from));
    match history {
        Some(file) => {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            command.words.extend(["--history".into(), file.into()]);
        }
        None => command.words.push("--no-save".into()),
    }
    command
        .words
        .extend(typed.iter().skip(1).map(OsString::from));
    Ok(MeshCommand {
        program: identity::executable().map_err(Refusal::Failed)?,
        command,
        line,
    })
}

fn pattern(request: &MeshRequest) -> Result<Pattern, Refusal> {
    match request.pattern.trim() {
        "" => Ok(Pattern::Full),
        text => text
            .parse()
            .map_err(|error| Refusal::Wrong(format!("{error}"))),
    }
}

/// The words of a test; none where the file has them.
fn words(request: &MeshRequest) -> Result<Option<Vec<String>>, Refusal> {
    let words = flows::words(&request.test);
    let words = words.ok_or(Refusal::Wrong("a quotation mark is not closed".to_owned()))?;
    Ok(Some(words).filter(|words| !words.is_empty()))
}

/// A result in a form.
///
/// # Errors
/// It is none.
pub(crate) fn export(document: &[u8], form: Form) -> Result<String, Refusal> {
    let run: Result<MeshRun, _> = serde_json::from_slice(document);
    let run = run.map_err(|error| Refusal::Failed(format!("no result of a mesh: {error}")))?;
    let document = MeshDocument::new(run);
    Ok(match form {
        Form::Json => json(&document),
        Form::Text => text::render(&document),
        Form::Csv => csv::render(&document),
        Form::Page => html::render(&document),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(hosts: &str) -> MeshRequest {
        MeshRequest {
            hosts: hosts.to_owned(),
            ..MeshRequest::default()
        }
    }

    fn anywhere(request: &MeshRequest) -> Result<String, Refusal> {
        check(request, |_, _| Ok(()), false)
    }

    /// As with `--targets 192.0.2.1,192.0.2.2`.
    fn limited(request: &MeshRequest) -> Result<String, Refusal> {
        let admit = |options: &[GivenOption], host: &str| {
            let is_plain = options.iter().all(|given| given.name != "incr-dstip");
            match is_plain && ["192.0.2.1", "192.0.2.2"].contains(&host) {
                true => Ok(()),
                false => Err(Refusal::Forbidden(format!("{host} may not be tested"))),
            }
        };
        check(request, admit, true)
    }

    #[test]
    fn the_example_is_a_mesh() {
        let said = anywhere(&example()).expect("a mesh");
        assert!(
            said.starts_with("3 hosts, 6 directed tests of 3 s in 6 slots: about"),
            "{said}"
        );
        let other = MeshRequest {
            pattern: "star:fra1".to_owned(),
            test: "-u -b '5 M'".to_owned(),
            ..example()
        };
        assert!(matches!(anywhere(&other), Err(Refusal::Wrong(_))));
        let other = MeshRequest {
            test: "-t 1".to_owned(),
            ..other
        };
        let said = anywhere(&other).expect("a mesh");
        assert!(
            said.starts_with("3 hosts, 4 directed tests of 1 s"),
            "{said}"
        );
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (hosts, line, part) in [
            (
                "[hosts.a]\n[hosts.b]\nspeed = 1\n",
                3,
                "hosts.toml:3: a host has no key",
            ),
            ("[hosts.a]\n[hosts.-b]\n", 2, "dash"),
            (
                "[hosts.a]\nssh = \"-oProxyCommand=x\"\n[hosts.b]\n",
                2,
                "dash",
            ),
            (
                "[defaults]\ntest = \"-F x\"\n[hosts.a]\n[hosts.b]\n",
                2,
                "names a file",
            ),
            ("[hosts.a", 1, "hosts.toml:1:"),
        ] {
            match anywhere(&mesh(hosts)) {
                Err(Refusal::AtLine(text, at)) => {
                    assert_eq!(at, line, "{text}");
                    assert!(text.contains(part), "{text}");
                }
                other => panic!("{hosts}: {other:?}"),
            }
        }
        for (pattern, test) in [
            ("rings", ""),
            ("star:x", ""),
            ("", "-R"),
            ("", "'"),
            ("", "--save"),
        ] {
            let request = MeshRequest {
                pattern: pattern.to_owned(),
                test: test.to_owned(),
                ..mesh("[hosts.a]\n[hosts.b]\n")
            };
            assert!(
                matches!(anywhere(&request), Err(Refusal::Wrong(_))),
                "{pattern} {test}"
            );
        }
        let many: String = (0..70).map(|host| format!("[hosts.h{host}]\n")).collect();
        let why = anywhere(&mesh(&many)).expect_err("too many");
        assert!(matches!(why, Refusal::Wrong(text) if text.contains("more than a page shows")));
    }

    #[test]
    fn no_command_comes_from_a_page() {
        for hosts in [
            "[hosts.a]\n[hosts.b]\nvia = \"sh -c id\"\n",
            "[defaults]\nvia = \"touch /tmp/x\"\n[hosts.a]\n[hosts.b]\nvia = \"ssh\"\n",
        ] {
            match anywhere(&mesh(hosts)) {
                Err(Refusal::Forbidden(text)) => assert!(text.contains("ssh alone"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        let harmless = "[defaults]\nvia = \"ssh\"\n[hosts.a]\n[hosts.b]\n";
        assert!(anywhere(&mesh(harmless)).is_ok());
    }

    #[test]
    fn every_host_is_one_that_may_be_tested() {
        let host = |name: &str, ssh: &str, address: &str| {
            format!("[hosts.{name}]\nssh = \"{ssh}\"\n{address}\n")
        };
        let first = host("a", "net@192.0.2.1", "address = \"192.0.2.1\"");
        let good = host("b", "ssh://x@192.0.2.2:2222", "address = \"192.0.2.2\"");
        assert!(limited(&mesh(&format!("{first}{good}"))).is_ok());
        for bad in [
            host("b", "192.0.2.9", "address = \"192.0.2.2\""),
            host("b", "x@192.0.2.1@evil.example", "address = \"192.0.2.2\""),
            host("b", "192.0.2.2", "address = \"192.0.2.9\""),
            host("b", "192.0.2.2", ""),
            "[hosts.b]\naddress = \"192.0.2.2\"\n".to_owned(),
        ] {
            let refused = limited(&mesh(&format!("{first}{bad}")));
            assert!(
                matches!(refused, Err(Refusal::Forbidden(_))),
                "{bad}: {refused:?}"
            );
        }
        let neighbours = MeshRequest {
            test: "-u --incr-dstip -t 1".to_owned(),
            ..mesh(&format!("{first}{good}"))
        };
        assert!(limited(&neighbours).is_err());
    }

    #[test]
    fn the_command_is_what_is_shown_and_what_a_page_needs() {
        let request = MeshRequest {
            pattern: "ring".to_owned(),
            test: "-t 1 -T 'a b'".to_owned(),
            ..mesh("")
        };
        let made = command(&request, Some(Path::new("/h"))).expect("a command");
        assert_eq!(
            made.line,
            "tapeline mesh hosts.toml --pattern ring -- -t 1 -T 'a b'"
        );
        let words: Vec<_> = made
            .command
            .words
            .iter()
            .filter_map(|word| word.to_str())
            .collect();
        let wanted = "--as tapeline mesh --json-stream --json=mesh.json --history /h hosts.toml \
                      --pattern ring -- -t 1 -T";
        assert_eq!(words[..words.len() - 1].join(" "), wanted);
        let made = command(&mesh(""), None).expect("a command");
        assert!(made.command.words.contains(&"--no-save".into()));
        assert_eq!(made.line, "tapeline mesh hosts.toml --pattern full");
    }
}
