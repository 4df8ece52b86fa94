//! What a fleet says when something is not as it should be, and its exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{Fleet, Invocation, skip};

use crate::support::{SOON, options, says};

/// A line of the collector, which ends by itself only when it may not go on.
fn collector(fleet: &Fleet) -> Invocation {
    let (folder, spec) = (fleet.folder().display(), "fleet collect --config");
    let line = format!("{spec} {folder}/collector.toml --history {folder}/fleet.db");
    fleet.collector.tapeline(&line).deadline(SOON)
}

/// Takes a part of a file away, which begins and ends so.
fn cut(path: &Path, begin: &str, end: &str) {
    let text = fs::read_to_string(path).expect("a file");
    let (before, rest) = text.split_once(begin).expect("its beginning");
    let (_, after) = rest.split_once(end).expect("its end");
    fs::write(path, format!("{before}{after}")).expect("a file");
}

#[test]
fn what_is_wrong_with_an_order_is_said() {
    let Some(options) = options("what_is_wrong_with_an_order_is_said", 3, 1) else {
        return;
    };
    let mut fleet = Fleet::started(options);
    let schedule = fleet.folder().join("busy.toml");
    let text = "name = \"busy\"\nhosts = [\"h1\", \"h2\"]\npattern = \"full\"\nevery = \"1m\"\n\
                test = \"-t 39\"\n";
    fs::write(&schedule, text).expect("a file");
    let add = |fleet: &Fleet| {
        let line = format!("fleet schedule add {}", schedule.display());
        fleet.operator(&line).run().expect("tapeline")
    };
    says(
        &add(&fleet),
        2,
        "would be busy 135 % of the time: every = \"2m\"",
    );
    fs::write(&schedule, text.replace("h2", "h9")).expect("a file");
    says(&add(&fleet), 2, "no host of the site is called h9");
    let run = fleet.operator("fleet run h1 h9 -- -t 1").run();
    let words = "no host of the site is called h9: tapeline fleet enrol h9";
    says(&run.expect("tapeline"), 2, words);
    // The shortest time that a job can be given.
    fleet.agents[2].kill();
    let line = "fleet run h1 h3 --expires 1m --wait --json -- -t 1";
    let waits = fleet.operator(line).spawn().expect("tapeline");
    assert!(waits.wait_for_error(SOON, |said| said.contains("1 job submitted")));
    let jobs = fleet.operator("fleet jobs").run().expect("tapeline");
    assert!(jobs.stdout.contains("h3 is away"), "{jobs}");
    assert!(jobs.stdout.contains("; its job waits until "), "{jobs}");
    let ended = waits.wait().expect("an end");
    assert_eq!(ended.code(), Some(6), "{ended}{}", fleet.logs());
    assert!(ended.stdout.contains("\"state\": \"expired\""), "{ended}");
}

#[test]
fn a_key_that_the_server_does_not_know_is_named() {
    let Some(options) = options("a_key_that_the_server_does_not_know_is_named", 1, 1) else {
        return;
    };
    let mut fleet = Fleet::new(options).expect("a fleet");
    fleet.start_server();
    // After the server read its users, and as those of another site.
    let folder = fleet.folder().display().to_string();
    let enrol = format!("fleet enrol late --out {folder}");
    let enrolled = fleet.server.tapeline(&enrol).run().expect("tapeline");
    assert_eq!(enrolled.code(), Some(0), "{enrolled}");
    let line = format!("agent --config {folder}/late.toml");
    let agent = fleet.agents[0].tapeline(&line).deadline(SOON).run();
    let words = "the server does not know the key of late: tapeline fleet enrol late";
    says(&agent.expect("tapeline"), 1, words);
    for (role, file) in [("controller", "controller.nk"), ("collect", "collector.nk")] {
        let late = fs::read(fleet.folder().join("late.nk")).expect("a seed");
        fs::write(fleet.folder().join(file), late).expect("a seed");
        let line = match role {
            "controller" => {
                let line = format!("fleet controller --config {folder}/controller.toml");
                fleet.controllers[0].tapeline(&line).deadline(SOON)
            }
            _ => collector(&fleet),
        };
        says(
            &line.run().expect("tapeline"),
            1,
            "the server does not know the key of ",
        );
    }
}

