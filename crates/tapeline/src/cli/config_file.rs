//! Options from a file in TOML: a server's (`--config FILE`), those of a client's flows
//! (`--flows FILE`), or a user's habits.
//!
//! The keys are the long names of options that apply to a server, and below `[limits]` the names
//! that `--limit` takes. So the file can say what the command line can, and nothing else:
//!
//! ```toml
//! port = 5201
//! trust = ["10.0.0.0/8", "2001:db8::/32"]
//!
//! [limits]
//! tests = 16
//! ```

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tapeline_dialect::Personality;
use toml::de::{DeTable, DeValue};

use super::options::table::all;
use super::parse::Arity;
use super::spec::{Availability, Given, OptionId, OptionSpec, Origin};
use super::values::nearest_of;
use crate::files::input;

/// Files beyond this are none of ours, bytes.
const LONGEST: u64 = 1 << 20;
/// The table whose keys are limits.
const LIMITS: &str = "limits";

/// What a file says, as options in the order of its lines.
///
/// # Errors
/// A sentence for the user that names the file, and the line where one is wrong.
pub(crate) fn read(path: &Path) -> Result<Vec<Given>, String> {
    let name = path.display();
    let (file, text) = opened(path, "configuration")?;
    let given = parse(&name.to_string(), &text, SERVER)?;
    let secret = |one: &&Given| one.spec.id == OptionId::PermitKey && one.value.is_some();
    if let Some(key) = given.iter().find(secret) {
        input::check_secret(&file)
            .map_err(|error| format!("{}: {}", key.spelled, tapeline_sys::reason(&error)))?;
    }
    Ok(given)
}

/// A user's habits, as options in the order of their lines: none without a file.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_habits(path: &Path) -> Result<Vec<Given>, String> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let (_, text) = opened(path, "configuration")?;
    parse(&path.display().to_string(), &text, HABITS)
}

/// A file and its text; `what` is what it is.
fn opened(path: &Path, what: &str) -> Result<(File, String), String> {
    let failed = |error: io::Error| {
        let reason = tapeline_sys::reason(&error);
        format!("{what} {}: {reason}", path.display())
    };
    let file = File::open(path).map_err(failed)?;
    let text = contents(&file).map_err(failed)?;
    Ok((file, text))
}

/// Different flows of one test, as a file has them.
#[derive(Debug)]
pub(crate) struct FlowsFile {
    /// For all flows, the server too.
    pub(crate) common: Vec<Given>,
    pub(crate) flows: Vec<FileFlow>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct FileFlow {
    pub(crate) name: Option<String>,
    pub(crate) options: Vec<Given>,
}

/// The key of the tables of flows.
const FLOW: &str = "flow";

/// What a file says of the flows of a client's test (`--flows FILE`).
///
/// # Errors
/// As [`read`].
pub(crate) fn read_flows(path: &Path) -> Result<FlowsFile, String> {
    let (_, text) = opened(path, "flows")?;
    parse_flows(&path.display().to_string(), &text)
}

fn parse_flows(name: &str, text: &str) -> Result<FlowsFile, String> {
    let source = Source { name, text };
    let table = source.table()?;
    let mut file = FlowsFile {
        common: Vec::new(),
        flows: Vec::new(),
    };
    let mut keys: Vec<_> = table.get_ref().iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in keys {
        let at = key.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("host", DeValue::String(host)) => {
                let spec = all().find(|spec| spec.id == OptionId::Client);
                let spec = spec.ok_or_else(|| source.fault(at, "there are no clients"))?;
                file.common
                    .push(given(&source, at, spec, Some(host.to_string())));
            }
            (FLOW, DeValue::Array(flows)) => {
                for flow in flows {
                    let DeValue::Table(flow) = flow.get_ref() else {
                        return Err(source.fault(at, "flow is a table: [[flow]]"));
                    };
                    file.flows.push(flow_of(&source, flow)?);
                }
            }
            (FLOW, _) => return Err(source.fault(at, "flow is a table: [[flow]]")),
            (name, value) => file
                .common
                .extend(option(&source, at, name, value, CLIENT)?),
        }
    }
    Ok(file)
}

fn flow_of(source: &Source<'_>, table: &DeTable<'_>) -> Result<FileFlow, String> {
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let mut flow = FileFlow {
        name: None,
        options: Vec::new(),
    };
    for (key, value) in keys {
        let at = key.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(name)) => flow.name = Some(name.to_string()),
            (name, value) => flow
                .options
                .extend(option(source, at, name, value, CLIENT)?),
        }
    }
    Ok(flow)
}

