//! What must hold for any bytes on a control connection of two tapelines, at either end. The fuzz
//! targets share it.
//!
//! Of an input the first byte says how the rest is cut, the second what the driver decides; the rest
//! arrives.

use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::iperf2::limits;
use tapeline_wire::native::{Message, Order, PREAMBLE, Program, Progress, Results};

use crate::native::client_control::{ClientControl, ClientStep};
use crate::native::recognition::{First, inspect};
use crate::native::server_control::{ServerControl, ServerStep};

/// Bytes of an input before those that arrive.
const HEAD: usize = 2;
const NOW: MonoTime = MonoTime::ZERO;
const WALL: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);
/// Longer than either end waits for anything.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// Orders of a client.
const MAX_ORDERS: usize = 8;
/// What an end may write for each message that it reads, and unasked.
const MAX_FOR_A_MESSAGE: usize = 32;
const MAX_UNASKED: usize = 8192;

/// A client against arbitrary bytes.
pub(crate) fn client(input: &[u8]) {
    check(input, client_steps, |pieces, whim| {
        let (steps, sent, over) = client_driven(pieces, whim);
        let found = |step: &ClientStep| matches!(step, ClientStep::Found(..));
        let ends =
            |step: &ClientStep| matches!(step, ClientStep::Broken(_) | ClientStep::Refused(_));
        let results = |step: &ClientStep| matches!(step, ClientStep::Results(_));
        assert!(count(&steps, found) <= 1 && count(&steps, results) <= 1);
        let ready = |step: &ClientStep| matches!(step, ClientStep::Ready(_));
        let done = |step: &ClientStep| matches!(step, ClientStep::Done(_));
        assert!(count(&steps, done) <= count(&steps, ready), "{steps:?}");
        let said =
            |step: &ClientStep| matches!(step, ClientStep::Status(_) | ClientStep::Sample(_));
        let first = steps.iter().position(ready).unwrap_or(steps.len());
        assert!(!steps[..first].iter().any(said), "{steps:?}");
        assert!(count(&steps, ends) <= 1 && steps.iter().rev().skip(1).all(|step| !ends(step)));
        // Nothing is reported of a server that has not been welcomed.
        let first = steps.first();
        assert!(
            first.is_none_or(|step| found(step) || ends(step)),
            "{steps:?}"
        );
        assert!(over, "{steps:?}");
        let sent = sent.strip_prefix(&PREAMBLE).expect("the first bytes");
        sent.len()
    });
}

/// A server against arbitrary bytes.
pub(crate) fn server(input: &[u8]) {
    check(input, server_steps, |pieces, whim| {
        let (steps, sent, over) = server_driven(pieces, whim);
        let place = |what: fn(&ServerStep) -> bool| steps.iter().position(what);
        let hello = |step: &ServerStep| matches!(step, ServerStep::Hello(_));
        assert!(count(&steps, hello) <= 1);
        assert!(steps.first().is_none_or(hello), "{steps:?}");
        let finished = place(|step| matches!(step, ServerStep::Finished));
        let late = steps
            .iter()
            .rposition(|step| matches!(step, ServerStep::Results(_)));
        assert!(finished.is_none() || late < finished, "{steps:?}");
        let named = |step: &ServerStep| matches!(step, ServerStep::About(_));
        assert!(count(&steps, named) <= 1);
        assert!(over, "{steps:?}");
        sent.len()
    });
}

