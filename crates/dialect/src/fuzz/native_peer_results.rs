//! What must hold for any results of another tapeline, however absurd: they are taken, judged and reported.

use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_report::{Event, PeerProgram};
use tapeline_stats::{ClockExchange, ClockLine};
use tapeline_wire::native::Results;

use super::renderers::RenderedTest;
use crate::native::local_results::OwnFlow;
use crate::native::{one_way_delay, peer_results};

/// What this end's clock shows when the test begins, nanoseconds since 1970.
const START: i64 = 1_795_215_956_000_000_000;
/// Exchanges of clock readings, half a second apart.
const EXCHANGES: i64 = 24;

/// A client whose server sends its results: of an input the first byte says over which transport and in which
/// form, and how the clocks differ; the rest is the message.
pub(crate) fn results(input: &[u8]) {
    let Some((whim, object)) = input.split_first() else {
        return;
    };
    let results = std::str::from_utf8(object).map(Results::parse);
    let Ok(Ok(results)) = results else {
        return;
    };
    let rendered = RenderedTest::new(*whim);
    let own = RenderedTest::FLOWS.map(|(flow, sends)| {
        let [local, peer] = RenderedTest::endpoints(flow);
        OwnFlow {
            token: NonZeroU32::new(flow.id.0),
            sends: sends.then_some(flow),
            receives: (!sends).then_some(flow),
            local,
            peer,
            congestion: None,
        }
    });
    // One connection or pair of ports has both directions.
    let [up, down, second] = own;
    let both = OwnFlow {
        receives: down.receives,
        ..up
    };
    let program = PeerProgram {
        program: "tapeline".to_owned(),
        ..PeerProgram::default()
    };
    let other = peer_results::from_message(&results, &[both, second], Some(program.clone()));
    assert!(other.flows.len() <= results.flows.len());
    let clocks = clocks(whim >> 1);
    let (from, to) = (WallTime::from_nanos(START), WallTime::from_nanos(START));
    let fit = clocks.fit();
    let estimate = fit.map(|fit| peer_results::estimate(&fit, from, to + Duration::from_secs(10)));
    let delays = fit.zip(estimate).map_or_else(Vec::new, |(fit, clock)| {
        one_way_delay::delays(&other, &rendered.totals(), &fit, clock)
    });
    let mut events = vec![Event::PeerFound {
        program,
        flows: Vec::new(),
    }];
    events.extend(estimate.map(Event::Clocks));
    events.push(Event::PeerResults(Box::new(other)));
    events.extend(delays.into_iter().map(Event::OneWayDelay));
    rendered.render(Vec::new(), events, object);
}

/// Readings of both clocks, which differ by nothing, a little, hours, or what no exchange could show.
fn clocks(whim: u8) -> ClockLine {
    let offset = match whim & 3 {
        0 => return ClockLine::new(),
        1 => 0,
        2 => -3_600_000_000_000,
        _ => 1_234_567,
    };
    let mut line = ClockLine::new();
    for number in 0..EXCHANGES {
        let sent = START + number * 500_000_000;
        let there = sent + offset + 100_000 + number % 5 * 10_000;
        line.observe(&ClockExchange {
            client_send: WallTime::from_nanos(sent),
            server_receive: WallTime::from_nanos(there),
            server_send: WallTime::from_nanos(there + 10_000),
            client_receive: WallTime::from_nanos(there + 110_000 - offset),
        });
    }
    line
}
