//! Options that somebody elsewhere gives by identifier and value, as a command line.

use std::borrow::Cow;
use std::ffi::OsString;

use tapeline_dialect::Personality;
use tapeline_remote::{GivenOption, Job};

use super::flows;
use super::options::table::usable;
use super::parse::Arity;
use super::spec::{OptionId, OptionSpec, Remote, ValueKind};

/// Longest value, bytes.
const MAX_VALUE: usize = 1024;
/// Most options of an order.
pub(crate) const MAX_OPTIONS: usize = 200;

/// The words of a command line that does the job.
///
/// # Errors
/// An option that the table does not know, that nobody elsewhere may give, that belongs to the other job,
/// or whose value cannot be one of its kind.
pub(crate) fn arguments(job: Job<'_>, options: &[GivenOption]) -> Result<Vec<OsString>, String> {
    if options.len() > MAX_OPTIONS {
        return Err(format!("more than {MAX_OPTIONS} options"));
    }
    let mut words = Vec::new();
    let mut hosts = 0;
    for given in options {
        let spec = find(&given.name)?;
        match (spec.id, job) {
            (OptionId::Server, _) => return Err("the order says who serves".to_owned()),
            (OptionId::Client, Job::Client) => hosts += 1,
            (OptionId::Client | OptionId::Port | OptionId::Allow, Job::Server { .. })
            | (OptionId::Client, Job::AnyServer) => {
                return Err(format!("--{}: the order itself says that", given.name));
            }
            _ => {}
        }
        words.push(word(spec, given)?.into());
    }
    match job {
        Job::Client if hosts != 1 => return Err("a client needs one host: client".to_owned()),
        Job::Client => {}
        Job::AnyServer => words.push("--server".into()),
        Job::Server { allow } => {
            words.extend(["--server".into(), "--port=0".into()]);
            for networks in allow {
                check("allow", ValueKind::Networks, networks)?;
                words.push(format!("--allow={networks}").into());
            }
        }
    }
    Ok(words)
}

/// The option of an identifier.
///
/// # Errors
/// No option is called so.
pub(crate) fn find(name: &str) -> Result<&'static OptionSpec, String> {
    let mut known = usable(Personality::Native);
    known
        .find(|spec| name_of(spec) == name)
        .ok_or_else(|| format!("no option is called {:?}", shortened(name)))
}

/// What identifies an option: its long name, or its letter where it has none.
pub(crate) fn identifier(spec: &OptionSpec) -> String {
    name_of(spec).into_owned()
}

/// The same for comparison: few options have no long name.
fn name_of(spec: &OptionSpec) -> Cow<'static, str> {
    let letter = || spec.short.map(String::from).unwrap_or_default();
    spec.long_name()
        .map_or_else(|| Cow::Owned(letter()), Cow::Borrowed)
}

/// One word, as the command line has it.
///
/// # Errors
/// Nobody elsewhere may give the option, or its value cannot be one of its kind.
pub(crate) fn word(spec: &OptionSpec, given: &GivenOption) -> Result<String, String> {
    let name = &given.name;
    let kind = match spec.remote {
        Remote::Yes(kind) => kind,
        Remote::No(why) => return Err(format!("--{name} cannot be ordered: {why}")),
    };
    let dashes = if spec.long_name().is_some() {
        "--"
    } else {
        "-"
    };
    if let (OptionId::Flow, Some(value)) = (spec.id, &given.value) {
        check_flow(value)?;
    }
    match (&given.value, spec.arity) {
        (None, Arity::Switch | Arity::Optional) => Ok(format!("{dashes}{name}")),
        (None, Arity::Required) => Err(format!("--{name} needs a value")),
        (Some(_), Arity::Switch) => Err(format!("--{name} takes no value")),
        (Some(value), Arity::Required | Arity::Optional) => {
            check(name, kind, value)?;
            Ok(format!("--{name}={value}"))
        }
    }
}

/// A flow's options are options as well.
fn check_flow(value: &str) -> Result<(), String> {
    // What cannot be read is for the command line to say.
    for given in flows::options_of(value).unwrap_or_default() {
        let value = given.value.as_ref().map(|_| given.text());
        let name = identifier(given.spec);
        word(given.spec, &GivenOption { name, value }).map_err(|why| format!("--flow: {why}"))?;
    }
    Ok(())
}

