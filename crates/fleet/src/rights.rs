//! Which subjects each key may use: what the server's configuration says.

use std::fmt;

use crate::names::{HostName, PREFIX, SiteName};
use crate::store::{Bucket, Stream};

/// The name of a site's collector among the consumers of results: it goes on where it ended.
#[must_use]
pub fn collector_name(site: &SiteName) -> String {
    format!("collector-{site}")
}

/// Who has a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The agent of a host.
    Agent(HostName),
    /// A controller.
    Controller,
    /// A collector.
    Collector,
    /// A person with `tapeline fleet run`, `jobs`, `cancel`, `schedule`.
    Operator,
}

/// A host by its name, the others by their role.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(host) => host.fmt(f),
            Self::Controller => f.write_str("controller"),
            Self::Collector => f.write_str("collector"),
            Self::Operator => f.write_str("operator"),
        }
    }
}

/// Subjects of one key, `*` and `>` as the server reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// It may publish to these.
    pub publish: Vec<String>,
    /// It may subscribe to these.
    pub subscribe: Vec<String>,
    /// It may answer requests that it received, whatever their reply subject.
    pub allow_responses: bool,
    /// Where answers to its own requests come.
    pub inbox: String,
}

impl Rights {
    /// The rights of a key at a site.
    #[must_use]
    pub fn new(site: &SiteName, holder: &Holder) -> Self {
        let inbox = match holder {
            Holder::Agent(host) => format!("_INBOX_{host}"),
            role => format!("_INBOX-{role}"),
        };
        let (mut publish, mut subscribe) = (Vec::new(), Vec::new());
        match holder {
            Holder::Agent(host) => {
                publish.push(format!("{PREFIX}.beat.{site}.{host}"));
                publish.push(format!("{PREFIX}.result.{site}.{host}.>"));
                publish.push(format!("{PREFIX}.live.>"));
                subscribe.push(format!("{PREFIX}.agent.{site}.{host}.do"));
                subscribe.push(format!("{PREFIX}.all.{site}.*"));
                subscribe.push(format!("{PREFIX}.stored.{site}.{host}"));
            }
            Holder::Controller => {
                publish.push(format!("{PREFIX}.agent.{site}.*.do"));
                publish.push(format!("{PREFIX}.all.{site}.ask"));
                publish.push(Stream::Event.of_site(site));
                publish.push(Bucket::Job.of_site(site));
                publish.push(Bucket::Lease.of_site(site));
                let streams =
                    [Stream::Result, Stream::Event].map(|stream| stream.name().to_owned());
                for stream in streams.into_iter().chain(Bucket::ALL.map(Bucket::stream)) {
                    publish.push(format!("$JS.API.STREAM.CREATE.{stream}"));
                    publish.push(format!("$JS.API.STREAM.INFO.{stream}"));
                }
                for bucket in Bucket::ALL {
                    publish.extend(read(&bucket.stream(), &bucket.of_site(site)));
                }
                // Keys that were deleted leave marks.
                publish.push(format!("$JS.API.STREAM.PURGE.{}", Bucket::Job.stream()));
                subscribe.push(format!("{PREFIX}.beat.{site}.*"));
                subscribe.push(format!("{PREFIX}.stored.{site}.*"));
            }
            Holder::Collector => {
                publish.push(format!("{PREFIX}.stored.{site}.*"));
                let stream = Stream::Result.name();
                let own = format!("{stream}.{}", collector_name(site));
                let results = Stream::Result.of_site(site);
                publish.push(format!("$JS.API.STREAM.INFO.{stream}"));
                publish.push(format!("$JS.API.CONSUMER.CREATE.{own}.{results}"));
                publish.push(format!("$JS.API.CONSUMER.INFO.{own}"));
                publish.push(format!("$JS.API.CONSUMER.MSG.NEXT.{own}"));
                publish.push(format!("$JS.ACK.{own}.>"));
                // The gauges of jobs.
                publish.push(format!("$JS.API.STREAM.INFO.{}", Bucket::Job.stream()));
                publish.extend(read(&Bucket::Job.stream(), &Bucket::Job.of_site(site)));
                subscribe.push(format!("{PREFIX}.beat.{site}.*"));
            }
            Holder::Operator => {
                publish.push(format!("{PREFIX}.all.{site}.ask"));
                for bucket in [Bucket::Job, Bucket::Agent, Bucket::Schedule] {
                    publish.push(bucket.of_site(site));
                }
                for bucket in Bucket::ALL {
                    publish.push(format!("$JS.API.STREAM.INFO.{}", bucket.stream()));
                    publish.extend(read(&bucket.stream(), &bucket.of_site(site)));
                }
                let event = Stream::Event.name();
                publish.push(format!("$JS.API.STREAM.INFO.{event}"));
                publish.extend(read(event, &Stream::Event.of_site(site)));
                subscribe.push(format!("{PREFIX}.beat.{site}.*"));
                subscribe.push(format!("{PREFIX}.live.>"));
            }
        }
        subscribe.push(format!("{inbox}.>"));
        Self {
            publish,
            subscribe,
            allow_responses: matches!(holder, Holder::Agent(_)),
            inbox,
        }
    }

    /// Whether a message to this subject passes.
    #[must_use]
    pub fn may_publish(&self, subject: &str) -> bool {
        self.publish.iter().any(|pattern| matches(pattern, subject))
    }

