//! Round trips beside a transfer towards peers that answer nothing else: TCP handshakes, two a second.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tapeline_sys::{SocketOptions, TcpConn};

/// Time between two of them.
const EVERY: Duration = Duration::from_millis(500);
/// Time for each.
const LIMIT: Duration = Duration::from_secs(2);
/// Longest wait between two looks at the end.
const POLL: Duration = Duration::from_millis(20);

/// Handshakes while a test runs. None before its data: an iperf3 server would take the connection for
/// that of the next test.
#[derive(Debug, Default)]
pub(crate) struct ConnectProbes {
    under_way: AtomicBool,
    over: AtomicBool,
    /// When each was answered, and after how long.
    answered: Mutex<Vec<(Instant, Duration)>>,
}

impl ConnectProbes {
    /// The test's data comes.
    pub(crate) fn begin(&self) {
        self.under_way.store(true, Ordering::Relaxed);
    }

    /// Connects again and again, from [`begin`](Self::begin) until [`end`](Self::end).
    pub(crate) fn run(
        &self,
        server: SocketAddr,
        local: Option<SocketAddr>,
        device: Option<String>,
    ) {
        let options = SocketOptions {
            device,
            ..SocketOptions::default()
        };
        while !self.over.load(Ordering::Relaxed) {
            if !self.under_way.load(Ordering::Relaxed) {
                std::thread::sleep(POLL);
                continue;
            }
            let began = Instant::now();
            if let Ok(connected) = TcpConn::connect(server, local, &options, Some(LIMIT)) {
                let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
                answered.push((Instant::now(), connected.connect_time));
            }
            while began.elapsed() < EVERY && !self.over.load(Ordering::Relaxed) {
                std::thread::sleep(POLL);
            }
        }
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Seconds behind `start`, and milliseconds.
    pub(crate) fn round_trips(&self, start: Instant) -> Vec<(f64, f64)> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let after = |at: Instant| at.saturating_duration_since(start).as_secs_f64();
        let times = answered.iter();
        times
            .map(|(at, took)| (after(*at), took.as_secs_f64() * 1e3))
            .collect()
    }
}