/// Whether a value can be one of its kind; what it means is for the command line to say.
fn check(name: &str, kind: ValueKind, value: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("--{name}: {why}: {:?}", shortened(value)));
    if value.len() > MAX_VALUE || value.chars().any(char::is_control) {
        return refuse("no value of one short line");
    }
    let numeric = |extra: &str| {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || extra.contains(letter);
        !value.is_empty() && value.chars().all(fits)
    };
    let fits = match kind {
        ValueKind::Switch => false,
        ValueKind::Text => true,
        ValueKind::Choice(words) => words.contains(&value),
        ValueKind::Count => value.parse::<u64>().is_ok(),
        ValueKind::Port => numeric("-"),
        ValueKind::Bytes
        | ValueKind::Rate
        | ValueKind::Seconds
        | ValueKind::Millis
        | ValueKind::Percent => numeric(".,-+/%:"),
        ValueKind::Networks => numeric(".,:/"),
        // A device belongs to this host.
        ValueKind::Host => {
            let begins = value.chars().next();
            begins.is_some_and(|first| first != '-') && numeric(".-_:[]")
        }
    };
    if fits {
        Ok(())
    } else {
        refuse(&format!("no {}", kind.noun()))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(options: &[(&str, Option<&str>)]) -> Result<Vec<String>, String> {
        order(Job::Client, options)
    }

    fn order(job: Job<'_>, options: &[(&str, Option<&str>)]) -> Result<Vec<String>, String> {
        let given = options.iter().map(|(name, value)| GivenOption {
            name: (*name).to_owned(),
            value: value.map(str::to_owned),
        });
        let given: Vec<GivenOption> = given.collect();
        let words = arguments(job, &given)?;
        Ok(words
            .into_iter()
            .map(|word| word.into_string().expect("text"))
            .collect())
    }

    #[test]
    fn orders_become_command_lines() {
        assert_eq!(
            client(&[
                ("client", Some("192.0.2.7:5001")),
                ("time", Some("10")),
                ("udp", None),
                ("4", None),
                ("bounceback", None),
                ("tos", Some("ef")),
            ]),
            Ok([
                "--client=192.0.2.7:5001",
                "--time=10",
                "--udp",
                "-4",
                "--bounceback",
                "--tos=ef"
            ]
            .map(str::to_owned)
            .to_vec())
        );
        let allow = ["192.0.2.9".to_owned()];
        let job = Job::Server { allow: &allow };
        assert_eq!(
            order(job, &[("udp", None)]),
            Ok(["--udp", "--server", "--port=0", "--allow=192.0.2.9"]
                .map(str::to_owned)
                .to_vec())
        );
    }

    #[test]
    fn a_server_of_any_tests_listens_where_its_options_say() {
        assert_eq!(
            order(Job::AnyServer, &[("port", Some("5002")), ("udp", None)]),
            Ok(["--port=5002", "--udp", "--server"]
                .map(str::to_owned)
                .to_vec())
        );
        assert!(order(Job::AnyServer, &[("client", Some("h"))]).is_err());
        assert!(order(Job::AnyServer, &[("daemon", None)]).is_err());
    }

    #[test]
    fn what_nobody_elsewhere_may_give_is_refused_with_its_reason() {
        let host = ("client", Some("h"));
        for (option, why) in [
            (("file_input", Some("/etc/passwd")), "names a file"),
            (("output", Some("x")), "names a file"),
            (("config", Some("x")), "names a file"),
            (("json", None), "go to who ordered"),
            (("daemon", None), "ends with the order"),
            (("metrics", Some("0.0.0.0:1")), "port of its own"),
            (("user", Some("root")), "names a user"),
            (("server", None), "says who serves"),
            (("nothing", None), "no option"),
            (("c", Some("h")), "no option"),
            (("time", None), "needs a value"),
            (("udp", Some("1")), "takes no value"),
            (("time", Some("1 --output=x")), "no time"),
            (("parallel", Some("-1")), "no whole number"),
            (("pacing", Some("fast")), "no word of the list"),
            (("port", Some("5001\n")), "one short line"),
            (("bind", Some("192.0.2.1%eth0")), "no host"),
            (("flow", Some("-F /etc/passwd")), "names a file"),
            (("flow", Some("up: -uF/etc/passwd -t 1")), "names a file"),
            (("flow", Some("-t 1 --flow '-F x'")), "names a file"),
        ] {
            let said = client(&[host, option]).expect_err(option.0);
            assert!(said.contains(why), "{option:?}: {said}");
        }
        for name in ["-oProxyCommand=x", "", "a b", "h%eth0", "h\nx"] {
            assert!(client(&[("client", Some(name))]).is_err(), "{name}");
        }
        assert!(client(&[]).is_err());
        assert!(client(&[host, host]).is_err());
        let allow = ["192.0.2.9 --user=root".to_owned()];
        assert!(order(Job::Server { allow: &allow }, &[]).is_err());
        let nets = ["192.0.2.9".to_owned()];
        assert!(order(Job::Server { allow: &nets }, &[host]).is_err());
    }

    /// Whatever the table lets through is understood by the command line it becomes.
    #[test]
    fn every_option_is_found_by_its_identifier() {
        for spec in usable(Personality::Native) {
            let name = identifier(spec);
            assert!(!name.is_empty(), "{:?}", spec.id);
            assert_eq!(find(&name).expect("an option").id, spec.id, "{name}");
            let is_switch = spec.remote == Remote::Yes(ValueKind::Switch);
            let refused = matches!(spec.remote, Remote::No(_));
            assert!(
                refused || is_switch == (spec.arity == Arity::Switch),
                "{name}"
            );
        }
    }
}
