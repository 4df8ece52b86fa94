//! The parts of the JSON document of a test.

use std::time::Duration;

use tapeline_base::Role;

use super::amounts::{Amount, Loss, percent};
use super::flow::Iperf3Interval;
use super::interval_buffer::Intervals;
use super::json::{Json, Object};
use super::record::{Iperf3Record, Lane};
use super::style::Iperf3Style;
use super::words;
use crate::calendar::Calendar;
use crate::model::{
    ControlConnected, ControlPeer, CpuUse, Measure, PeerOutput, Row, Span, TcpSend, TestDirection,
    TestLimit, TestStart, TestTransport,
};

/// The whole document.
pub(crate) fn document(test: &Iperf3Record, style: &Iperf3Style, intervals: Intervals) -> Object {
    let document = Object::new().with("start", start(test, style));
    let mut document = intervals.enter(document).with("end", end(test));
    if let Some(error) = error(test) {
        document.set("error", error);
    }
    let start = test.start.as_ref();
    if let Some(title) = start.and_then(|start| start.title.as_deref()) {
        document.set("title", title);
    }
    if let Some(extra) = start.and_then(|start| start.extra_data.as_deref()) {
        document.set("extra_data", extra);
    }
    if let Some((key, output)) = peer_output(test) {
        document.set(key, output);
    }
    document
}

/// Why the test failed.
pub(crate) fn error(test: &Iperf3Record) -> Option<String> {
    let failure = test.end.as_ref()?.failure.as_ref()?;
    Some(words::document_error(test, failure))
}

/// What the peer printed, under its key.
pub(crate) fn peer_output(test: &Iperf3Record) -> Option<(&'static str, Json)> {
    Some(match test.end.as_ref()?.peer_output.as_ref()? {
        PeerOutput::Text(text) => ("server_output_text", text.as_str().into()),
        PeerOutput::Json(text) => match Json::parse(text) {
            Some((document, _)) => ("server_output_json", document),
            None => ("server_output_text", text.as_str().into()),
        },
    })
}

/// `start`.
pub(crate) fn start(test: &Iperf3Record, style: &Iperf3Style) -> Object {
    let connected = test.flows.iter().enumerate().filter_map(|(number, flow)| {
        let line = flow.connected.as_ref()?;
        let object = Object::new()
            .with("socket", Iperf3Record::socket(number))
            .with("local_host", line.local.ip().to_canonical().to_string())
            .with("local_port", line.local.port())
            .with("remote_host", line.peer.ip().to_canonical().to_string())
            .with("remote_port", line.peer.port());
        Some(object.into())
    });
    let mut object = Object::new()
        .with("connected", connected.collect::<Vec<Json>>())
        .with("version", style.version.as_str())
        .with("system_info", style.system_info.as_str());
    let failure = test.end.as_ref().and_then(|end| end.failure.as_ref());
    let Some(start) = &test.start else {
        // A client knows what it asked for; a server speaks of tests that it began.
        if let Some(control) = &test.control
            && let ControlPeer::ConnectingTo { .. } = control.peer
            && !words::was_rejected(failure)
        {
            enter_control(&mut object, control, None);
        }
        return object;
    };
    // The reference gives the key twice where a server has the rate; its first place counts.
    if start.role == Role::Server && start.target_rate > 0 {
        object.set("target_bitrate", start.target_rate);
    }
    // Servers of TCP tests have their listener's buffers before anybody connects.
    let early = start.role == Role::Server && start.transport == TestTransport::Tcp;
    if early {
        enter_buffers(&mut object, start);
    }
    match &test.control {
        Some(control) => enter_control(&mut object, control, Some(start)),
        None => enter_rates(&mut object, start.target_rate, start.pacing_rate),
    }
    if !early {
        enter_buffers(&mut object, start);
    }
    object.set("test_start", test_start(start));
    object
}

fn enter_control(object: &mut Object, control: &ControlConnected, start: Option<&TestStart>) {
    let millis = control.at.as_nanos() / 1_000_000;
    let timestamp = Object::new()
        .with("time", Calendar::new(true).internet_date(control.at))
        .with("timesecs", millis / 1000)
        .with("timemillisecs", millis);
    object.set("timestamp", timestamp);
    let peer = |host: String, port: u16| Object::new().with("host", host).with("port", port);
    match &control.peer {
        ControlPeer::ConnectingTo { host, port } => {
            object.set("connecting_to", peer(host.clone(), *port));
        }
        ControlPeer::Accepted(address) => {
            let host = address.ip().to_canonical().to_string();
            object.set("accepted_connection", peer(host, address.port()));
        }
    }
    object.set("cookie", control.cookie.as_str());
    let request = control.request;
    let transport = start.map(|start| start.transport);
    let transport = transport.or(request.map(|request| request.transport));
    let asked = start.map(|start| start.segment_size);
    let asked = asked.or(request.map(|request| request.segment_size));
    if transport == Some(TestTransport::Tcp) {
        match asked.flatten() {
            Some(bytes) => object.set("tcp_mss", bytes),
            None => object.set("tcp_mss_default", control.segment_size.unwrap_or(0)),
        }
    }
    let rates = start.map(|start| (start.target_rate, start.pacing_rate));
    let rates = rates.or(request.map(|request| (request.target_rate, request.pacing_rate)));
    if let Some((target, pacing)) = rates {
        enter_rates(object, target, pacing);
    }
}