/// Cuts change nothing where nobody acts in between; where somebody does, `driven` judges each cutting
/// and returns the bytes that were sent.
fn check<S: std::fmt::Debug + PartialEq>(
    input: &[u8],
    steps: impl Fn(&[&[u8]]) -> (Vec<S>, Vec<u8>),
    driven: impl Fn(&[&[u8]], u8) -> usize,
) {
    let Some(([cut, whim], bytes)) = input.split_first_chunk::<HEAD>() else {
        return;
    };
    let cuttings = [
        vec![bytes],
        bytes.chunks(1).collect(),
        bytes.chunks(usize::from(*cut).max(2)).collect(),
    ];
    let whole = steps(&cuttings[0]);
    for pieces in &cuttings {
        assert_eq!(steps(pieces), whole);
        let sent = driven(pieces, *whim);
        let max = MAX_UNASKED + bytes.len() / 4 * MAX_FOR_A_MESSAGE;
        assert!(sent <= max, "{sent} bytes for {}", bytes.len());
    }
}

fn count<S>(steps: &[S], what: impl Fn(&S) -> bool) -> usize {
    steps.iter().filter(|step| what(step)).count()
}

fn program() -> Program {
    Program {
        program: "a program".to_owned(),
        ..Program::default()
    }
}

fn new_client() -> ClientControl {
    ClientControl::new(NonZeroU32::MIN, NonZeroU32::MAX, program().into(), NOW)
}

/// Everything that a client does that nobody sends anything.
fn client_steps(pieces: &[&[u8]]) -> (Vec<ClientStep>, Vec<u8>) {
    let mut end = new_client();
    for piece in pieces {
        end.received(piece, NOW, WALL);
    }
    let steps = std::iter::from_fn(|| end.step()).collect();
    (steps, whole_messages(end.output(), PREAMBLE.len()))
}

fn server_steps(pieces: &[&[u8]]) -> (Vec<ServerStep>, Vec<u8>) {
    let mut end = ServerControl::new(NOW);
    for piece in pieces {
        end.received(piece, NOW, WALL);
    }
    let steps = std::iter::from_fn(|| end.step()).collect();
    (steps, whole_messages(end.output(WALL, 0), 0))
}

/// A client whose test ends when its driver feels like it: its steps, what it sent, whether it is over.
fn client_driven(pieces: &[&[u8]], whim: u8) -> (Vec<ClientStep>, Vec<u8>, bool) {
    let mut end = new_client();
    let (mut steps, mut sent) = (Vec::new(), Vec::new());
    let mut stops = whim & 1 != 0;
    let mut orders = 0;
    for piece in pieces {
        end.received(piece, NOW, WALL);
        end.tick(NOW, WALL);
        steps.extend(std::iter::from_fn(|| end.step()));
        let now = steps.len() >= usize::from(whim >> 4);
        if now && std::mem::take(&mut stops) {
            end.stop("enough");
        }
        if whim & 1 == 0 && orders < MAX_ORDERS && end.order(&Order::default()) {
            orders += 1;
        }
        if now && whim & 2 != 0 {
            end.finish(whim & 4 != 0, &Results::default(), NOW);
        }
        sent.extend(end.output());
    }
    if whim & 8 != 0 {
        end.closed("it is gone");
    }
    end.tick(NOW + FOR_EVER, WALL);
    steps.extend(std::iter::from_fn(|| end.step()));
    sent.extend(end.output());
    let over = end.is_over();
    (steps, whole_messages(sent, PREAMBLE.len()), over)
}

/// A server whose driver welcomes the client or not.
fn server_driven(pieces: &[&[u8]], whim: u8) -> (Vec<ServerStep>, Vec<u8>, bool) {
    let mut end = ServerControl::new(NOW);
    let (mut steps, mut sent) = (Vec::new(), Vec::new());
    let (mut progresses, mut stops) = (whim & 4 != 0, whim & 8 != 0);
    for piece in pieces {
        end.received(piece, NOW, WALL);
        while let Some(step) = end.step() {
            match &step {
                ServerStep::Hello(_) if whim & 1 != 0 => end.refuse("not today"),
                ServerStep::Hello(_) => end.welcome(program(), None, None),
                ServerStep::Order(_) => end.method(&Message::Declined("no".to_owned())),
                ServerStep::Finished if whim & 2 == 0 => end.results("{}".to_owned()),
                _ => {}
            }
            steps.push(step);
        }
        let now = steps.len() >= usize::from(whim >> 4);
        if now && std::mem::take(&mut progresses) {
            end.progress(Progress::default());
        }
        if now && std::mem::take(&mut stops) {
            end.stop("enough");
        }
        sent.extend(end.output(WALL, 0));
    }
    end.tick(NOW + FOR_EVER);
    sent.extend(end.output(WALL, 0));
    (steps, whole_messages(sent, 0), end.is_over())
}

