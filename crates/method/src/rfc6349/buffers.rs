//! Buffers that both systems give a TCP connection, beside those that the path needs.

use tapeline_report::method::Direction;
use tapeline_sys::HostFacts;

/// Windows that a buffer must have room for: half of it and more is the system's overhead.
const ROOM: u64 = 2;

/// The largest that a system gives a connection by itself, bytes; `None` where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) receive: Option<u64>,
    pub(crate) send: Option<u64>,
}

impl Buffers {
    /// Of this computer.
    pub(crate) fn own() -> Self {
        let facts = HostFacts::gather();
        Self {
            receive: facts.max_tcp_receive_buffer,
            send: facts.max_tcp_send_buffer,
        }
    }

    /// Whether a window fits into the receive buffer.
    pub(crate) fn receive_window(self, window: u64) -> bool {
        self.receive
            .is_some_and(|largest| largest >= window.saturating_mul(ROOM))
    }
}

/// A buffer that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    host: &'static str,
    setting: &'static str,
    largest: u64,
    needed: u64,
}

impl Shortage {
    /// In words.
    pub(crate) fn text(self, direction: Direction) -> String {
        let Self {
            host,
            setting,
            largest,
            needed,
        } = self;
        format!(
            "{setting} of {host} ends at {largest} bytes, less than twice the bandwidth-delay product \
             {direction}: raise it to {needed}"
        )
    }
}

/// The buffers that are too small for a least window, of the sender and of the receiver.
pub(crate) fn shortages(
    window: u64,
    sender: (&'static str, Buffers),
    receiver: (&'static str, Buffers),
) -> Vec<Shortage> {
    let needed = window.saturating_mul(ROOM);
    let ends = [
        (sender.0, "net.ipv4.tcp_wmem", sender.1.send),
        (receiver.0, "net.ipv4.tcp_rmem", receiver.1.receive),
    ];
    let short = |(host, setting, largest): (_, _, Option<u64>)| {
        let largest = largest.filter(|largest| *largest < needed)?;
        Some(Shortage {
            host,
            setting,
            largest,
            needed,
        })
    };
    ends.into_iter().filter_map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_two_windows() {
        let of = |receive, send| Buffers {
            receive: Some(receive),
            send: Some(send),
        };
        let window = 5_625_000;
        let found = |own, server| shortages(window, ("this computer", own), ("the server", server));
        assert_eq!(found(of(0, 11_250_000), of(11_250_000, 0)), []);
        // What is not known is not too small.
        assert_eq!(found(Buffers::default(), Buffers::default()), []);
        let short = found(of(0, 4_194_304), of(6_291_456, 0));
        let texts: Vec<String> = short.iter().map(|one| one.text(Direction::Up)).collect();
        assert_eq!(
            texts,
            [
                "net.ipv4.tcp_wmem of this computer ends at 4194304 bytes, less than twice the \
                 bandwidth-delay product up: raise it to 11250000",
                "net.ipv4.tcp_rmem of the server ends at 6291456 bytes, less than twice the \
                 bandwidth-delay product up: raise it to 11250000",
            ]
        );
        assert!(of(11_250_000, 0).receive_window(window));
        assert!(!of(11_249_999, 0).receive_window(window));
        assert!(!Buffers::default().receive_window(1));
    }
}