fn enter_rates(object: &mut Object, target: u64, pacing: u64) {
    object.set("target_bitrate", target);
    object.set("fq_rate", pacing);
}

fn enter_buffers(object: &mut Object, start: &TestStart) {
    object.set("sock_bufsize", start.window);
    object.set("sndbuf_actual", start.buffers.0);
    object.set("rcvbuf_actual", start.buffers.1);
}

fn test_start(start: &TestStart) -> Object {
    let (time, bytes, blocks) = match start.limit {
        TestLimit::Time(time) => (time, 0, 0),
        TestLimit::Bytes(bytes) => (Duration::ZERO, bytes, 0),
        TestLimit::Blocks(blocks) => (Duration::ZERO, 0, blocks),
    };
    let flag = |set: bool| u32::from(set);
    Object::new()
        .with("protocol", protocol(start.transport))
        .with("num_streams", start.streams)
        .with("blksize", start.block_length)
        .with("omit", start.omit.as_secs())
        .with("duration", time.as_secs_f64())
        .with("bytes", bytes)
        .with("blocks", blocks)
        .with("reverse", flag(start.direction == TestDirection::Reverse))
        .with("tos", u32::from(start.tos))
        .with("target_bitrate", start.target_rate)
        .with(
            "bidir",
            flag(start.direction == TestDirection::Bidirectional),
        )
        .with("fqrate", start.pacing_rate)
        .with(
            "interval",
            start
                .interval
                .map_or(0.0, |interval| interval.as_secs_f64()),
        )
        .with("gso", flag(start.send_offload))
        .with("gro", flag(start.receive_offload))
}

/// The transport's name.
pub(crate) fn protocol(transport: TestTransport) -> &'static str {
    match transport {
        TestTransport::Tcp => "TCP",
        TestTransport::Udp => "UDP",
        TestTransport::Sctp => "SCTP",
    }
}

/// An entry of `intervals`.
pub(crate) fn interval(test: &Iperf3Record, interval: &Iperf3Interval) -> Object {
    let streams = interval.rows.iter().map(|(number, row)| {
        let object = Object::new().with("socket", Iperf3Record::socket(*number));
        interval_figures(object, row, interval.omitted(), test.flows[*number].sends).into()
    });
    let mut object = Object::new().with("streams", streams.collect::<Vec<Json>>());
    for lane in test.lanes() {
        let key = if lane.reverse {
            "sum_bidir_reverse"
        } else {
            "sum"
        };
        object.set(key, interval_sum(interval, &lane));
    }
    object
}

fn enter_span(object: Object, start: f64, amount: Amount) -> Object {
    object
        .with("start", start)
        .with("end", start + amount.seconds)
        .with("seconds", amount.seconds)
        .with("bytes", amount.bytes)
        .with("bits_per_second", amount.rate())
}

fn enter_loss(object: Object, loss: Loss) -> Object {
    object
        .with("jitter_ms", loss.jitter * 1e3)
        .with("lost_packets", loss.lost)
        .with("packets", loss.packets)
        .with("lost_percent", loss.percent())
}

fn interval_figures(object: Object, row: &Row, omitted: bool, sends: bool) -> Object {
    let start = row.span.start.as_secs_f64();
    let mut object = enter_span(object, start, Amount::from_row(row));
    match &row.measure {
        Measure::TcpSend(send) => object = enter_tcp(object, send),
        Measure::UdpSend(send) => object.set("packets", send.writes),
        Measure::UdpReceive(receive) => object = enter_loss(object, Loss::from_receive(receive)),
        Measure::TcpReceive(_) | Measure::Both { .. } | Measure::RequestResponse(_) => {}
    }
    object.with("omitted", omitted).with("sender", sends)
}

fn enter_tcp(mut object: Object, send: &TcpSend) -> Object {
    let Some(retransmits) = send.retransmits else {
        return object;
    };
    object.set("retransmits", retransmits);
    let state = send.state.unwrap_or_default();
    // What the system does not report is -1.
    let known = |value: Option<u32>| value.map_or(-1, i64::from);
    object
        .with("snd_cwnd", state.window_bytes().unwrap_or(0))
        .with("snd_wnd", known(state.send_window))
        .with("rtt", state.rtt_micros.unwrap_or(0))
        .with("rttvar", state.rtt_variance_micros.unwrap_or(0))
        .with("pmtu", known(state.path_mtu))
        .with("reorder", known(state.reordering))
}

