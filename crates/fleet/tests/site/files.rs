//! The files without a server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tapeline_fleet::{
    AgentSettings, Change, CollectorSettings, ControllerSettings, Enrolment, HostName, NewSite,
    OperatorSettings,
};
use tempfile::TempDir;

fn new_site(server: &str, is_plain: bool) -> NewSite {
    NewSite {
        site: "lab".parse().expect("a name"),
        servers: vec![server.parse().expect("a server")],
        is_plain,
    }
}

fn site() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let site = new_site("tls://nats.example.net:4222", false);
    site.write(folder.path()).expect("a site");
    folder
}

fn enrolment(hosts: &[&str], address: Option<&str>, groups: &[&str]) -> Enrolment {
    Enrolment {
        hosts: hosts
            .iter()
            .map(|host| host.parse().expect("a name"))
            .collect(),
        address: address.map(str::to_owned),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    }
}

fn enrol(folder: &Path, host: &str, address: Option<&str>, groups: &[&str]) -> Change {
    let changes = enrolment(&[host], address, groups)
        .write(folder)
        .expect("enrolled");
    let name: HostName = host.parse().expect("a name");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].0, name);
    changes[0].1
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

/// All files with their contents.
fn all(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| {
        let name = entry.expect("a file").file_name();
        let name = name.into_string().expect("a name");
        let text = read(folder, &name);
        (name, text)
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn a_site_has_settings_for_each_role() {
    let folder = site();
    let folder = folder.path();
    let controller = ControllerSettings::read(&folder.join("controller.toml")).expect("settings");
    let collector = CollectorSettings::read(&folder.join("collector.toml")).expect("settings");
    let operator = OperatorSettings::read(&folder.join("operator.toml")).expect("settings");
    let all = [&controller.access, &collector.access, &operator.access];
    for access in all {
        assert_eq!(access.site.as_str(), "lab");
        assert_eq!(access.servers, ["tls://nats.example.net:4222"]);
        assert!(access.seed.starts_with("SU"));
        assert!(
            !format!("{access:?}").contains(&access.seed),
            "a secret is not shown"
        );
    }
    assert_eq!(
        all.map(|access| access.inbox()),
        ["_INBOX-controller", "_INBOX-collector", "_INBOX-operator"]
    );
    assert!(controller.links.is_empty() && operator.enrolled.is_empty());
    for name in ["controller.nk", "collector.nk", "operator.nk"] {
        let mode = fs::metadata(folder.join(name))
            .expect(name)
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let conf = read(folder, "nats-server.conf");
    for part in [
        "listen: \"0.0.0.0:4222\"",
        "sync_interval: always",
        "\ntls {",
        "include ./users.conf",
    ] {
        assert!(conf.contains(part), "{part}: {conf}");
    }
}

#[test]
fn a_site_is_not_made_over_another() {
    let folder = site();
    let before = all(folder.path());
    let again = new_site("tls://other.example.net", false).write(folder.path());
    let error = again.expect_err("there is one").to_string();
    assert!(
        error.contains("nats-server.conf is there already"),
        "{error}"
    );
    assert_eq!(all(folder.path()), before);
    fs::remove_file(folder.path().join("nats-server.conf")).expect("removed");
    assert!(new_site("tls://h", false).write(folder.path()).is_err());
    let open = tempfile::tempdir().expect("a folder");
    let error = new_site("nats://192.0.2.1", false).write(open.path());
    let error = error.expect_err("no TLS").to_string();
    assert!(
        error.contains("--server nats://192.0.2.1 has no TLS: use tls://192.0.2.1"),
        "{error}"
    );
    assert!(all(open.path()).is_empty());
    new_site("nats://192.0.2.1", true)
        .write(open.path())
        .expect("a plain site");
    let settings = OperatorSettings::read(&open.path().join("operator.toml")).expect("settings");
    assert!(settings.access.is_plain);
}

#[test]
fn an_enrolled_host_has_settings_and_a_key_that_stay() {
    let folder = site();
    let folder = folder.path();
    assert_eq!(
        enrol(folder, "fra1", Some("192.0.2.7"), &["eu", "core"]),
        Change::New
    );
    let settings = AgentSettings::read(&folder.join("fra1.toml")).expect("settings");
    assert_eq!(
        (settings.host.as_str(), &*settings.address),
        ("fra1", "192.0.2.7")
    );
    assert_eq!(settings.access.inbox(), "_INBOX_fra1");
    assert_eq!(settings.spool, Path::new("/var/lib/tapeline/spool"));
    let before = all(folder);
    assert_eq!(enrol(folder, "fra1", None, &[]), Change::None);
    assert_eq!(all(folder), before);
    // The owner's lines stay.
    let text = read(folder, "fra1.toml").replace("# max-time", "max-time");
    fs::write(folder.join("fra1.toml"), text).expect("written");
    assert_eq!(
        enrol(folder, "fra1", Some("192.0.2.8"), &["eu"]),
        Change::Changed
    );
    let changed = AgentSettings::read(&folder.join("fra1.toml")).expect("settings");
    assert_eq!(changed.address, "192.0.2.8");
    assert_eq!(changed.limits.longest_slot(), Some(60.0));
    assert_eq!(changed.access.seed, settings.access.seed);
    let operator = OperatorSettings::read(&folder.join("operator.toml")).expect("settings");
    assert_eq!(operator.enrolled.len(), 1);
    assert_eq!(operator.enrolled[0].groups, ["eu"]);
    // The seed went to the host.
    fs::remove_file(folder.join("fra1.nk")).expect("removed");
    let users = read(folder, "users.conf");
    assert_eq!(enrol(folder, "fra1", None, &[]), Change::None);
    assert_eq!(read(folder, "users.conf"), users);
    assert!(!folder.join("fra1.nk").exists());
    assert_eq!(enrol(folder, "osl1", None, &[]), Change::New);
    assert!(read(folder, "osl1.toml").contains("address = \"osl1\""));
    fs::copy(folder.join("osl1.nk"), folder.join("fra1.nk")).expect("copied");
    let other = enrolment(&["fra1"], None, &[])
        .write(folder)
        .expect_err("another key");
    assert!(
        other
            .to_string()
            .contains("fra1.nk has another key than enrolled.toml"),
        "{other}"
    );
}

#[test]
fn hosts_are_enrolled_at_a_site_and_under_names_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = |hosts: &[&str], address: Option<&str>, folder: &Path| {
        let error = enrolment(hosts, address, &[]).write(folder);
        error.expect_err("refused").to_string()
    };
    let none = error(&["fra1"], None, folder.path());
    assert!(none.starts_with("there is no site in "), "{none}");
    assert!(all(folder.path()).is_empty());
    let site = site();
    for name in ["controller", "Collector", "operator", "enrolled"] {
        let reserved = error(&[name], None, site.path());
        assert!(reserved.contains("is a file of the site"), "{reserved}");
    }
    let two = error(&["fra1", "osl1"], Some("192.0.2.7"), site.path());
    assert!(two.contains("--address is that of one host"), "{two}");
}

#[test]
fn what_is_wrong_with_settings_is_one_line_with_file_and_key() {
    let folder = site();
    let folder = folder.path();
    enrol(folder, "fra1", None, &[]);
    let good = read(folder, "fra1.toml");
    let wrong = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        fs::write(folder.join("agent.toml"), good.replace(from, to)).expect("written");
        let error = AgentSettings::read(&folder.join("agent.toml")).expect_err(to);
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    for (from, to, part) in [
        ("site = \"lab\"\n", "", "site is missing: site = \"lab\""),
        (
            "\"lab\"",
            "\"l.b\"",
            "agent.toml:3: site = \"l.b\": \"l.b\" is no name of a site",
        ),
        (
            "tls://",
            "nats://",
            "has no TLS: use tls://nats.example.net:4222, or say plain = true",
        ),
        (
            "[\"tls://nats.example.net:4222\"]",
            "\"tls://h\"",
            "agent.toml:4: servers = \"tls://h\": a list",
        ),
        (
            "[\"tls://nats.example.net:4222\"]",
            "[]",
            "servers = []: a list",
        ),
        (
            "\"fra1.nk\"",
            "\"no.nk\"",
            "agent.toml:5: key = \"no.nk\": cannot read ",
        ),
        ("\"fra1.nk\"", "\"fra1.toml\"", "key = \"fra1.toml\": "),
        (
            "\"fra1\"\n#",
            "\"-x\"\n#",
            "address = \"-x\": an address or a name",
        ),
        (
            "# hours = \"22:00-06:00\"",
            "hours = \"22-6\"",
            ": hours = \"22-6\": times of day",
        ),
        (
            "# class = \"background\"",
            "class = \"x\"",
            ": class = \"x\": unknown variant `x`",
        ),
        (
            "# class = \"background\"",
            "speed = \"x\"",
            "there is no key \"speed\"; there are host, site,",
        ),
        ("# class = \"background\"", "class", "agent.toml:"),
    ] {
        let text = wrong(from, to);
        assert!(text.contains(part), "{text}\n{part}");
    }
    fs::set_permissions(folder.join("fra1.nk"), fs::Permissions::from_mode(0o640)).expect("set");
    let open = AgentSettings::read(&folder.join("fra1.toml"))
        .expect_err("open")
        .to_string();
    assert!(open.contains("others can read it: chmod 600 "), "{open}");
    let none = OperatorSettings::read(&folder.join("none.toml"))
        .expect_err("none")
        .to_string();
    assert!(
        none.starts_with("cannot read ") && none.contains("none.toml: No such file"),
        "{none}"
    );
}

#[test]
fn links_are_read() {
    let folder = site();
    let path = folder.path().join("controller.toml");
    let text = read(folder.path(), "controller.toml");
    let example = text
        .replace("# [[", "[[")
        .replace("# hosts", "hosts")
        .replace("# at_", "at_");
    fs::write(&path, example).expect("written");
    let links = ControllerSettings::read(&path).expect("settings").links;
    assert_eq!(
        (links.len(), links[0].hosts.len(), links[0].at_once),
        (1, 2, 1)
    );
    for wrong in [
        "shared = 1",
        "[[shared]]\nhosts = [\"a\"]\nat_once = 0",
        "[[shared]]\nhosts = []",
    ] {
        fs::write(&path, format!("{text}\n{wrong}\n")).expect("written");
        let error = ControllerSettings::read(&path)
            .expect_err(wrong)
            .to_string();
        assert!(error.contains("a shared link is [[shared]]"), "{error}");
    }
}
