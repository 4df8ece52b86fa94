//! Names of sites, hosts and jobs, and the subjects that are made of them. Names are shared, not copied: those of
//! a large site are in every message and table.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What all subjects begin with.
pub const PREFIX: &str = "tl.v1";
/// Longest name of a site or a host, bytes.
const LONGEST_NAME: usize = 63;
/// Longest name of a job, bytes.
const LONGEST_JOB: usize = 255;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{text}\" is no name of a {kind}: up to {longest} of {letters}, first a letter or digit")]
pub struct NameError {
    text: String,
    kind: &'static str,
    longest: usize,
    letters: &'static str,
}

fn check(
    text: &str,
    kind: &'static str,
    longest: usize,
    more: &'static [u8],
    letters: &'static str,
) -> Result<(), NameError> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || more.contains(byte);
    let starts = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if starts && text.len() <= longest && text.as_bytes().iter().all(is_letter) {
        return Ok(());
    }
    Err(NameError {
        text: text.chars().take(80).collect(),
        kind,
        longest,
        letters,
    })
}

macro_rules! name {
    ($(#[$about:meta])* $name:ident, $kind:literal, $longest:expr, $more:expr, $letters:literal) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text, $kind, $longest, $more, $letters)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A site: hosts with one controller. A name that a subject can hold as one word.
    SiteName, "site", LONGEST_NAME, b"-_", "a-z A-Z 0-9 - _"
);
name!(
    /// A host. A name that a subject can hold as one word.
    HostName, "host", LONGEST_NAME, b"-_", "a-z A-Z 0-9 - _"
);
name!(
    /// A schedule.
    ScheduleName, "schedule", LONGEST_NAME, b"-_", "a-z A-Z 0-9 - _"
);
name!(
    /// A job. One word of a subject and of a key; a schedule's jobs have its name, the number of the slot
    /// and both hosts in theirs.
    JobId, "job", LONGEST_JOB, b"-_/=", "a-z A-Z 0-9 - _ / ="
);

impl JobId {
    /// The name of jobs that were ordered by hand.
    pub const RUN: &str = "run";

    /// The job of a pair in an order that was given by hand at that time, milliseconds since 1970.
    #[must_use]
    pub fn of_run(at: i64, from: &HostName, to: &HostName) -> Self {
        Self(format!("{}/{at}/{from}/{to}", Self::RUN).into())
    }

    /// What it is made of: the schedule or [`RUN`](Self::RUN), the number of the slot or order, the client's
    /// host, the server's host.
    #[must_use]
    pub fn parts(&self) -> Option<(&str, i64, &str, &str)> {
        let mut words = self.0.split('/');
        let parts = (
            words.next()?,
            words.next()?.parse().ok()?,
            words.next()?,
            words.next()?,
        );
        words.next().is_none().then_some(parts)
    }

    /// The job of a pair in a slot of a schedule: the same whoever submits it.
    #[must_use]
    pub fn of_schedule(name: &ScheduleName, slot: i64, from: &HostName, to: &HostName) -> Self {
        Self(format!("{name}/{slot}/{from}/{to}").into())
    }
}

/// A subject of messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Orders to an agent: request and reply.
    Do(SiteName, HostName),
    /// Who is there: a request that all agents of a site answer.
    Ask(SiteName),
    /// An agent is there.
    Beat(SiteName, HostName),
    /// Events of a test that runs, if somebody watches.
    Live(JobId),
    /// The result of a job at a host; stored.
    Result(SiteName, HostName, JobId),
    /// A step of a job; stored.
    Event(SiteName, JobId),
    /// The collector has put results of a host into the database.
    Stored(SiteName, HostName),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}.")?;
        match self {
            Self::Do(site, host) => write!(f, "agent.{site}.{host}.do"),
            Self::Ask(site) => write!(f, "all.{site}.ask"),
            Self::Beat(site, host) => write!(f, "beat.{site}.{host}"),
            Self::Live(job) => write!(f, "live.{job}"),
            Self::Result(site, host, job) => write!(f, "result.{site}.{host}.{job}"),
            Self::Event(site, job) => write!(f, "event.{site}.{job}"),
            Self::Stored(site, host) => write!(f, "stored.{site}.{host}"),
        }
    }
}

/// A text that is no subject of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is no subject of a fleet")]
pub struct UnknownSubject(String);

impl FromStr for Subject {
    type Err = UnknownSubject;

    fn from_str(text: &str) -> Result<Self, UnknownSubject> {
        let unknown = || UnknownSubject(text.chars().take(300).collect());
        let named = || -> Result<Option<Self>, NameError> {
            let rest = text
                .strip_prefix(PREFIX)
                .and_then(|rest| rest.strip_prefix('.'));
            let words: Vec<&str> = rest.unwrap_or_default().split('.').collect();
            Ok(Some(match words.as_slice() {
                ["agent", site, host, "do"] => Self::Do(site.parse()?, host.parse()?),
                ["all", site, "ask"] => Self::Ask(site.parse()?),
                ["beat", site, host] => Self::Beat(site.parse()?, host.parse()?),
                ["live", job] => Self::Live(job.parse()?),
                ["result", site, host, job] => {
                    Self::Result(site.parse()?, host.parse()?, job.parse()?)
                }
                ["event", site, job] => Self::Event(site.parse()?, job.parse()?),
                ["stored", site, host] => Self::Stored(site.parse()?, host.parse()?),
                _ => return Ok(None),
            }))
        };
        named().ok().flatten().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_subject() {
        for good in ["fra1", "A", "9", "db-1_x"] {
            assert_eq!(
                good.parse::<HostName>().map(String::from).as_deref(),
                Ok(good)
            );
        }
        let long = "x".repeat(64);
        for bad in [
            "", "-x", "_x", "a.b", "*", ">", "a b", "a\n", "é", "a/b", "$JS", &long,
        ] {
            assert!(bad.parse::<HostName>().is_err(), "{bad}");
            assert!(bad.parse::<SiteName>().is_err(), "{bad}");
        }
        assert!("backbone/7/fra1/osl1".parse::<JobId>().is_ok());
        assert!("backbone.7".parse::<JobId>().is_err());
        assert!(serde_json::from_str::<HostName>("\"a.b\"").is_err());
        let error = "a.b".parse::<HostName>().expect_err("a dot");
        assert!(
            error
                .to_string()
                .starts_with("\"a.b\" is no name of a host: up to 63")
        );
    }

    #[test]
    fn subjects_are_read_as_they_are_written() {
        let site = || "lab".parse::<SiteName>().expect("a name");
        let host = || "fra1".parse::<HostName>().expect("a name");
        let job = || "j-7".parse::<JobId>().expect("a name");
        for (subject, text) in [
            (Subject::Do(site(), host()), "tl.v1.agent.lab.fra1.do"),
            (Subject::Ask(site()), "tl.v1.all.lab.ask"),
            (Subject::Beat(site(), host()), "tl.v1.beat.lab.fra1"),
            (Subject::Live(job()), "tl.v1.live.j-7"),
            (
                Subject::Result(site(), host(), job()),
                "tl.v1.result.lab.fra1.j-7",
            ),
            (Subject::Event(site(), job()), "tl.v1.event.lab.j-7"),
            (Subject::Stored(site(), host()), "tl.v1.stored.lab.fra1"),
        ] {
            assert_eq!(subject.to_string(), text);
            assert_eq!(text.parse::<Subject>(), Ok(subject));
        }
        for text in [
            "",
            "tl.v1",
            "tl.v2.all.lab.ask",
            "tl.v1.beat.lab.*",
            "tl.v1.beat.lab.fra1.x",
        ] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }
}
