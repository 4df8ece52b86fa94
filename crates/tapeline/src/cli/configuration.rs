//! `--print-config`: what a server would do, and why, as a file that `--config` reads.

use super::options::limits::{self, LIMITS};
use super::parse::Arity;
use super::settings::Settings;
use super::spec::{Given, OptionId as Id, Origin, RawArgs, RawItem};

/// Column of the reasons.
const REASONS: usize = 36;
/// The default of what nobody has said.
const DEFAULT: &str = "default";

/// The text.
pub(crate) fn text(raw: &RawArgs, settings: &Settings) -> String {
    let given = effective(raw);
    let mut lines =
        vec!["# Options that are not listed have the values that --help names.".to_owned()];
    let networks = &settings.access.limits;
    for (id, name, value) in [
        (Id::Allow, "allow", networks.allowed.to_string()),
        (Id::Deny, "deny", networks.denied.to_string()),
        (Id::Trust, "trust", networks.trusted.to_string()),
    ] {
        let reason = given.iter().find(|one| one.spec.id == id);
        lines.push(line(
            name,
            &quoted(&value),
            &reason.map_or(DEFAULT.into(), |one| origin(one)),
        ));
    }
    let shown = |one: &&&Given| {
        !matches!(
            one.spec.id,
            Id::Server
                | Id::Config
                | Id::PrintConfig
                | Id::Limit
                | Id::Allow
                | Id::Deny
                | Id::Trust
        )
    };
    for one in given.iter().filter(shown) {
        lines.push(option(one));
    }
    lines.push(String::new());
    lines.push("[limits]".to_owned());
    for spec in &LIMITS {
        let said = given.iter().rfind(|one| {
            one.spec.id == Id::Limit
                && limits::named(one).is_some_and(|said| said.name == spec.name)
        });
        let value = spec.shown(networks);
        let is_number = value.parse::<f64>().is_ok();
        let value = if is_number { value } else { quoted(&value) };
        lines.push(line(
            spec.name,
            &value,
            &said.map_or(DEFAULT.into(), |one| origin(one)),
        ));
    }
    lines.join("\n")
}

/// Options in the order in which they count; of each the last one, of limits all.
fn effective(raw: &RawArgs) -> Vec<&Given> {
    let environment = raw.environment.iter().filter(|one| one.spec.sides.server);
    let line = raw.line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given),
        _ => None,
    });
    let mut kept: Vec<&Given> = Vec::new();
    for one in raw.file.iter().chain(environment).chain(line) {
        if one.spec.id != Id::Limit {
            kept.retain(|other| other.spec.id != one.spec.id);
        }
        kept.push(one);
    }
    kept
}

fn option(one: &Given) -> String {
    let name = one.spec.long_name().unwrap_or_default();
    match one.spec.id {
        // Secrets are not shown, and a file cannot say what only a line can.
        Id::PermitKey if one.value.is_some() => line("# permit-key", "(not shown)", &origin(one)),
        Id::Client => line("# client", &quoted(&one.text()), &origin(one)),
        _ if one.value.is_none() => {
            debug_assert_ne!(one.spec.arity, Arity::Required);
            line(name, "true", &origin(one))
        }
        _ => line(name, &quoted(&one.text()), &origin(one)),
    }
}

fn line(name: &str, value: &str, reason: &str) -> String {
    format!("{:REASONS$} # {reason}", format!("{name} = {value}"))
}

