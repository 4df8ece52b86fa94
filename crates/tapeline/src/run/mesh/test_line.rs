//! The options of one test of a mesh.

use std::ffi::OsString;
use std::time::Duration;

use tapeline_base::Transport;
use tapeline_dialect::{Limit, Personality};
use tapeline_remote::GivenOption;

use crate::cli::invocation::understand;
use crate::cli::options::table::KnownTo;
use crate::cli::order;
use crate::cli::parse;
use crate::cli::resolve::complaint;
use crate::cli::spec::{Given, OptionId as Id, RawItem};
use crate::plan::{Invocation, Plan};

/// A test without a time of its own takes about so long.
const USUAL: Duration = Duration::from_secs(10);
/// And so long at most.
const LONGEST: Duration = Duration::from_secs(600);
/// A test that takes so much longer than its time is stopped.
const GRACE: Duration = Duration::from_secs(15);

/// What each test of a mesh does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestLine {
    /// As they are ordered; the host that is tested towards is not among them.
    pub(crate) options: Vec<GivenOption>,
    /// To which port it goes.
    pub(crate) transport: Transport,
    /// Its time; none of a test that lasts until something was sent.
    time: Option<Duration>,
}

impl TestLine {
    /// What words of a command line ask of each test.
    ///
    /// # Errors
    /// They are no options of a client, or cannot be ordered, or the mesh itself says that.
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut options = Vec::new();
        for item in parse::cut(words.iter().cloned(), &KnownTo(Personality::Native)) {
            match item {
                RawItem::Option(given) => options.push(ordered(&given)?),
                RawItem::Operand(word) => {
                    return Err(format!(
                        "\"{}\" is no option of a test",
                        word.to_string_lossy()
                    ));
                }
                RawItem::Fault(fault) => return Err(complaint(&fault)),
            }
        }
        // What one host would make of it.
        let mut line: Vec<OsString> = vec!["-c".into(), "192.0.2.1".into()];
        line.extend(words);
        let (_, resolution) = understand(&Invocation {
            program: "tapeline".into(),
            arguments: line,
            variable: &|_| None,
            resolver: |_| Vec::new(),
        });
        match resolution.outcome {
            Ok(Plan::Client(plan, _, None)) => Ok(Self {
                options,
                transport: plan.transport,
                time: match plan.limit {
                    Limit::Time(time) => Some(time),
                    Limit::Bytes(_) => None,
                    Limit::Never => return Err("each test needs an end: -t or -n".to_owned()),
                },
            }),
            Ok(_) => Err("the tests of a mesh are ordinary ones between two tapelines".to_owned()),
            Err(_) => {
                let said = resolution.messages.first();
                let text = said
                    .and_then(|said| said.text.lines().next())
                    .unwrap_or_default();
                Err(text.strip_prefix("error: ").unwrap_or(text).to_owned())
            }
        }
    }

    /// How long it takes, about.
    pub(crate) fn expected(&self) -> Duration {
        self.time.unwrap_or(USUAL)
    }

    /// After this time it is stopped.
    pub(crate) fn longest(&self) -> Duration {
        self.time.map_or(LONGEST, |time| time + GRACE)
    }
}

fn ordered(given: &Given) -> Result<GivenOption, String> {
    let spelled = &given.spelled;
    let why = match given.spec.id {
        Id::Client | Id::Server | Id::Port => "the mesh says who tests whom",
        Id::Reverse | Id::DualTest | Id::Tradeoff => "the mesh tests both directions",
        Id::FullDuplex => "tapeline mesh has an option of that name",
        Id::PermitKey => "the servers of a mesh are for its tests alone, and need no key",
        Id::Repeat | Id::Precision => "each pair is tested once",
        Id::Flow | Id::Flows => "each test has one kind of stream",
        Id::TxStartTime => "--all-at-once sets a common time",
        _ => {
            let name = order::identifier(given.spec);
            let value = given.value.as_ref().map(|_| given.text());
            let option = GivenOption { name, value };
            order::find(&option.name)?;
            order::word(given.spec, &option)?;
            return Ok(option);
        }
    };
    Err(format!("{spelled}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TestLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        TestLine::read(&words)
    }

    #[test]
    fn options_are_ordered_as_they_were_typed() {
        let line = read("-t 3 -u -b 20M -P2").expect("a test");
        let option = GivenOption::new;
        let udp = GivenOption {
            name: "udp".to_owned(),
            value: None,
        };
        let expected = [
            option("time", "3"),
            udp,
            option("bandwidth", "20M"),
            option("parallel", "2"),
        ];
        assert_eq!(line.options, expected);
        assert_eq!(line.transport, Transport::Udp);
        assert_eq!(line.expected(), Duration::from_secs(3));
        assert_eq!(line.longest(), Duration::from_secs(18));
        let line = read("").expect("a test");
        assert_eq!((line.transport, line.expected()), (Transport::Tcp, USUAL));
        assert_eq!(read("-n 1M").expect("a test").longest(), LONGEST);
    }

    #[test]
    fn what_no_test_of_a_mesh_has_is_refused() {
        for (line, part) in [
            ("-c h", "the mesh says who"),
            ("-p 5001", "the mesh says who"),
            ("-R", "the mesh tests both"),
            ("--full-duplex", "tapeline mesh has"),
            ("--permit-key=abc", "no key"),
            ("--repeat 3", "once"),
            ("--flow -u", "one kind"),
            ("-F /etc/passwd", "names a file"),
            ("--json", "go to who ordered"),
            ("--save", "keeps its result"),
            ("hosts", "\"hosts\" is no option"),
            ("--nothing", "nothing"),
            ("-t x", "seconds"),
            ("-t 0", "an end"),
            ("--peer iperf3", "between two tapelines"),
        ] {
            let said = read(line).expect_err(line);
            assert!(said.contains(part), "{line}: {said}");
        }
    }
}
