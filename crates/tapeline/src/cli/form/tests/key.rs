//! A permit key is in no text.

use super::*;

const KEY: &str = "correct horse";

fn with(job: FormJob, more: &[(&str, Option<&str>)]) -> Form {
    let mut options = vec![("permit-key", Some(KEY))];
    options.extend(more);
    form(job, &options)
}

#[test]
fn lines_hide_the_key() {
    let form = with(FormJob::Client, &[("client", Some("h"))]);
    let lines = CommandName::ALL.map(|name| line(&form, name));
    assert_eq!(
        lines[0].as_deref(),
        Ok("TAPELINE_PERMIT_KEY=… tapeline -c h")
    );
    assert_eq!(lines[1].as_deref(), Ok("iperf -c h '--permit-key=…'"));
    assert_eq!(lines[2], Err("iperf3 has no --permit-key".to_owned()));
    let made_up = server("permit-key");
    assert_eq!(
        line(&made_up, CommandName::Tapeline).as_deref(),
        Ok("tapeline -s --permit-key")
    );
}

#[test]
fn nothing_that_is_said_has_the_key() {
    for (job, more) in [
        (FormJob::Client, vec![("client", Some("h"))]),
        (FormJob::Client, vec![("client", Some("h")), ("udp", None)]),
        (FormJob::Client, vec![]),
        (
            FormJob::Client,
            vec![("client", Some("h")), ("time", Some("x"))],
        ),
        (
            FormJob::Client,
            vec![("client", Some("h")), ("nothing", None)],
        ),
        (
            FormJob::Client,
            vec![("client", Some("h")), ("peer", Some("iperf3"))],
        ),
        (FormJob::Server, vec![]),
        (FormJob::Server, vec![("udp", None)]),
        (FormJob::Server, vec![("permit-key-timeout", Some("x"))]),
    ] {
        let form = with(job, &more);
        let said = format!(
            "{:?} {:?}",
            findings(&form),
            CommandName::ALL.map(|name| line(&form, name))
        );
        assert!(!said.contains(KEY) && !said.contains("horse"), "{said}");
    }
    let long = "zqx".repeat(300);
    for key in ["zqx", "zqx\nzqx", &long] {
        let form = form(
            FormJob::Client,
            &[("client", Some("h")), ("permit-key", Some(key))],
        );
        let found = findings(&form);
        assert_eq!(found.faults.len(), 1, "{found:?}");
        assert_eq!(found.faults[0].option.as_deref(), Some("permit-key"));
        let lines = CommandName::ALL.map(|name| line(&form, name));
        assert!(
            !format!("{found:?} {lines:?}").contains("zqx"),
            "{found:?} {lines:?}"
        );
    }
    for line in [
        "tapeline -c h --permit-key horse",
        "tapeline -c h --permit=horse",
        "tapeline -c h --permit-kex=horse",
        "TAPELINE_PERMIT_KEY=horse tapeline -c h -q=7 -Q",
        "TAPELINE_PERMIT_KEY=horse nothing",
        "iperf -c h --permit-key=horse --nothing=horse",
        "iperf3 -c h --permit-key=x",
    ] {
        let said = read(line).expect_err(line);
        assert!(!said.contains("horse"), "{line}: {said}");
    }
}

#[test]
fn a_key_is_read_from_the_variable_and_from_the_option() {
    let wanted = with(FormJob::Client, &[("client", Some("h"))]);
    for line in [
        "TAPELINE_PERMIT_KEY='correct horse' tapeline -c h",
        "TAPELINE_PERMIT_KEY=other tapeline -c h '--permit-key=correct horse'",
        "iperf -c h --permit-key='correct horse'",
    ] {
        assert_eq!(read(line).as_ref(), Ok(&wanted), "{line}");
    }
    // What stands for a key is none.
    let shown = read("TAPELINE_PERMIT_KEY=… tapeline -c h").expect("a form");
    assert_eq!(shown.value(OptionId::PermitKey), Some(HIDDEN_KEY));
    assert_eq!(
        findings(&shown).faults[0].option.as_deref(),
        Some("permit-key")
    );
}