/// Share of the longest stream's interval from which on all others are alike.
const LIKE: f64 = 0.99;

fn interval_sum(interval: &Iperf3Interval, lane: &Lane) -> Object {
    let rows: Vec<&Row> = interval.rows_of(&lane.flows).collect();
    // The first stream's time is that of the sum, in both directions; where streams ended apart, in
    // it or just behind the one before, that from the latest begin on until the latest end.
    let spans = || interval.rows.iter().map(|(_, row)| row.span);
    let lengths = || spans().map(Span::length);
    let longest = lengths().max().unwrap_or_default();
    let apart = lengths().any(|length| length < longest.mul_f64(LIKE));
    let span = match spans().reduce(|one, other| Span {
        start: one.start.max(other.start),
        end: one.end.max(other.end),
    }) {
        Some(span) if apart => span,
        _ => spans().next().unwrap_or_default(),
    };
    let amount = Amount {
        seconds: span.length().as_secs_f64(),
        bytes: rows.iter().map(|row| row.bytes).sum(),
    };
    let mut object = enter_span(Object::new(), span.start.as_secs_f64(), amount);
    let figures = SumFigures::from_rows(&rows);
    if let Some(retransmits) = figures.retransmits {
        object.set("retransmits", retransmits);
    }
    if let Some(packets) = figures.sent {
        object.set("packets", packets);
    }
    if let Some(loss) = figures.loss {
        object = enter_loss(object, loss);
    }
    object
        .with("omitted", interval.omitted())
        .with("sender", lane.sends)
}

/// What stands next to the bytes of a sum.
#[derive(Debug, Default)]
pub(crate) struct SumFigures {
    /// Segments.
    pub(crate) retransmits: Option<u64>,
    /// Datagrams.
    pub(crate) sent: Option<u64>,
    /// What receivers say.
    pub(crate) loss: Option<Loss>,
}

impl SumFigures {
    /// Of the rows of one direction.
    pub(crate) fn from_rows(rows: &[&Row]) -> Self {
        let mut figures = Self::default();
        let mut losses = Vec::new();
        for row in rows {
            match &row.measure {
                Measure::TcpSend(send) => {
                    if let Some(more) = send.retransmits {
                        *figures.retransmits.get_or_insert(0) += more;
                    }
                }
                Measure::UdpSend(send) => *figures.sent.get_or_insert(0) += send.writes,
                Measure::UdpReceive(receive) => losses.push(Loss::from_receive(receive)),
                _ => {}
            }
        }
        if !losses.is_empty() {
            figures.loss = Some(Loss::sum(losses.into_iter()));
        }
        figures
    }
}

/// `end`; empty when no test took place.
pub(crate) fn end(test: &Iperf3Record) -> Object {
    let (Some(start), Some(end)) = (&test.start, &test.end) else {
        return Object::new();
    };
    if !words::reports_totals(end.failure.as_ref()) {
        return Object::new();
    }
    let udp = start.transport == TestTransport::Udp;
    let streams = (0..test.flows.len()).map(|flow| {
        let object = if udp {
            Object::new().with("udp", datagram_stream(test, flow))
        } else {
            stream(test, flow)
        };
        object.into()
    });
    let mut object = Object::new().with("streams", streams.collect::<Vec<Json>>());
    for lane in test.lanes() {
        let suffix = if lane.reverse { "_bidir_reverse" } else { "" };
        if udp {
            let sums = datagram_sums(test, &lane);
            object.set(&format!("sum{suffix}"), sums.both);
            object.set(&format!("sum_sent{suffix}"), sums.sent);
            object.set(&format!("sum_received{suffix}"), sums.received);
        } else {
            let (sent, received) = stream_sums(test, &lane);
            object.set(&format!("sum_sent{suffix}"), sent);
            object.set(&format!("sum_received{suffix}"), received);
        }
    }
    let remote = match start.role {
        Role::Client => end.peer_cpu.unwrap_or_default(),
        Role::Server => CpuUse::default(),
    };
    let cpu = Object::new()
        .with("host_total", end.cpu.total)
        .with("host_user", end.cpu.user)
        .with("host_system", end.cpu.system)
        .with("remote_total", remote.total)
        .with("remote_user", remote.user)
        .with("remote_system", remote.system);
    object.set("cpu_utilization_percent", cpu);
    if start.transport == TestTransport::Tcp {
        if let Some(name) = &end.sender_congestion {
            object.set("sender_tcp_congestion", name.as_str());
        }
        if let Some(name) = &end.receiver_congestion {
            object.set("receiver_tcp_congestion", name.as_str());
        }
    }
    object
}