/// Where a value came from.
fn origin(one: &Given) -> String {
    match one.origin {
        Origin::CommandLine | Origin::Environment(_) => one.named(),
        Origin::File => {
            let place = one.spelled.rsplit_once(": ");
            place
                .map_or(one.spelled.as_str(), |(place, _)| place)
                .to_owned()
        }
    }
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::cli::invocation::understand;
    use crate::plan::Invocation;
    use crate::plan::{Plan, Supervision};

    fn understood(line: &[&str], port: Option<&'static str>) -> Result<Plan, String> {
        let (_, resolution) = understand(&Invocation {
            program: "tapeline".into(),
            arguments: line.iter().map(OsString::from).collect(),
            variable: &|name| port.filter(|_| name == "IPERF_PORT").map(OsString::from),
            resolver: |_| Vec::new(),
        });
        let said = resolution.messages.into_iter().map(|message| message.text);
        let said: Vec<String> = said.collect();
        resolution.outcome.map_err(|_| said.join("\n"))
    }

    fn printed(line: &[&str], port: Option<&'static str>) -> String {
        match understood(&[line, &["--print-config"]].concat(), port) {
            Ok(Plan::Configuration(text)) => text,
            other => panic!("{line:?}: {other:?}"),
        }
    }

    fn file(text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("server.toml");
        std::fs::write(&path, text).expect("written");
        let path = path.display().to_string();
        (folder, path)
    }

    /// One that may hold a key.
    fn private_file(text: &str) -> (tempfile::TempDir, String) {
        let (folder, path) = file(text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, mode).expect("its mode");
        }
        (folder, path)
    }

    #[test]
    fn file_environment_and_line_count_in_this_order() {
        let (_folder, path) = file("port = 7001\ninterval = 2\nlen = '64K'\n[limits]\ntests = 3\n");
        let config = ["-s", "--config", &path];
        let shown = |extra: &[&str], port| {
            let text = printed(&[&config, extra].concat(), port);
            let lines = text.lines().filter(|line| line.contains(" # "));
            let words = |line: &str| {
                let (value, reason) = line.split_once(" # ").expect("a reason");
                (value.trim().to_owned(), reason.to_owned())
            };
            lines.map(words).collect::<Vec<_>>()
        };
        let has = |lines: &[(String, String)], value: &str, reason: &str| {
            assert!(
                lines.contains(&(value.to_owned(), reason.to_owned())),
                "{value} # {reason}: {lines:#?}"
            );
        };
        let lines = shown(&[], None);
        has(&lines, "port = \"7001\"", &format!("{path}:1"));
        has(&lines, "tests = 3", &format!("{path}:5"));
        has(&lines, "streams = 1024", "default");
        has(&lines, "allow = \"any\"", "default");
        let lines = shown(&[], Some("7002"));
        has(&lines, "port = \"7002\"", "variable IPERF_PORT");
        let lines = shown(
            &["-p", "7003", "--limit", "tests=9", "--deny", "::/0"],
            Some("7002"),
        );
        has(&lines, "port = \"7003\"", "option -p");
        has(&lines, "tests = 9", "option --limit");
        has(&lines, "deny = \"::/0\"", "option --deny");
        has(&lines, "interval = \"2\"", &format!("{path}:2"));
    }

    #[test]
    fn what_is_printed_means_the_same_as_a_file() {
        let line = [
            "-s",
            "-p",
            "5002-5004",
            "-i",
            "0.5",
            "--utc",
            "--deny",
            "192.0.2.0/24",
            "--limit",
            "duration=12.5",
            "--limit",
            "pending=9",
            "-B",
            "127.0.0.1",
            "-o",
            "a \"file\"\\",
        ];
        let (_folder, path) = file(&printed(&line, None));
        let meant = |line: &[&str]| match understood(line, None) {
            Ok(Plan::Server(plan, presentation, life, _)) => (plan, presentation, life),
            other => panic!("{line:?}: {other:?}"),
        };
        assert_eq!(meant(&["-s", "--config", &path]), meant(&line));
    }

    #[test]
    fn a_server_with_a_file_reads_it_again_and_tells_a_descriptor() {
        let (_folder, path) = file("ready-fd = 5");
        let supervised = |line: &[&str]| match understood(line, None) {
            Ok(Plan::Server(.., supervision)) => supervision,
            other => panic!("{line:?}: {other:?}"),
        };
        let with_file = supervised(&["-s", "--config", &path]);
        assert!(with_file.reloads && with_file.ready == Some(5));
        assert_eq!(supervised(&["-s"]), Supervision::default());
        let said = understood(&["-s", "--ready-fd", "2"], None).expect_err("an output");
        assert!(said.contains("needs a descriptor"), "{said}");
    }

    #[test]
    fn keys_come_from_files_and_variables_too() {
        let key = |line: &[&str], variable: Option<&'static str>| {
            let (_, resolution) = understand(&Invocation {
                program: "tapeline".into(),
                arguments: line.iter().map(OsString::from).collect(),
                variable: &|name| {
                    let wanted = variable.filter(|_| name == "TAPELINE_PERMIT_KEY");
                    wanted.map(OsString::from)
                },
                resolver: |_| Vec::new(),
            });
            match resolution.outcome {
                Ok(Plan::Server(plan, ..)) => plan.permit_key.map(|permit| permit.key),
                Ok(Plan::Client(plan, ..)) => plan.permit_key,
                other => panic!("{line:?}: {other:?} {:?}", resolution.messages),
            }
        };
        let wanted = |text: &str| tapeline_dialect::PermitKey::new(text.as_bytes()).ok();
        let (_folder, path) = file("from a file\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let everybody = understood(&["-s", "--permit-key-file", &path], None);
            let said = everybody.expect_err("all can read it");
            assert!(
                said.contains("all users of this system can read it"),
                "{said}"
            );
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, mode).expect("its mode");
        }
        for job in [&["-s"][..], &["-c", "h"][..]] {
            let by_file = [job, &["--permit-key-file", &path]].concat();
            assert_eq!(key(&by_file, None), wanted("from a file"));
            assert_eq!(key(job, Some("from a variable")), wanted("from a variable"));
            assert_eq!(
                key(&by_file, Some("from a variable")),
                wanted("from a file")
            );
            assert_eq!(key(job, None), None);
        }
        // iperf knows neither.
        let iperf = ["--as", "iperf", "-s"];
        assert_eq!(key(&iperf, Some("from a variable")), None);
        let text = printed(&["-s", "--permit-key-file", &path], None);
        assert!(
            !text.contains("from a file") && text.contains("permit-key-file"),
            "{text}"
        );
    }

    #[test]
    fn a_user_is_a_name_and_perhaps_a_group() {
        let account = |value: &str| match understood(&["-s", "--user", value], None) {
            Ok(Plan::Server(plan, ..)) => plan.account.map(|account| account.to_string()),
            other => panic!("{value}: {other:?}"),
        };
        assert_eq!(account("nobody").as_deref(), Some("nobody"));
        assert_eq!(account("65534:65534").as_deref(), Some("65534:65534"));
        for wrong in ["", ":", "nobody:", ":nogroup"] {
            let said = understood(&["-s", "--user", wrong], None).expect_err(wrong);
            assert!(said.contains("NAME or NAME:GROUP"), "{wrong}: {said}");
        }
        assert!(understood(&["-c", "h", "--user", "nobody"], None).is_err());
    }

    #[test]
    fn keys_are_not_shown_and_faults_are_refused() {
        let text = printed(&["-s", "--permit-key=open-sesame"], None);
        assert!(
            !text.contains("sesame") && text.contains("# permit-key"),
            "{text}"
        );
        for (line, part) in [
            (&["-s", "--config", "/no/such/file"][..], "No such file"),
            (&["-s", "--limit", "tests"][..], "NAME=VALUE"),
            (
                &["-s", "--limit", "guests=1"][..],
                "'guests' is none of tests",
            ),
            (&["-s", "--limit", "tests=-1"][..], "a whole number"),
            (
                &["-c", "h", "--print-config"][..],
                "does not apply to a client",
            ),
            (
                &["-c", "h", "--limit", "tests=1"][..],
                "does not apply to a client",
            ),
        ] {
            let said = understood(line, None).expect_err(part);
            assert!(said.contains(part), "{line:?}: {said}");
        }
        for text in [
            "port = 1\nlimits.tests = 'many'",
            "port = 1\npermit-key = 'abc'",
        ] {
            let (_folder, path) = private_file(text);
            let said = understood(&["-s", "--config", &path], None).expect_err(text);
            assert!(said.contains(&format!("{path}:2")), "{said}");
        }
    }
}
