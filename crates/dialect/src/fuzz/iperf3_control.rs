//! What must hold for any bytes on a control connection, at either end. The replay of the fuzzing
//! corpora and the fuzz targets share it.
//!
//! Of an input the first byte says how the rest is cut, the second what the driver decides and
//! when it is asked to end; the rest arrives.

use tapeline_wire::iperf3::{
    Cookie, ErrorCode, Parameters, Results, RetransmitKnowledge, State, StreamResults,
};

use crate::iperf3::client_control::{ClientControl, ClientStep};
use crate::iperf3::server_control::{ServerControl, ServerStep};

/// Bytes of an input before those that arrive.
pub(crate) const HEAD: usize = 2;

/// What a step means for every end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    /// May come once, and only in the order of these numbers.
    Stage(u8),
    Finished,
    Failed,
}

/// An end of a control connection with a driver that answers at once.
trait End {
    type Step: Clone + std::fmt::Debug + PartialEq;
    fn received(&mut self, bytes: &[u8]);
    fn closed(&mut self);
    /// The next step, answered.
    fn step(&mut self) -> Option<Self::Step>;
    /// The driver is asked to end.
    fn interrupt(&mut self);
    fn kind(step: &Self::Step) -> Kind;
    fn sent(step: &Self::Step) -> &[u8];
    /// All that is sent in a test that ends in order.
    fn expected() -> Vec<u8>;
}

/// A client against arbitrary bytes.
pub(crate) fn client(input: &[u8]) {
    check(input, |_| {
        Client(ClientControl::new(cookie(), parameters()))
    });
}

/// A server against arbitrary bytes.
pub(crate) fn server(input: &[u8]) {
    check(input, |decision| Server {
        control: ServerControl::new(),
        decision,
    });
}

fn check<E: End>(input: &[u8], make: impl Fn(u8) -> E) {
    let Some(([cut, whim], bytes)) = input.split_first_chunk::<HEAD>() else {
        return;
    };
    let (decision, interrupted) = (whim >> 5, usize::from(whim & 31));
    let interrupted = interrupted.checked_sub(1);
    let whole = play(make(decision), std::iter::once(bytes), interrupted);
    let bytewise = play(make(decision), bytes.chunks(1), interrupted);
    assert_eq!(whole, bytewise, "cuts between all bytes");
    let cuts = Cuts {
        bytes,
        seed: u32::from(*cut),
    };
    let cut = play(make(decision), cuts, interrupted);
    assert_eq!(whole, cut, "cuts somewhere");
    judge::<E>(&whole, interrupted.is_some_and(|at| at < whole.len()));
}

/// Everything that an end does.
fn play<'a, E: End>(
    mut end: E,
    pieces: impl Iterator<Item = &'a [u8]>,
    interrupted: Option<usize>,
) -> Vec<E::Step> {
    let mut steps = Vec::new();
    let drain = |end: &mut E, steps: &mut Vec<E::Step>| {
        while let Some(step) = end.step() {
            steps.push(step);
            if interrupted.is_some_and(|at| at + 1 == steps.len()) {
                end.interrupt();
            }
        }
    };
    drain(&mut end, &mut steps);
    for piece in pieces {
        end.received(piece);
        drain(&mut end, &mut steps);
    }
    end.closed();
    drain(&mut end, &mut steps);
    // Whatever comes behind the end is nobody's business.
    end.received(&[State::Done.byte(); 5]);
    end.interrupt();
    drain(&mut end, &mut steps);
    steps
}

fn judge<E: End>(steps: &[E::Step], interrupted: bool) {
    let kinds: Vec<Kind> = steps.iter().map(E::kind).collect();
    let stages = kinds.iter().filter_map(|kind| match kind {
        Kind::Stage(number) => Some(*number),
        _ => None,
    });
    assert!(stages.is_sorted_by(|a, b| a < b), "{steps:?}");
    let over = |kind: &Kind| matches!(kind, Kind::Finished | Kind::Failed);
    let ends = kinds.iter().filter(|kind| over(kind)).count();
    assert!(ends == 1 || (ends == 0 && interrupted), "{steps:?}");
    if ends == 1 {
        assert!(kinds.last().is_some_and(over), "{steps:?}");
    }
    if kinds.last() == Some(&Kind::Finished) {
        let sent: Vec<u8> = steps.iter().flat_map(E::sent).copied().collect();
        assert_eq!(sent, E::expected());
    }
}

