//! `--from`, `--via`, `--serve-on`: a client's line becomes orders for other hosts.

use tapeline_base::{Endpoint, ExitCode};
use tapeline_remote::{GivenOption, Transport};

use super::order;
use super::order::identifier;
use super::spec::{Given, OptionId as Id, RawArgs, RawItem, Remote};
use super::via::via;
use crate::message::CliMessage;
use crate::plan::{Far, Iperf3Task, Plan, Resolution, ThirdParty};
use crate::presentation::{Presentation, Rendering};

/// What the line comes to if other hosts are to carry it out; else what it came to.
pub(crate) fn ordered(raw: &RawArgs, mut resolution: Resolution) -> Resolution {
    let Some(asked) = given(raw).find(|given| chooses_hosts(given.spec.id)) else {
        return resolution;
    };
    let job = match &resolution.outcome {
        Ok(Plan::Client(_, presentation, _)) => job(raw, asked, presentation),
        Ok(Plan::Iperf3(of_iperf3)) if matches!(of_iperf3.task, Iperf3Task::Client(_)) => {
            job(raw, asked, &of_iperf3.presentation)
        }
        Ok(Plan::Flows(..)) => Err(format!("{} cannot go with --flow", asked.spelled)),
        _ => return resolution,
    };
    match job {
        Ok(job) => resolution.outcome = Ok(Plan::ThirdParty(Box::new(job))),
        Err(why) => {
            let said = CliMessage::err(format!("error: {why}"));
            resolution.messages.push(said);
            resolution.outcome = Err(ExitCode::Usage);
        }
    }
    resolution
}

fn chooses_hosts(id: Id) -> bool {
    matches!(id, Id::From | Id::Via | Id::ServeOn)
}

/// Options in the order of their force.
fn given(raw: &RawArgs) -> impl Iterator<Item = &Given> {
    let line = raw.line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given),
        _ => None,
    });
    raw.file.iter().chain(&raw.environment).chain(line)
}

fn job(raw: &RawArgs, asked: &Given, presentation: &Presentation) -> Result<ThirdParty, String> {
    let value = |id| {
        let of_id = given(raw).filter(|given| given.spec.id == id);
        of_id.last().map(Given::text)
    };
    if presentation.view {
        return Err(format!(
            "{} cannot go with --tui: it needs the test here",
            asked.spelled
        ));
    }
    if Rendering::name(presentation.style).is_none() {
        return Err(format!(
            "{} cannot go with a form of another program",
            asked.spelled
        ));
    }
    let host = Endpoint::parse(&value(Id::Client).unwrap_or_default());
    let from = match (value(Id::From), value(Id::Via)) {
        (None, None) => None,
        (Some(name), None) => Some(Far {
            transport: ssh("--from", &name)?,
            name: bare(&name),
        }),
        (name, Some(command)) => {
            let transport = via(&command, name.as_deref());
            Some(Far {
                transport: transport
                    .ok_or("--via: that is no command, or a quotation mark is not closed")?,
                name: name.map_or(command, |name| bare(&name)),
            })
        }
    };
    let serve_on = match value(Id::ServeOn).as_deref() {
        None => None,
        Some("ssh") => Some(host.host.clone()),
        Some(other) => match other.strip_prefix("ssh:") {
            Some(name) => Some(name.to_owned()),
            None => return Err("--serve-on takes ssh, or ssh:HOST".to_owned()),
        },
    };
    let serve_on = serve_on.map(|name| ssh("--serve-on", &name)).transpose()?;
    if serve_on.is_some() && (host.port.is_some() || value(Id::Port).is_some()) {
        return Err("--serve-on cannot go with a port: its server takes a free one".to_owned());
    }
    Ok(ThirdParty {
        from,
        serve_on,
        host: host.host,
        options: options(raw, asked)?,
        presentation: presentation.clone(),
    })
}

fn ssh(option: &str, name: &str) -> Result<Transport, String> {
    let transport = Transport::ssh(name);
    match transport.command() {
        Ok(_) => Ok(transport),
        Err(why) => Err(format!("{option}: {why}")),
    }
}

/// The host without its user.
fn bare(name: &str) -> String {
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    host.to_owned()
}

