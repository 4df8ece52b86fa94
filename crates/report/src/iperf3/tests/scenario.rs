//! Events of small tests, and recorded tests with something changed.

use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};

use super::super::json::Json;
use super::super::{Iperf3Json, Iperf3Style};
use super::events::events;
use super::support::{golden, rendered, values};
use crate::model::{
    Connected, Event, Measure, Phase, Row, Span, Subject, TcpSend, TcpState, UdpSend,
};

pub(crate) fn style() -> Iperf3Style {
    Iperf3Style {
        version: "iperf 3.21+".to_owned(),
        system_info: "Linux host".to_owned(),
        ..Iperf3Style::default()
    }
}

pub(crate) fn document(events: &[Event]) -> Json {
    let mut documents = values(&rendered(Iperf3Json::documents(style()), events).stdout);
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

pub(crate) fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

pub(crate) fn row(
    id: u32,
    phase: Phase,
    (start, end): (u64, u64),
    bytes: u64,
    measure: Measure,
) -> Event {
    Event::Row(Row {
        subject: Subject::Flow(tag(id)),
        phase,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: WallTime::default(),
        bytes,
        endpoints: None,
        trip_times: false,
        placement: Placement::default(),
        measure,
    })
}

pub(crate) fn connected(id: u32) -> Event {
    let local = "[::ffff:192.0.2.1]:40000".parse().expect("an address");
    let peer = "192.0.2.2:5001".parse().expect("an address");
    Event::Connected(Connected::new(tag(id), Transport::Tcp, local, peer))
}

pub(crate) fn sent() -> Measure {
    Measure::TcpSend(TcpSend {
        retransmits: Some(3),
        state: Some(TcpState {
            cwnd_packets: Some(10),
            mss: Some(1448),
            rtt_micros: Some(250),
            ..TcpState::default()
        }),
        ..TcpSend::default()
    })
}

pub(crate) fn datagrams(writes: u64) -> Measure {
    Measure::UdpSend(UdpSend {
        writes,
        ..UdpSend::default()
    })
}

/// A recorded run's events without one kind of them, or changed.
pub(crate) fn changed(name: &str, mut change: impl FnMut(&mut Event) -> bool) -> Vec<Event> {
    let recorded = values(&golden(name)).remove(0);
    let role = if name.contains(".server.") {
        Role::Server
    } else {
        Role::Client
    };
    let mut events = events(&recorded, role);
    events.retain_mut(|event| change(event));
    events
}

/// The same test under another number, with flows of its own.
pub(crate) fn renumbered(events: &[Event], number: u32) -> Vec<Event> {
    let shifted = |tag: FlowTag| FlowTag {
        id: FlowId(tag.id.0 + 100 * number),
        ..tag
    };
    let mut events = events.to_vec();
    for event in &mut events {
        match event {
            Event::ControlConnected(control) => control.test = number,
            Event::Connected(line) => line.tag = shifted(line.tag),
            Event::TestStart(start) => {
                start.test = number;
                for (tag, _) in &mut start.flows {
                    *tag = shifted(*tag);
                }
            }
            Event::Row(row) => {
                if let Subject::Flow(tag) = &mut row.subject {
                    *tag = shifted(*tag);
                }
            }
            Event::TestEnd(end) => end.test = number,
            _ => {}
        }
    }
    events
}