/// Pieces of 0 to 15 bytes.
struct Cuts<'a> {
    bytes: &'a [u8],
    seed: u32,
}

impl<'a> Iterator for Cuts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.bytes.is_empty() {
            return None;
        }
        // Numerical Recipes' generator; its upper bits are the better ones.
        self.seed = self
            .seed
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let length = (self.seed >> 28) as usize;
        let (piece, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        Some(piece)
    }
}

fn cookie() -> Cookie {
    Cookie::from_random([9; 36])
}

fn parameters() -> Parameters {
    Parameters::default()
}

fn results() -> Results {
    Results {
        cpu_total: 1.5,
        cpu_user: 1.0,
        cpu_system: 0.5,
        retransmits: RetransmitKnowledge::Receiver,
        congestion: None,
        server_output: None,
        tapeline: None,
        streams: vec![StreamResults::default()],
    }
}

fn message(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}

struct Client(ClientControl);

impl End for Client {
    type Step = ClientStep;

    fn received(&mut self, bytes: &[u8]) {
        self.0.received(bytes);
    }

    fn closed(&mut self) {
        self.0.closed();
    }

    fn step(&mut self) -> Option<ClientStep> {
        let step = self.0.next()?;
        match step {
            ClientStep::Run => self.0.stop(),
            ClientStep::GiveResults => self.0.results(&results()),
            _ => {}
        }
        Some(step)
    }

    fn interrupt(&mut self) {
        self.0.interrupt();
    }

    fn kind(step: &ClientStep) -> Kind {
        match step {
            ClientStep::Send(_) => Kind::Send,
            ClientStep::OpenStreams => Kind::Stage(0),
            ClientStep::Start => Kind::Stage(1),
            ClientStep::Run => Kind::Stage(2),
            ClientStep::GiveResults => Kind::Stage(3),
            ClientStep::TheirResults(_) => Kind::Stage(4),
            ClientStep::Finished => Kind::Finished,
            ClientStep::Failed(_) => Kind::Failed,
        }
    }

    fn sent(step: &ClientStep) -> &[u8] {
        match step {
            ClientStep::Send(bytes) => bytes,
            _ => &[],
        }
    }

    fn expected() -> Vec<u8> {
        [
            cookie().bytes().to_vec(),
            message(|out| parameters().encode(out)),
            vec![State::TestEnd.byte()],
            message(|out| results().encode(out)),
            vec![State::Done.byte()],
        ]
        .concat()
    }
}

struct Server {
    control: ServerControl,
    decision: u8,
}

impl End for Server {
    type Step = ServerStep;

    fn received(&mut self, bytes: &[u8]) {
        self.control.received(bytes);
    }

    fn closed(&mut self) {
        self.control.closed();
    }

    fn step(&mut self) -> Option<ServerStep> {
        let step = self.control.next()?;
        match step {
            ServerStep::Parameters(_) => match self.decision {
                0 => self.control.deny(),
                1 => self.control.refuse(ErrorCode::RATE_LIMIT, 0),
                // Its data connections never come.
                2 => self.control.admit(),
                _ => {
                    self.control.admit();
                    self.control.streams_ready();
                }
            },
            ServerStep::Stop => self.control.stopped(),
            ServerStep::TheirResults(_) => self.control.results(&results()),
            _ => {}
        }
        Some(step)
    }

    fn interrupt(&mut self) {
        self.control.terminate();
    }

    fn kind(step: &ServerStep) -> Kind {
        match step {
            ServerStep::Send(_) => Kind::Send,
            ServerStep::Parameters(_) => Kind::Stage(0),
            ServerStep::Run => Kind::Stage(1),
            ServerStep::Stop => Kind::Stage(2),
            ServerStep::TheirResults(_) => Kind::Stage(3),
            ServerStep::Finished => Kind::Finished,
            ServerStep::Failed(_) => Kind::Failed,
        }
    }

    fn sent(step: &ServerStep) -> &[u8] {
        match step {
            ServerStep::Send(bytes) => bytes,
            _ => &[],
        }
    }

    fn expected() -> Vec<u8> {
        [
            vec![State::ParameterExchange.byte()],
            vec![State::CreateStreams.byte()],
            vec![State::TestStart.byte(), State::TestRunning.byte()],
            vec![State::ExchangeResults.byte()],
            message(|out| results().encode(out)),
            vec![State::DisplayResults.byte()],
        ]
        .concat()
    }
}