/// The options of the test; what is about results stays here.
fn options(raw: &RawArgs, asked: &Given) -> Result<Vec<GivenOption>, String> {
    let mut options = Vec::new();
    for given in given(raw) {
        let spec = given.spec;
        if !spec.sides.client || chooses_hosts(spec.id) || is_about_results(spec.id) {
            continue;
        }
        if order::find(&identifier(spec)).is_err() {
            // A variable of another name of the program.
            continue;
        }
        if let Remote::No(why) = spec.remote {
            return Err(format!(
                "{} cannot go with {}: {why}",
                asked.spelled, given.spelled
            ));
        }
        options.push(GivenOption {
            name: identifier(spec),
            value: given.value.as_ref().map(|_| given.text()),
        });
    }
    Ok(options)
}

fn is_about_results(id: Id) -> bool {
    matches!(
        id,
        Id::Output
            | Id::Json
            | Id::JsonStream
            | Id::DocumentCsv
            | Id::Html
            | Id::RepeatCsv
            | Id::Color
            | Id::Rendered
            | Id::Save
            | Id::NoSave
            | Id::Tag
            | Id::History
            | Id::HistorySize
            | Id::Retention
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::cli::invocation::understand;
    use crate::cli::tests::said;
    use crate::plan::Invocation;

    fn call(words: &[&str]) -> Resolution {
        let invocation = Invocation {
            program: "tapeline".into(),
            arguments: words.iter().map(OsString::from).collect(),
            variable: &|_| None,
            resolver: |_| Vec::new(),
        };
        understand(&invocation).1
    }

    #[track_caller]
    fn ordered(line: &str) -> ThirdParty {
        let words: Vec<&str> = line.split_whitespace().collect();
        match call(&words).outcome {
            Ok(Plan::ThirdParty(job)) => *job,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn given(job: &ThirdParty) -> String {
        let options = job.options.iter().map(|option| match &option.value {
            Some(value) => format!("{}={value}", option.name),
            None => option.name.clone(),
        });
        options.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_clients_options_are_ordered_and_results_stay() {
        let job = ordered("-c db1 --from u@web3 -ueR -b 5m --json=f --save --history h -f m");
        assert_eq!(
            given(&job),
            "client=db1 udp enhanced reverse bandwidth=5m format=m"
        );
        let far = Far {
            transport: Transport::ssh("u@web3"),
            name: "web3".to_owned(),
        };
        assert_eq!((job.from, job.serve_on), (Some(far), None));
        assert_eq!(job.presentation.files.len(), 1);
        let job = ordered("-c [2001:db8::1] --serve-on ssh:db1 --peer iperf3");
        assert_eq!(job.serve_on, Some(Transport::ssh("db1")));
        assert_eq!((job.from, job.host.as_str()), (None, "2001:db8::1"));
        assert_eq!(
            ordered("-c db1 --serve-on ssh").serve_on,
            Some(Transport::ssh("db1"))
        );
    }

    #[test]
    fn a_command_takes_the_place_of_ssh() {
        let outcome = call(&["-c", "h", "--from", "a", "--via", "kubectl 'x y' {host} --"]).outcome;
        let Ok(Plan::ThirdParty(job)) = outcome else {
            panic!("{outcome:?}");
        };
        let words = ["kubectl", "x y", "a", "--"].map(OsString::from);
        let far = Far {
            transport: Transport::Command(words.to_vec()),
            name: "a".to_owned(),
        };
        assert_eq!(job.from, Some(far));
    }

    #[test]
    fn what_another_host_cannot_do_is_refused() {
        for (line, part) in [
            (
                "-c h --from a -F /dev/null",
                "--from cannot go with -F: it names a file",
            ),
            ("-c h --from a --flow -u", "--from cannot go with --flow"),
            ("-c h --serve-on ssh -p 5", "cannot go with a port"),
            ("-c h:5 --serve-on ssh", "cannot go with a port"),
            ("-c h --serve-on rsh", "--serve-on takes ssh"),
            ("-c h --from -oProxyCommand=x", "is no host for ssh"),
            ("-c h --serve-on ssh:-v", "is no host for ssh"),
            ("-c -h --serve-on ssh", "is no host for ssh"),
            ("-c h --via '", "--via: that is no command"),
            ("-s --from a", "--from does not apply to a server"),
            ("mtu h --from a", "--from does not apply to mtu"),
            ("-c h --rendered word", "no list of forms"),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            let resolution = call(&words);
            assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{line}");
            let said = said(&resolution);
            assert!(
                said.iter().any(|one| one.contains(part)),
                "{line}: {said:?}"
            );
        }
    }
}