fn contents(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("longer than 1 MiB"));
    }
    Ok(text)
}

/// A file's text, in which errors have their line.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// `FILE:LINE`.
    fn place(&self, at: usize) -> String {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        format!("{}:{line}", self.name)
    }

    fn table(&self) -> Result<toml::Spanned<DeTable<'_>>, String> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.fault(at, error.message())
        })
    }

    fn fault(&self, at: usize, sentence: &str) -> String {
        format!("{}: {sentence}", self.place(at))
    }
}

fn parse(name: &str, text: &str, side: Side) -> Result<Vec<Given>, String> {
    let source = Source { name, text };
    let table = source.table()?;
    let mut found = Vec::new();
    for (key, value) in table.get_ref() {
        let (name, at) = (key.get_ref().as_ref(), key.span().start);
        match value.get_ref() {
            DeValue::Table(limits) if name == LIMITS => {
                for (key, value) in limits {
                    let at = key.span().start;
                    found.push((at, limit(&source, at, key.get_ref(), value.get_ref())?));
                }
            }
            value => {
                if let Some(given) = option(&source, at, name, value, side)? {
                    found.push((at, given));
                }
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, given)| given).collect())
}

/// One limit, as `--limit NAME=VALUE` says it.
fn limit(source: &Source<'_>, at: usize, name: &str, value: &DeValue<'_>) -> Result<Given, String> {
    let text = scalar(value)
        .ok_or_else(|| source.fault(at, &format!("{name} is neither a number nor a text")))?;
    let spec = all().find(|spec| spec.id == OptionId::Limit);
    let spec = spec.ok_or_else(|| source.fault(at, "there are no limits"))?;
    Ok(given(source, at, spec, Some(format!("{name}={text}"))))
}

/// One option; `None` for a switch that is off.
fn option(
    source: &Source<'_>,
    at: usize,
    name: &str,
    value: &DeValue<'_>,
    side: Side,
) -> Result<Option<Given>, String> {
    let spec = settable(side)
        .find(|spec| spec.long_name() == Some(name) || spec.former_names.contains(&name))
        .ok_or_else(|| source.fault(at, &unknown(name, side)))?;
    let value = match (spec.arity, value) {
        (Arity::Switch, DeValue::Boolean(on)) => {
            return Ok(on.then(|| given(source, at, spec, None)));
        }
        (Arity::Switch, _) => {
            return Err(source.fault(at, &format!("{name} is a switch: true or false")));
        }
        (Arity::Optional, DeValue::Boolean(true)) => None,
        (_, value) => Some(text(value).ok_or_else(|| {
            source.fault(
                at,
                &format!("{name} is neither a number, a text nor a list of them"),
            )
        })?),
    };
    Ok(Some(given(source, at, spec, value)))
}

fn given(
    source: &Source<'_>,
    at: usize,
    spec: &'static OptionSpec,
    value: Option<String>,
) -> Given {
    Given {
        spec,
        spelled: format!("{}: {}", source.place(at), spec.long),
        value: value.map(OsString::from),
        origin: Origin::File,
        letter_with_equals: false,
    }
}

/// Whose options a file has.
#[derive(Clone, Copy, Debug)]
struct Side {
    name: &'static str,
    has: fn(&OptionSpec) -> bool,
}

const SERVER: Side = Side {
    name: "server",
    has: |spec| spec.sides.server,
};
/// What holds for every client of a user, unless its line says otherwise.
const HABITS: Side = Side {
    name: "user's configuration",
    has: |spec| {
        use OptionId::{History, HistorySize, Retention, Save};
        matches!(spec.id, Save | History | HistorySize | Retention)
    },
};
const CLIENT: Side = Side {
    name: "client",
    has: |spec| spec.sides.client,
};

/// Options that a file may set.
fn settable(side: Side) -> impl Iterator<Item = &'static OptionSpec> {
    use OptionId as Id;
    all().filter(move |spec| {
        let shown = matches!(
            spec.id,
            Id::Server
                | Id::Client
                | Id::Config
                | Id::PrintConfig
                | Id::Limit
                | Id::Flow
                | Id::Flows
                | Id::Help
                | Id::Version
        );
        spec.personalities.include(Personality::Native)
            && spec.availability == Availability::Available
            && (side.has)(spec)
            && !shown
    })
}

fn unknown(name: &str, side: Side) -> String {
    let names = settable(side).filter_map(OptionSpec::long_name);
    let side = side.name;
    match nearest_of(name, names) {
        Some(near) => format!("a {side} has no option {name}; did you mean {near}?"),
        None => format!("a {side} has no option {name}"),
    }
}

