//! What must hold for any results of an iperf3 end, however absurd: they are taken, judged and reported.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tapeline_base::{Role, Transport, WallTime};
use tapeline_report::{
    ControlConnected, ControlPeer, CpuUse, Event, TestDirection, TestEnd, TestLimit, TestStart,
    TestTransport,
};
use tapeline_sys::{SocketOptions, UdpSocket};
use tapeline_wire::iperf3::Results;

use super::renderers::RenderedTest;
use crate::iperf3::peer_results;
use crate::iperf3::streams::{Link, Stream, StreamEnd};

/// A stream has a socket, which nobody uses here.
static SOCKET: LazyLock<Arc<UdpSocket>> = LazyLock::new(|| {
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let opened = UdpSocket::bind(any, &SocketOptions::default()).expect("a socket");
    Arc::new(opened.socket)
});

/// A client whose server sends its results: of an input the first byte says over which transport and in which
/// form, and whether the start was left out; the rest is the message without its length.
pub(crate) fn results(input: &[u8]) {
    let Some((whim, message)) = input.split_first() else {
        return;
    };
    let Ok(results) = Results::parse(message) else {
        return;
    };
    let omits = whim & 2 != 0;
    let rendered = RenderedTest::new(*whim);
    let udp = rendered.transport() == Transport::Udp;
    let streams = RenderedTest::FLOWS.iter().zip(rendered.totals()).zip(1..);
    let own: BTreeMap<i64, StreamEnd> = streams
        .map(|(((tag, sends), total), id)| {
            let [local, peer] = RenderedTest::endpoints(*tag);
            let stream = Stream {
                tag: *tag,
                id,
                sends: *sends,
                local,
                peer,
                link: Link::Udp(Arc::clone(&SOCKET)),
            };
            let end = StreamEnd {
                packets: 1000,
                lost: 10,
                total: Some(total),
                ..StreamEnd::lost(stream)
            };
            (id, end)
        })
        .collect();
    let mut end = TestEnd {
        test: 1,
        cpu: CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: results.congestion.clone(),
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure: None,
    };
    peer_results::report(&results, &own, omits, &mut end);
    assert!(end.peer_totals.len() <= results.streams.len());
    end.lost_behind = crate::iperf3::udp_streams::TailLoss::default().lost(&results, &own);
    let agreed = vec![connected(), start(udp, omits)];
    let ended = Event::TestEnd(Box::new(end));
    rendered.render(agreed, vec![ended], message);
}

fn connected() -> Event {
    Event::ControlConnected(ControlConnected {
        test: 1,
        peer: ControlPeer::ConnectingTo {
            host: "server.example".to_owned(),
            port: 5201,
        },
        at: WallTime::from_nanos(1_795_215_956_000_000_000),
        cookie: "a".repeat(36),
        segment_size: None,
        request: None,
    })
}

fn start(udp: bool, omits: bool) -> Event {
    Event::TestStart(Box::new(TestStart {
        test: 1,
        flows: RenderedTest::FLOWS.to_vec(),
        role: Role::Client,
        transport: if udp {
            TestTransport::Udp
        } else {
            TestTransport::Tcp
        },
        direction: TestDirection::Bidirectional,
        streams: 2,
        block_length: 1460,
        limit: TestLimit::Time(Duration::from_secs(10)),
        omit: Duration::from_secs(u64::from(omits)),
        interval: None,
        tos: 0,
        target_rate: 0,
        pacing_rate: 0,
        segment_size: None,
        window: 0,
        buffers: (16_384, 131_072),
        send_offload: false,
        receive_offload: false,
        title: None,
        extra_data: None,
        file: None,
    }))
}
