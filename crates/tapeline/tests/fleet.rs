//! `tapeline fleet`: the files of a site, made by the program.
//!
//! Run by `cargo test -p tapeline --features fleet --test fleet`.

#![cfg(all(unix, feature = "fleet"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use program::{Ended, Program, command};
use tapeline_fleet::{AgentSettings, OperatorSettings};
use tempfile::TempDir;

fn fleet(folder: &TempDir, line: &str) -> Ended {
    let words = std::iter::once("fleet").chain(line.split_whitespace());
    let words: Vec<&str> = words.collect();
    let mut command = command(&words);
    command.current_dir(folder);
    Program::spawn(command).end()
}

/// What it prints on standard output when it succeeds.
fn done(folder: &TempDir, line: &str) -> String {
    let ended = fleet(folder, line);
    assert_eq!((ended.code(), &*ended.stderr), (Some(0), ""), "{line}");
    ended.stdout
}

/// What it prints on standard error when the line cannot be carried out.
fn refused(folder: &TempDir, line: &str) -> String {
    let ended = fleet(folder, line);
    assert_eq!((ended.code(), &*ended.stdout), (Some(2), ""), "{line}");
    ended.stderr
}

#[test]
fn a_site_begins_and_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = refused(&folder, "enrol fra1");
    assert!(
        none.starts_with("error: there is no site in fleet: tapeline fleet init"),
        "{none}"
    );
    let begun = done(&folder, "init --site lab");
    for part in [
        "The site \"lab\" is in fleet.",
        "Only this host reaches nats://127.0.0.1:4222",
        "nats-server -c fleet/nats-server.conf",
        "tapeline fleet enrol HOST --address ADDRESS\n",
        "tapeline fleet controller\n",
    ] {
        assert!(begun.contains(part), "{part}: {begun}");
    }
    let again = refused(&folder, "init --site lab");
    assert!(
        again.contains("fleet/nats-server.conf is there already"),
        "{again}"
    );
    let enrolled = done(&folder, "enrol fra1 --address 192.0.2.7 --group eu");
    for part in [
        "fra1: enrolled\n",
        "nats-server --signal reload",
        "copy to fra1: fleet/fra1.nk as /etc/tapeline/fra1.nk",
    ] {
        assert!(enrolled.contains(part), "{part}: {enrolled}");
    }
    assert_eq!(done(&folder, "enrol fra1"), "fra1: as it was\n");
    let changed = done(&folder, "enrol fra1 osl1 --group north");
    assert!(
        changed.starts_with("fra1: changed\nosl1: enrolled; others test towards the name osl1"),
        "{changed}"
    );
    let site = folder.path().join("fleet");
    let agent = AgentSettings::read(&site.join("fra1.toml")).expect("settings");
    assert_eq!(agent.address, "192.0.2.7");
    let operator = OperatorSettings::read(&site.join("operator.toml")).expect("settings");
    assert!(
        operator
            .enrolled
            .iter()
            .all(|host| host.groups == ["north"])
    );
    assert_eq!(operator.enrolled.len(), 2);
    let reserved = refused(&folder, "enrol operator");
    assert!(
        reserved.contains("operator.toml is a file of the site"),
        "{reserved}"
    );
}

#[test]
fn a_site_with_tls_says_where_the_certificate_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = done(
        &folder,
        "init --site lab --server tls://nats.example.net --out x",
    );
    for part in [
        "put the server's certificate into x/server.crt, its key into x/server.key\n",
        "tapeline fleet enrol HOST --address ADDRESS --out x\n",
        "tapeline fleet collect --config x/collector.toml\n",
    ] {
        assert!(begun.contains(part), "{part}: {begun}");
    }
    assert!(!begun.contains("Only this host"), "{begun}");
}
