//! The modes that every pair runs.

use interop::Transport;

/// How the flows of a mode run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
    /// Both ways on one connection.
    FullDuplex,
    /// Both ways, the server's flow on a connection of its own.
    ConnectBack,
}

/// One mode.
#[derive(Debug)]
pub(crate) struct Mode {
    /// Unique within the transport.
    pub(crate) name: &'static str,
    /// Client options; `PORT` stands for a free port.
    pub(crate) options: &'static str,
    /// How the data flow.
    pub(crate) direction: Direction,
    /// Connections or UDP flows that the client opens.
    pub(crate) flows: usize,
    /// Rows of intervals that the client shows at least.
    pub(crate) intervals: usize,
    /// Whether the server prints enhanced rows and intervals.
    pub(crate) enhanced_server: bool,
}

impl Mode {
    /// The modes of a transport.
    pub(crate) fn for_transport(transport: Transport) -> &'static [Self] {
        match transport {
            Transport::Tcp => &TCP,
            Transport::Udp => &UDP,
        }
    }

    /// A datagram size that suits every program, for a mode of UDP.
    pub(crate) fn datagram_option(&self) -> &'static str {
        if UDP.iter().any(|mode| std::ptr::eq(mode, self)) {
            " -l 1400"
        } else {
            ""
        }
    }

    /// Totals that each side shows for one of its flows.
    pub(crate) const fn rows_of_a_flow(&self) -> usize {
        match self.direction {
            Direction::Forward | Direction::Reverse => 1,
            Direction::FullDuplex | Direction::ConnectBack => 2,
        }
    }
}

const fn mode(name: &'static str, options: &'static str, direction: Direction) -> Mode {
    Mode {
        name,
        options,
        direction,
        flows: 1,
        intervals: 0,
        enhanced_server: false,
    }
}

static TCP: [Mode; 11] = [
    mode("plain", "-n 4M", Direction::Forward),
    mode("rate", "-t 0.3 -b 50m", Direction::Forward),
    mode("reverse", "-R -t 0.3 -b 50m", Direction::Reverse),
    mode("reverse bytes", "-R -n 4M", Direction::Reverse),
    mode(
        "full duplex",
        "--full-duplex -t 0.3 -b 50m",
        Direction::FullDuplex,
    ),
    // By time: the reference's own ends lose their way when a forward test of few bytes is
    // over before the connection back is up.
    mode("dual", "-d -L PORT -t 0.4", Direction::ConnectBack),
    mode("tradeoff", "-r -L PORT -t 0.4", Direction::ConnectBack),
    Mode {
        flows: 4,
        ..mode("parallel", "-P 4 -n 1M", Direction::Forward)
    },
    Mode {
        flows: 2,
        ..mode(
            "parallel reverse",
            "-P 2 -R -t 0.3 -b 20m",
            Direction::Reverse,
        )
    },
    Mode {
        intervals: 2,
        ..mode("intervals", "-i 0.5 -t 1.2 -b 50m", Direction::Forward)
    },
    Mode {
        intervals: 2,
        enhanced_server: true,
        ..mode("enhanced", "-e -i 0.5 -t 1.2 -b 50m", Direction::Forward)
    },
];

static UDP: [Mode; 11] = [
    mode("plain", "-t 0.3", Direction::Forward),
    mode("rate", "-t 0.3 -b 10m", Direction::Forward),
    mode("bytes", "-n 147000 -b 20m", Direction::Forward),
    mode("packets", "-t 0.3 -b 400pps", Direction::Forward),
    mode("reverse", "-R -t 0.3 -b 5m", Direction::Reverse),
    mode(
        "full duplex",
        "--full-duplex -t 0.3 -b 5m",
        Direction::FullDuplex,
    ),
    mode("dual", "-d -L PORT -t 0.3 -b 5m", Direction::ConnectBack),
    mode(
        "tradeoff",
        "-r -L PORT -t 0.3 -b 5m",
        Direction::ConnectBack,
    ),
    Mode {
        flows: 4,
        ..mode("parallel", "-P 4 -t 0.3 -b 3m", Direction::Forward)
    },
    Mode {
        intervals: 2,
        ..mode("intervals", "-i 0.5 -t 1.2 -b 5m", Direction::Forward)
    },
    Mode {
        intervals: 2,
        enhanced_server: true,
        ..mode("enhanced", "-e -i 0.5 -t 1.2 -b 5m", Direction::Forward)
    },
];