/// What an end has sent is messages, behind `front` other bytes.
fn whole_messages(sent: Vec<u8>, front: usize) -> Vec<u8> {
    let mut rest = sent.get(front..).expect("the first bytes");
    while !rest.is_empty() {
        let length = Message::announced_length(rest).expect("a known kind");
        let (message, behind) = rest.split_at(length.expect("a length"));
        assert!(Message::parse(message).is_ok(), "{message:?}");
        rest = behind;
    }
    sent
}

/// What must hold for any first bytes: the fuzz target and the replay of its corpus share it.
pub(crate) fn answer(bytes: &[u8]) {
    let mut known = First::Part;
    for count in 1..=bytes.len().min(limits::ACK_TRIP_TIMES) {
        let seen = inspect(&bytes[..count]);
        // What was decided does not change with what comes behind.
        assert!(known == First::Part || seen == known, "{known:?} {seen:?}");
        if let First::Answer(_, length) = seen {
            assert!(length <= count);
        }
        known = seen;
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::SplitMix64;
    use tapeline_wire::native::{ClockReply, Hello, Ready};

    use super::*;

    /// Messages of either end, in an order that is likelier to be right than bytes of chance.
    fn messages(random: &mut SplitMix64, of_client: bool) -> Vec<u8> {
        let number = |random: &mut SplitMix64| random.below(3) as u32;
        let mut bytes = vec![random.below(256) as u8, random.below(256) as u8];
        for index in 0..1 + random.below(12) {
            let message = match (index, random.below(9), of_client) {
                (0, 1.., true) => Message::Hello(Hello {
                    test: NonZeroU32::MIN,
                    token: NonZeroU32::MIN,
                    lowest: 1,
                    highest: 1,
                }),
                (0, 1.., false) => Message::Welcome {
                    version: 1,
                    server: program(),
                    probe_key: None,
                    methods: None,
                },
                (_, 0, _) => Message::Stop("why".to_owned()),
                (_, 1 | 2, true) => Message::ClockRequest {
                    number: number(random),
                    sent: random.below(1 << 62),
                },
                (_, 1 | 2, false) => Message::ClockReply(ClockReply {
                    number: number(random),
                    request_sent: 1_800_000_000_000_000_000,
                    request_received: random.below(1 << 62),
                    reply_sent: random.below(1 << 62),
                }),
                (_, 3, _) => Message::Results("{\"flows\":[{}]}".to_owned()),
                (_, 4, true) => Message::About(program().into()),
                (_, 4, false) => Message::Progress(Progress::default()),
                (_, 5, true) => Message::Finished,
                (_, 5, false) => Message::Refused("no".to_owned()),
                (_, 6, false) => Message::Ready(Ready::default()),
                (_, 7, false) => Message::Done(Box::default()),
                (_, 7, true) => Message::Order(Box::default()),
                (_, 6, _) => Message::Error("no".to_owned()),
                _ => Message::Goodbye,
            };
            message.encode(&mut bytes);
        }
        if random.below(4) == 0 {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << random.below(8);
        }
        bytes
    }

    #[test]
    fn messages_in_any_order_keep_either_end_in_order() {
        let mut random = SplitMix64::new(11);
        for _ in 0..3_000 {
            client(&messages(&mut random, false));
            server(&messages(&mut random, true));
            // And the peer's messages.
            client(&messages(&mut random, true));
            server(&messages(&mut random, false));
        }
    }
}
