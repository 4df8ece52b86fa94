//! What must hold for a test whose peer says whatever it likes: it is judged, and reported in every
//! form, without a character that moves a cursor.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};
use tapeline_report::document::{
    DocumentCsv, DocumentStream, PlannedLimit, PlannedTest, RunInfo, TestShape, WholeDocument,
    Workload,
};
use tapeline_report::{
    ClientBanner, Connected, Endpoints, Event, FlowEvidence, Iperf2Csv, Iperf2Text, Iperf3Json,
    Iperf3Style, Iperf3Text, Measure, NativeText, Output, Phase, Renderer, Row, ServerText, Span,
    Style, Subject, TcpReceive, TcpSend, Terminal, UdpReceive, UdpSend,
};
use tapeline_stats::{ReceiverEvidence, SenderEvidence};

use crate::sampler::verdicts::VerdictCollector;

/// 2026-11-20 23:05:56 UTC.
const START: WallTime = WallTime::from_nanos(1_795_215_956_000_000_000);
const TEN_SECONDS: Duration = Duration::from_secs(10);
/// Number of the test.
const TEST: u64 = 1;
/// Forms of its report.
const FORMS: u8 = 9;
/// Most text of a test with a few flows, bytes, in addition to what the peer has said itself.
const MAX_TEXT: usize = 1 << 17;

/// A client's test of ten seconds with two flows, whose first goes both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderedTest {
    transport: Transport,
    /// Form in which a fuzzer renders it.
    form: u8,
}

impl RenderedTest {
    /// The lowest bit of a byte says over which transport, the highest three in which form.
    pub(crate) fn new(whim: u8) -> Self {
        Self {
            transport: if whim & 1 == 0 {
                Transport::Udp
            } else {
                Transport::Tcp
            },
            form: whim >> 5,
        }
    }

    pub(crate) fn transport(self) -> Transport {
        self.transport
    }

    /// Its flows, and whether this end sends them.
    pub(crate) const FLOWS: [(FlowTag, bool); 3] = [
        (tag(1, false), true),
        (tag(1, true), false),
        (tag(2, false), true),
    ];

    /// Addresses of a flow.
    pub(crate) fn endpoints(flow: FlowTag) -> [SocketAddr; 2] {
        let port = 40_000 + flow.id.0 as u16;
        [
            SocketAddr::from(([192, 0, 2, 1], port)),
            SocketAddr::from(([192, 0, 2, 2], 5001)),
        ]
    }

    /// What this end counted.
    pub(crate) fn totals(self) -> [Row; 3] {
        Self::FLOWS.map(|(flow, sends)| {
            let [local, peer] = Self::endpoints(flow);
            Row {
                subject: Subject::Flow(flow),
                phase: Phase::Total,
                span: Span {
                    start: Duration::ZERO,
                    end: TEN_SECONDS,
                },
                ended: START + TEN_SECONDS,
                bytes: 1_470_000,
                endpoints: Some(Endpoints {
                    local,
                    peer,
                    local_sends: sends,
                }),
                trip_times: false,
                placement: Placement::default(),
                measure: self.measure(sends),
            }
        })
    }

    fn measure(self, sends: bool) -> Measure {
        match (self.transport, sends) {
            (Transport::Tcp, true) => Measure::TcpSend(TcpSend::default()),
            (Transport::Tcp, false) => Measure::TcpReceive(TcpReceive::default()),
            (Transport::Udp, true) => Measure::UdpSend(UdpSend {
                writes: 1000,
                ..UdpSend::default()
            }),
            (Transport::Udp, false) => Measure::UdpReceive(UdpReceive {
                received: 990,
                total: 1000,
                lost: 10,
                ..UdpReceive::default()
            }),
        }
    }

