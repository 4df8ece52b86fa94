//! Fault 24: permit keys tried at full speed.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::time::Instant;

use tapeline_wire::iperf2::{PeerVersion, PermitKey, TcpClientHeader};

use crate::Fault;
use crate::iperf2_tcp::KEYED;
use crate::subject::{SOON, Subject, is_closed};

pub(crate) const FAULTS: &[Fault] = &[("24 wrong keys at full speed", wrong_keys)];

/// Failures that are looked at, of one source in a second.
const PER_SECOND: u64 = 10;

fn wrong_keys() {
    // Each wrong key that is looked at is logged, whatever the limit of what is logged.
    let options = "--permit-key=sesame --permit-key-timeout 0 --limit refusals-logged=1000000";
    let subject = Subject::serving(options, KEYED);
    let mut message = Vec::new();
    TcpClientHeader {
        version: Some(PeerVersion::IPERF_2_2_1),
        permit_key: PermitKey::new(b"wrong!").ok(),
        ..TcpClientHeader::default()
    }
    .encode(&mut message);
    let began = Instant::now();
    let tries: Vec<TcpStream> = (0..500)
        .map(|_| {
            let mut stream = subject.connect();
            // It may be closed unread.
            let _ = stream.write_all(&message);
            stream
        })
        .collect();
    subject.serves();
    assert!(tries.iter().all(is_closed));
    let seconds = began.elapsed().as_secs() + 1;
    let said = subject.said();
    let looked_at = said
        .lines()
        .filter(|line| line.contains("[permit-key-refused]"))
        .count() as u64;
    assert!(
        looked_at <= PER_SECOND * (seconds + 1),
        "{looked_at} in {seconds} s\n{said}"
    );
    assert!(looked_at > 0, "{said}");
    let own = TcpStream::connect((Ipv4Addr::LOCALHOST, subject.address().port()));
    drop(own);
    subject.recovers(SOON);
}
