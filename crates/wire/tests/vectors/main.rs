//! Every captured message decodes to the recorded fields and encodes back to the recorded bytes.
//!
//! The recordings hold messages that the reference programs sent, with the fields that
//! another decoder read from them. Long datagrams are cut in the files. What a sender leaves to
//! its buffer is no part of a message: the test lays down the same fill first and writes the
//! decoded message over it. Not reproduced in full, because their fill is stale memory:
//! the two headers of 2.0.13 (base header unset) and the tails behind the reports of 2.0.x.

mod tcp;
mod udp;
mod vector;

use serde_json::Value;
use tapeline_testkit::captures::vectors as recorded;
use tapeline_wire::iperf2::*;
use vector::Vector;

impl Vector {
    fn check(&self) {
        match self.message.as_str() {
            "tcp_client_header" | "tcp_client_header_v1" => self.check_tcp_header(),
            "tcp_no_header" => self.check_headerless_tcp(),
            "client_hdr_ack" => self.check_server_ack(),
            "tcp_burst_header" => self.check_burst_header(),
            "bounceback_request" | "bounceback_reply" => self.check_bounceback(),
            "udp_client_datagram"
            | "udp_reverse_datagram"
            | "udp_fin"
            | "udp_v1_datagram_12byte" => self.check_datagram(),
            "udp_server_report" => self.check_report(),
            "udp_server_report_v1_12byte" => self.check_legacy_report(),
            "udp_server_report_corrupt" => self.check_echoed_report(),
            "udp_l4s_data" => self.check_l4s_data(),
            "udp_l4s_ack" => self.check_l4s_ack(),
            other => panic!("{}: no check for {other}", self.name),
        }
    }
}

/// The messages of a file.
fn vectors(text: &str) -> Vec<Vector> {
    let values: Vec<Value> = serde_json::from_str(text).unwrap();
    values.iter().map(Vector::from_json).collect()
}

/// The bytes of a message by its name.
fn find<'a>(vectors: &'a [Vector], name: &str) -> &'a [u8] {
    &vectors
        .iter()
        .find(|vector| vector.name == name)
        .unwrap()
        .bytes
}

macro_rules! vector_tests {
    ($($test:ident: $file:ident holds $count:literal;)*) => {
        $(#[test]
        fn $test() {
            let vectors = vectors(recorded::$file);
            assert_eq!(vectors.len(), $count);
            vectors.iter().for_each(Vector::check);
        })*
    };
}

vector_tests! {
    tcp_client_headers: TCP_CLIENT_HEADER holds 38;
    server_acknowledgements: TCP_SERVER_ACK holds 12;
    burst_headers: TCP_BURST_HEADER holds 17;
    bounceback_messages: BOUNCEBACK holds 8;
    udp_datagrams: UDP_DATAGRAM holds 33;
    ends_and_reports: UDP_FIN_REPORT holds 39;
    older_peers: LEGACY holds 28;
    l4s_messages: UDP_L4S holds 5;
}

#[test]
fn a_tcp_server_answers_with_the_captured_header() {
    let vectors = vectors(recorded::TCP_CLIENT_HEADER);
    for (request, answer) in [
        ("tcp_rev_tt", "tcp_rev_tt_rev"),
        ("tcp_fd_tt", "tcp_fd_tt_rev"),
        ("tcp_burst_R", "tcp_burst_R_rev"),
    ] {
        let request = TcpClientHeader::parse(find(&vectors, request)).unwrap();
        let captured = find(&vectors, answer);
        let start = TcpClientHeader::parse(captured)
            .unwrap()
            .start_time
            .unwrap_or_default();
        let mut encoded = Vec::new();
        request
            .answer(PeerVersion::IPERF_2_2_1, start)
            .unwrap()
            .encode(&mut encoded);
        assert_eq!(encoded, captured, "{answer}");
    }
    for silent in [
        "tcp_tt",
        "tcp_rev",
        "tcp_fd",
        "tcp_d",
        "tcp_burst",
        "tcp_isoch2_tt",
    ] {
        let request = TcpClientHeader::parse(find(&vectors, silent)).unwrap();
        assert_eq!(
            request.answer(PeerVersion::IPERF_2_2_1, Timestamp::ZERO),
            None,
            "{silent}"
        );
    }
}

#[test]
fn a_reverse_isochronous_stream_begins_with_a_plain_header_for_2_2() {
    let vectors = vectors(recorded::TCP_CLIENT_HEADER);
    let mut request = TcpClientHeader::parse(find(&vectors, "tcp_isoch2_R")).unwrap();
    let mut encoded = Vec::new();
    let answer = request
        .answer(PeerVersion::IPERF_2_2_1, Timestamp::ZERO)
        .unwrap();
    answer.encode(&mut encoded);
    assert_eq!(encoded.len(), 64);
    assert_eq!(encoded[..4], [0x40, 0x01, 0x00, 0x80]);
    assert_eq!(encoded[32..34], [0x00, 0x01]);
    request.version = PeerVersion::from_words(0x0002_0001, 0x0008_0003);
    assert_eq!(
        request.answer(PeerVersion::IPERF_2_2_1, Timestamp::ZERO),
        None
    );
}

#[test]
fn a_udp_server_answers_with_the_captured_header() {
    let vectors = vectors(recorded::UDP_DATAGRAM);
    for (request, answer) in [
        ("udp_R_tt_c1", "udp_R_tt_s1"),
        ("udp_fd_tt_c1", "udp_fd_tt_s1"),
    ] {
        let request = UdpClientHeader::parse(find(&vectors, request)).unwrap();
        let captured = find(&vectors, answer);
        let stamp = DatagramStamp::read_16(captured, true).unwrap();
        let start = UdpClientHeader::parse(captured)
            .unwrap()
            .start_time
            .unwrap();
        let mut encoded = vec![0; captured.len()];
        fill_pattern(&mut encoded);
        request
            .answer(PeerVersion::IPERF_2_2_1, start)
            .unwrap()
            .write(&mut encoded);
        stamp.write_16(&mut encoded);
        assert_eq!(encoded, captured, "{answer}");
    }
    for silent in ["udp_R_c1", "udp_fd_c1", "udp_tt_c1", "udp_isoch_R_c1"] {
        let request = UdpClientHeader::parse(find(&vectors, silent)).unwrap();
        assert_eq!(
            request.answer(PeerVersion::IPERF_2_2_1, Timestamp::ZERO),
            None,
            "{silent}"
        );
    }
}

#[test]
fn a_server_turns_a_captured_request_into_the_captured_reply() {
    let vectors = vectors(recorded::BOUNCEBACK);
    for number in ["1", "2"] {
        let mut message = find(&vectors, &format!("tcp_bb_req{number}")).to_vec();
        let captured = find(&vectors, &format!("tcp_bb_rep{number}"));
        let reply = Bounceback::parse(captured.first_chunk().unwrap()).unwrap();
        let (received, sent) = (reply.server_receive.unwrap(), reply.server_send.unwrap());
        Bounceback::stamp_reply(&mut message, received, sent);
        assert_eq!(message, captured);
    }
}