    /// Renders it, with what is agreed in front of this end's totals, and what the peer says behind them.
    /// `said` are its bytes, which may hold texts. Tests see it in all forms.
    pub(crate) fn render(self, agreed: Vec<Event>, later: Vec<Event>, said: &[u8]) {
        // A text of the peer may have these letters, also in JSON's numbers for them.
        let holds = |part: &[u8]| said.windows(part.len()).any(|bytes| bytes == part);
        let may_say_nan = holds(b"NaN") || holds(b"\\u");
        let mut events = vec![Event::Connecting(ClientBanner::new(
            "server.example",
            5001,
            self.transport,
        ))];
        events.extend(Self::FLOWS.map(|(flow, _)| {
            let [local, peer] = Self::endpoints(flow);
            Event::Connected(Connected {
                at: Some(START),
                ..Connected::new(flow, Transport::Tcp, local, peer)
            })
        }));
        events.extend(agreed);
        events.extend(self.totals().map(Event::Row));
        let mut collector = VerdictCollector::default();
        for event in &events {
            assert_eq!(collector.observe(event), []);
        }
        for (flow, sends) in Self::FLOWS {
            let verdicts = collector.flow_ended(TEST, flow, self.transport, evidence(sends));
            assert_eq!(verdicts, []);
        }
        for event in later {
            let follows = collector.observe(&event);
            events.push(event);
            events.extend(follows);
        }
        events.extend(collector.close());
        events.push(Event::Idle);
        let forms = if cfg!(fuzzing) {
            self.form..self.form + 1
        } else {
            0..FORMS
        };
        for number in forms {
            let mut form = self.form(number);
            let mut out = Output::default();
            for event in &events {
                form.render(event, &mut out);
            }
            form.finish(&mut out);
            for text in [&out.stdout, &out.stderr] {
                let wrong = |byte: &u8| *byte < b' ' && !b"\n\t".contains(byte);
                assert!(!text.as_bytes().iter().any(wrong), "{text:?}");
                assert!(may_say_nan || !text.contains("NaN"), "{text}");
                let most = MAX_TEXT + 8 * said.len();
                assert!(text.len() <= most, "{} bytes", text.len());
            }
        }
    }

    fn form(self, number: u8) -> Box<dyn Renderer> {
        let style = Style {
            enhanced: true,
            utc: true,
            ..Style::default()
        };
        let iperf3 = Iperf3Style {
            verbose: true,
            ..Iperf3Style::default()
        };
        match number {
            0 => Box::new(NativeText::new(style, Terminal::default())),
            1 => Box::new(WholeDocument::json(self.run_info(style))),
            2 => Box::new(DocumentStream::new(self.run_info(style))),
            3 => Box::new(DocumentCsv::new(self.run_info(style))),
            4 => Box::new(Iperf2Text::new(style)),
            5 => Box::new(Iperf2Csv::new(style)),
            6 => Box::new(Iperf3Text::new(iperf3)),
            7 => Box::new(Iperf3Json::documents(iperf3)),
            _ => Box::new(ServerText::new(style, Terminal::default())),
        }
    }

    fn run_info(self, style: Style) -> RunInfo {
        RunInfo {
            version: "0.1.0".to_owned(),
            command: "tapeline -c server.example".to_owned(),
            role: Role::Client,
            planned: Some(PlannedTest {
                host: "server.example".to_owned(),
                transport: match self.transport {
                    Transport::Tcp => "tcp",
                    Transport::Udp => "udp",
                },
                direction: TestShape::Forward,
                workload: Workload::Stream,
                limit: PlannedLimit::Time(TEN_SECONDS),
                omit: Duration::ZERO,
                streams: 2,
                interval: None,
            }),
            style,
        }
    }
}
const fn tag(id: u32, reversed: bool) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed,
    }
}

fn evidence(sends: bool) -> FlowEvidence {
    if sends {
        FlowEvidence::Sender(SenderEvidence {
            micros: 10_000_000,
            datagrams: Some(1000),
            ..SenderEvidence::default()
        })
    } else {
        FlowEvidence::Receiver(ReceiverEvidence {
            expected: Some(1000),
            lost: Some(10),
            ..ReceiverEvidence::default()
        })
    }
}