/// Retransmits of a flow, where its sender counted them and this end knows.
pub(crate) fn retransmits(test: &Iperf3Record, flow: usize) -> Option<u64> {
    match &test.sender(flow)?.measure {
        Measure::TcpSend(send) => send.retransmits,
        _ => None,
    }
}

fn stream(test: &Iperf3Record, number: usize) -> Object {
    let flow = &test.flows[number];
    let (sent, received) = (
        test.amount(test.sender(number)),
        test.amount(test.receiver(number)),
    );
    let socket = || Object::new().with("socket", Iperf3Record::socket(number));
    let mut sender = enter_span(socket(), 0.0, sent);
    if let Some(retransmits) = retransmits(test, number) {
        let reordering = flow.total.as_ref().and_then(|row| match &row.measure {
            Measure::TcpSend(send) => send.state?.reordering,
            _ => None,
        });
        let min_max = &flow.min_max;
        sender = sender
            .with("retransmits", retransmits)
            .with("reorder", reordering.unwrap_or(0))
            .with("max_snd_cwnd", min_max.window)
            .with("max_snd_wnd", min_max.send_window)
            .with("max_rtt", min_max.longest)
            .with("min_rtt", min_max.shortest)
            .with("mean_rtt", min_max.mean());
    }
    let mut object = Object::new().with("sender", sender.with("sender", flow.sends));
    if let Some(file) = test.start.as_ref().and_then(|start| start.file.as_ref()) {
        let part = |bytes: u64| percent(bytes, file.size) as u64;
        let file = Object::new()
            .with("sent", sent.bytes)
            .with("received", received.bytes)
            .with("size", file.size)
            .with("percent_sent", part(sent.bytes))
            .with("percent_received", part(received.bytes))
            .with("filename", file.name.as_str());
        object.set("diskfile", file);
    }
    object.with(
        "receiver",
        enter_span(socket(), 0.0, received).with("sender", flow.sends),
    )
}

fn stream_sums(test: &Iperf3Record, lane: &Lane) -> (Object, Object) {
    let sum = |rows: &dyn Fn(usize) -> Amount| {
        let amounts = lane.flows.iter().map(|flow| rows(*flow));
        amounts.fold(Amount::default(), Amount::plus)
    };
    let sent = sum(&|flow| test.amount(test.sender(flow)));
    let received = sum(&|flow| test.amount(test.receiver(flow)));
    let mut object = enter_span(Object::new(), 0.0, sent);
    let counted = lane.flows.iter().map(|flow| retransmits(test, *flow));
    if let Some(retransmits) = counted.sum::<Option<u64>>() {
        object.set("retransmits", retransmits);
    }
    (
        object.with("sender", lane.sends),
        enter_span(Object::new(), 0.0, received).with("sender", lane.sends),
    )
}

/// The receiver's losses, with the sender's count of datagrams where that is known.
fn loss_of_sent(sent: Option<u64>, loss: Loss) -> Loss {
    Loss {
        packets: sent.unwrap_or(loss.packets),
        ..loss
    }
}

fn datagram_stream(test: &Iperf3Record, number: usize) -> Object {
    let object = Object::new().with("socket", Iperf3Record::socket(number));
    let sent = test.amount(test.sender(number));
    let loss = loss_of_sent(test.sent(number), test.loss(number).unwrap_or_default());
    let sends = test.flows[number].sends;
    enter_loss(enter_span(object, 0.0, sent), loss)
        // Only the end that receives knows it.
        .with("out_of_order", if sends { 0 } else { loss.out_of_order })
        .with("sender", sends)
}

struct DatagramSums {
    both: Object,
    sent: Object,
    received: Object,
}

fn datagram_sums(test: &Iperf3Record, lane: &Lane) -> DatagramSums {
    let flows = || lane.flows.iter().copied();
    let sent = flows()
        .map(|flow| test.amount(test.sender(flow)))
        .fold(Amount::default(), Amount::plus);
    let received = flows()
        .map(|flow| test.amount(test.receiver(flow)))
        .fold(Amount::default(), Amount::plus);
    let packets: Option<u64> = flows().map(|flow| test.sent(flow)).sum();
    let loss = Loss::sum(flows().map(|flow| test.loss(flow).unwrap_or_default()));
    let no_loss = Loss {
        packets: packets.unwrap_or(0),
        ..Loss::default()
    };
    let object = |amount, loss| enter_loss(enter_span(Object::new(), 0.0, amount), loss);
    DatagramSums {
        both: object(sent, loss_of_sent(packets, loss)).with("sender", lane.sends),
        sent: object(sent, no_loss).with("sender", true),
        received: object(received, loss).with("sender", false),
    }
}