    /// Whether a subscription to these subjects passes: some right holds all that it matches.
    #[must_use]
    pub fn may_subscribe(&self, subjects: &str) -> bool {
        let mut rights = self.subscribe.iter();
        rights.any(|pattern| matches(pattern, subjects))
    }
}

/// What reading and watching these subjects of a stream needs of the server. Consumers without a name, as
/// ordered ones are, may ask for other sites too: their subjects stand in the request alone.
fn read(stream: &str, subjects: &str) -> [String; 7] {
    [
        format!("$JS.API.DIRECT.GET.{stream}.{subjects}"),
        format!("$JS.API.CONSUMER.CREATE.{stream}"),
        format!("$JS.API.CONSUMER.CREATE.{stream}.*.{subjects}"),
        format!("$JS.API.CONSUMER.INFO.{stream}.*"),
        format!("$JS.API.CONSUMER.DELETE.{stream}.*"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.*"),
        format!("$JS.FC.{stream}.>"),
    ]
}

/// Whether a pattern holds all subjects of another, as the server compares them.
fn matches(pattern: &str, subjects: &str) -> bool {
    let mut pattern = pattern.split('.');
    let mut words = subjects.split('.');
    loop {
        match (pattern.next(), words.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return true,
            (Some(_), None | Some(">")) | (None, Some(_)) => return false,
            (Some("*"), Some(_)) => {}
            (Some(one), Some(word)) if one == word => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(holder: &Holder) -> Rights {
        Rights::new(&"lab".parse().expect("a name"), holder)
    }

    fn agent() -> Rights {
        rights(&Holder::Agent("fra1".parse().expect("a name")))
    }

    #[test]
    fn an_agent_uses_its_own_subjects() {
        let agent = agent();
        for subject in [
            "tl.v1.beat.lab.fra1",
            "tl.v1.result.lab.fra1.j7",
            "tl.v1.live.j7",
        ] {
            assert!(agent.may_publish(subject), "{subject}");
        }
        for subjects in [
            "tl.v1.agent.lab.fra1.do",
            "tl.v1.all.lab.ask",
            "tl.v1.stored.lab.fra1",
            "_INBOX_fra1.x.7",
        ] {
            assert!(agent.may_subscribe(subjects), "{subjects}");
        }
        assert!(agent.allow_responses);
    }

    #[test]
    fn an_agent_cannot_order_read_others_or_speak_for_them() {
        let agent = agent();
        for subject in [
            "tl.v1.agent.lab.osl1.do",
            "tl.v1.agent.lab.fra1.do",
            "tl.v1.all.lab.ask",
            "tl.v1.beat.lab.osl1",
            "tl.v1.result.lab.osl1.j7",
            "tl.v1.result.other.fra1.j7",
            "tl.v1.result.lab.fra1",
            "tl.v1.event.lab.j7",
            "tl.v1.stored.lab.fra1",
            "$KV.tl_job.lab.j7",
            "$KV.tl_lease.controller.lab",
            "$JS.API.STREAM.DELETE.TL_RESULT",
            "$JS.API.CONSUMER.CREATE.TL_RESULT.x",
            "$JS.API.STREAM.MSG.GET.TL_RESULT",
        ] {
            assert!(!agent.may_publish(subject), "{subject}");
        }
        for subjects in [
            ">",
            "tl.v1.>",
            "tl.v1.agent.lab.*.do",
            "tl.v1.agent.lab.osl1.do",
            "tl.v1.result.>",
            "tl.v1.beat.lab.*",
            "tl.v1.stored.lab.*",
            "_INBOX_osl1.>",
            "_INBOX.>",
        ] {
            assert!(!agent.may_subscribe(subjects), "{subjects}");
        }
    }

    #[test]
    fn only_controllers_order_and_only_collectors_say_stored() {
        let order = "tl.v1.agent.lab.fra1.do";
        let stored = "tl.v1.stored.lab.fra1";
        let lease = "$KV.tl_lease.controller.lab";
        let of = |holder| {
            let rights = rights(&holder);
            [order, stored, lease].map(|subject| rights.may_publish(subject))
        };
        assert_eq!(of(Holder::Controller), [true, false, true]);
        assert_eq!(of(Holder::Collector), [false, true, false]);
        assert_eq!(of(Holder::Operator), [false, false, false]);
        let controller = rights(&Holder::Controller);
        assert!(!controller.may_publish("$KV.tl_job.other.j7"));
        assert!(controller.may_publish("$KV.tl_job.lab.j7"));
    }

    #[test]
    fn no_host_has_the_inbox_of_another_holder() {
        for name in ["controller", "collector", "operator"] {
            let agent = rights(&Holder::Agent(name.parse().expect("a name")));
            assert!(!agent.may_subscribe(&format!("_INBOX-{name}.x")));
        }
    }

    #[test]
    fn patterns_match_as_in_the_server() {
        assert!(matches("a.*.c", "a.b.c") && matches("a.>", "a.b.c") && matches("a.*", "a.*"));
        assert!(!matches("a.>", "a") && !matches("a.*", "a.b.c") && !matches("a.*", "a.>"));
        assert!(!matches("a.b", "a.*"));
    }
}
