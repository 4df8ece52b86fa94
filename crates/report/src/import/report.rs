//! The report of another program's result.

use super::kind::Kind;
use crate::document::{Imported, Peer, Report, SCHEMA, Sum, Test};

/// Streams that a run can have.
pub(crate) const MAX_STREAMS: usize = 4096;

/// A report of which nothing is known.
pub(crate) fn unknown(kind: Kind) -> Report {
    Report {
        schema: SCHEMA,
        version: None,
        command: None,
        imported: Some(Imported {
            from: kind.name(),
            resolution: None,
        }),
        peer: Peer::default(),
        test: Test {
            role: None,
            protocol: None,
            transport: None,
            direction: None,
            workload: None,
            started: None,
            requested_seconds: None,
            requested_bytes: None,
            omit_seconds: None,
            streams: None,
            length_bytes: None,
            requested_bits_per_second: None,
            interval_seconds: None,
            congestion_control: None,
            socket_buffer_bytes: None,
            tos: None,
            complete: false,
            interrupted: false,
            intervals_dropped: 0,
        },
        streams: Vec::new(),
        intervals: Vec::new(),
        sum: Sum::default(),
        connect_times: None,
        latency_under_load: None,
        verdict: None,
        trust: None,
        warnings: Vec::new(),
        error: None,
    }
}