#[test]
fn a_server_without_a_store_is_refused() {
    let Some(options) = options("a_server_without_a_store_is_refused", 1, 1) else {
        return;
    };
    let mut fleet = Fleet::new(options).expect("a fleet");
    let conf = fleet.folder().join("nats-server.conf");
    cut(&conf, "jetstream {", "}\n");
    cut(
        &fleet.folder().join("users.conf"),
        "jetstream: enabled",
        "\n",
    );
    fleet.start_server();
    let words = "JetStream is off there: add jetstream {} to its configuration";
    says(&collector(&fleet).run().expect("tapeline"), 1, words);
    let agent = format!("agent --config {}/h1.toml", fleet.folder().display());
    let agent = fleet.agents[0].tapeline(&agent).deadline(SOON).run();
    says(&agent.expect("tapeline"), 1, words);
    says(
        &fleet.operator("fleet hosts").run().expect("tapeline"),
        1,
        words,
    );
}

/// It has rights, but those of another host.
#[test]
fn a_key_of_another_host_is_refused_aloud() {
    let Some(options) = options("a_key_of_another_host_is_refused_aloud", 2, 1) else {
        return;
    };
    let mut fleet = Fleet::new(options).expect("a fleet");
    fleet.start_server();
    let key = fs::read(fleet.folder().join("h2.nk")).expect("a seed");
    fs::write(fleet.folder().join("h1.nk"), key).expect("a seed");
    fleet.agents[0].start().expect("an agent");
    fleet.agents[0].await_log(SOON, "refused", |log| {
        log.contains("h1: the server refuses: ") && log.contains("tl.v1.agent.lab.h1.do")
    });
}

/// The server of Debian 12, if it can be had.
fn old_server(folder: &Path) -> Option<PathBuf> {
    let run = |name: &str, words: &[&str]| {
        let mut command = Command::new(name);
        let done = command.args(words).current_dir(folder).output();
        done.is_ok_and(|done| done.status.success())
    };
    run("apt-get", &["-q", "download", "nats-server"]).then_some(())?;
    let files = fs::read_dir(folder).ok()?.flatten();
    let mut names = files.filter_map(|file| file.file_name().into_string().ok());
    let package = names.find(|name| name.starts_with("nats-server_2.9"))?;
    run("dpkg-deb", &["-x", &package, "."]).then_some(())?;
    let places = ["usr/bin/nats-server", "usr/sbin/nats-server"].map(|name| folder.join(name));
    places.into_iter().find(|place| place.is_file())
}

#[test]
fn a_server_that_is_too_old_is_refused() {
    let name = "a_server_that_is_too_old_is_refused";
    let Some(options) = options(name, 1, 1) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = old_server(folder.path()) else {
        return skip(name, "no nats-server 2.9 from apt-get download");
    };
    let fleet = Fleet::new(options).expect("a fleet");
    cut(
        &fleet.folder().join("nats-server.conf"),
        "sync_interval: always",
        "\n",
    );
    let server = Invocation::for_executable("nats-server 2.9", program)
        .line("-c nats-server.conf")
        .in_folder(fleet.folder())
        .within(fleet.server.host().namespace())
        .deadline(SOON)
        .spawn()
        .expect("a server");
    let ready = server.wait_for_error(SOON, |said| said.contains("Server is ready"));
    assert!(ready, "{}", server.stderr());
    let words = "nats-server 2.9.10 is too old: 2.10 is needed";
    says(&collector(&fleet).run().expect("tapeline"), 1, words);
    says(
        &fleet.operator("fleet hosts").run().expect("tapeline"),
        1,
        words,
    );
}