/// A value as it would be typed; elements of a list have commas between them.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Array(elements) => {
            let elements: Option<Vec<_>> =
                elements.iter().map(|one| scalar(one.get_ref())).collect();
            elements.map(|elements| elements.join(","))
        }
        value => scalar(value),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// What must hold for any content of a file: it says options in the order of its lines, or which line is
/// wrong.
#[cfg(any(test, fuzzing))]
pub(crate) fn contract(content: &[u8]) {
    let Ok(text) = std::str::from_utf8(content) else {
        return;
    };
    let lines = 1 + text.matches('\n').count();
    let line = |message: &str| -> usize {
        let digits = message
            .strip_prefix("f:")
            .and_then(|rest| rest.split(':').next());
        let line = digits.and_then(|digits| digits.parse().ok());
        line.unwrap_or_else(|| panic!("no line in {message:?}"))
    };
    match parse("f", text, SERVER) {
        Ok(given) => {
            let places: Vec<usize> = given.iter().map(|one| line(&one.spelled)).collect();
            assert!(places.is_sorted(), "{places:?}");
            assert!(places.iter().all(|line| (1..=lines).contains(line)));
        }
        Err(fault) => assert!((1..=lines).contains(&line(&fault)), "{fault}"),
    }
    if let Err(fault) = parse_flows("f", text) {
        assert!((1..=lines).contains(&line(&fault)), "{fault}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let given = parse("f", text, SERVER).unwrap_or_else(|fault| panic!("{fault}"));
        let value = |one: &Given| one.value.as_ref().map(|_| one.text());
        given
            .iter()
            .map(|one| format!("{} = {:?}", one.spelled, value(one)))
            .collect()
    }

    #[test]
    fn former_names_are_keys_too() {
        assert_eq!(
            lines("no-control = true\n[limits]\nnewcomers = 3\n"),
            [
                "f:1: no-peer-results = None",
                "f:3: limit = Some(\"newcomers=3\")"
            ]
        );
    }

    #[test]
    fn keys_are_names_of_options_and_limits() {
        let text = "port = 5_201\n# a comment\npermit-key = true\nudp = false\n\
                    trust = ['10.0.0.0/8', \"::1\"]\ninterval = 0.5\none-at-a-time = true\n\
                    [limits]\ntests = 16\nduration = '10m'\n";
        assert_eq!(
            lines(text),
            [
                "f:1: port = Some(\"5201\")",
                "f:3: permit-key = None",
                "f:5: trust = Some(\"10.0.0.0/8,::1\")",
                "f:6: interval = Some(\"0.5\")",
                "f:7: one-at-a-time = None",
                "f:9: limit = Some(\"tests=16\")",
                "f:10: limit = Some(\"duration=10m\")",
            ]
        );
        assert!(lines("").is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, fault) in [
            (
                "port = 1\nprt = 2",
                "f:2: a server has no option prt; did you mean port?",
            ),
            ("port = 1\nport = 2", "f:2: duplicate key"),
            ("port =", "f:1: "),
            ("udp = 1", "f:1: udp is a switch: true or false"),
            ("port = 1979-05-27", "f:1: port is neither"),
            ("port = [[1]]", "f:1: port is neither"),
            ("port = true", "f:1: port is neither"),
            ("limits = 5", "f:1: a server has no option limits"),
            ("\n[limits]\ntests = [1]", "f:3: tests is neither"),
            ("[other]\nx = 1", "f:1: a server has no option other"),
            ("server = true", "f:1: a server has no option server"),
            (
                "time = 1\nreverse = true",
                "f:2: a server has no option reverse",
            ),
            ("config = 'x'", "f:1: a server has no option config"),
        ] {
            let message = parse("f", text, SERVER).expect_err(text);
            assert!(message.starts_with(fault), "{text}: {message}");
        }
        let missing = read(Path::new("/no/such/file")).expect_err("missing");
        assert_eq!(
            missing,
            "configuration /no/such/file: No such file or directory"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("server.toml");
            std::fs::write(&path, "port = 1\npermit-key = 'open sesame'").expect("written");
            for (mode, wrong) in [(0o640, false), (0o644, true)] {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(&path, mode).expect("its mode");
                let message = read(&path).err().unwrap_or_default();
                let exposed =
                    message.contains(":2: permit-key: all users of this system can read it");
                assert_eq!(exposed, wrong, "{message}");
            }
        }
        let endless = read(Path::new("/dev/zero"));
        assert!(!cfg!(unix) || endless.is_err());
    }
}
