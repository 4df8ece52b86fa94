//! What is to be measured.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, Pace, Tos, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, Iperf3Client, Limit, Personality,
};
use tapeline_report::document::Report;
use tapeline_wire::iperf3::{Direction, Parameters, Protocol};

use crate::error::TestError;
use crate::running_test::{Order, RunningTest};

/// Port of tapeline and iperf 2.
const PORT: u16 = 5001;
/// Port of iperf3.
const IPERF3_PORT: u16 = 5201;
/// Time in which an iperf3 server that has just ended a test listens again.
const IPERF3_PAUSE: Duration = Duration::from_secs(1);

/// A client's test. Without more words it sends over one stream for ten seconds, to port 5001 (5201 of
/// iperf3), as fast as it goes, and UDP at 1 Mbit/s.
#[derive(Clone, Debug)]
#[must_use = "a test begins with run or start"]
pub struct Test {
    plan: ClientPlan,
    port: Option<u16>,
    is_iperf3: bool,
}

impl Test {
    /// Over TCP, to a name or an address, which may have a zone (`fe80::1%eth0`).
    pub fn tcp(host: &str) -> Self {
        Self::new(host, Transport::Tcp)
    }

    /// Over UDP, likewise.
    pub fn udp(host: &str) -> Self {
        Self::new(host, Transport::Udp)
    }

    fn new(host: &str, transport: Transport) -> Self {
        let plan = ClientPlan {
            enhanced: true,
            control: true,
            probe: true,
            ..ClientPlan::new(Personality::Native, host, PORT, transport)
        };
        Self {
            plan,
            port: None,
            is_iperf3: false,
        }
    }

    /// The server is iperf3's. Its tests last whole seconds: others are rounded up.
    pub fn iperf3(mut self) -> Self {
        self.is_iperf3 = true;
        self
    }

    /// The server's port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Sends for so long.
    pub fn time(mut self, time: Duration) -> Self {
        self.plan.limit = Limit::Time(time);
        self
    }

    /// Each stream sends so many bytes, however long that takes. A test with an iperf3 server sends them
    /// in all.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.plan.limit = Limit::Bytes(Bytes(bytes));
        self
    }

    /// The server sends.
    pub fn reverse(self) -> Self {
        self.arranged(Arrangement::Reverse)
    }

    /// Both send at the same time.
    pub fn both_directions(self) -> Self {
        self.arranged(Arrangement::FullDuplex)
    }

    fn arranged(mut self, arrangement: Arrangement) -> Self {
        self.plan.workload = ClientWorkload::Stream(arrangement);
        self
    }

    /// Streams at the same time, at least 1.
    pub fn streams(mut self, streams: usize) -> Self {
        self.plan.parallel = streams.max(1);
        self
    }

    /// Each stream sends at most so many bits per second.
    pub fn rate(mut self, bits_per_second: u64) -> Self {
        self.plan.pace = Some(Pace::Bits(BitRate(bits_per_second)));
        self
    }

    /// Bytes of a write, or of a datagram's payload.
    pub fn length(mut self, bytes: u32) -> Self {
        self.plan.length = Some(bytes);
        self
    }

    /// Numbers of each such interval; without one there are those of the whole test.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.plan.interval = Some(interval);
        self
    }

    /// Buffers of the sockets, bytes.
    pub fn window(mut self, bytes: u64) -> Self {
        self.plan.socket.window = Some(bytes);
        self
    }

    /// TCP's congestion control, as the kernel calls it.
    pub fn congestion(mut self, algorithm: &str) -> Self {
        self.plan.socket.congestion = Some(algorithm.to_owned());
        self
    }

    /// Differentiated services code point of all packets, 0 to 63; greater ones are cut to six bits.
    pub fn dscp(mut self, code_point: u8) -> Self {
        self.plan.socket.tos = Some(Tos((code_point & 0x3f) << 2));
        self
    }

    /// Sends each write at once (TCP_NODELAY).
    pub fn no_delay(mut self) -> Self {
        self.plan.socket.nodelay = true;
        self
    }

    /// The own address of all connections.
    pub fn bind(mut self, address: IpAddr) -> Self {
        self.plan.bind = Some(BindPlan::address(&address.to_string()));
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// [`TestError`]: it could not begin, or broke off; then with what was measured.
    pub fn run(&self) -> Result<Report, TestError> {
        self.start()?.finish()
    }

    /// Begins it, on threads of its own.
    ///
    /// # Errors
    /// The process has no thread or descriptor left. All else shows at the end.
    pub fn start(&self) -> Result<RunningTest, TestError> {
        RunningTest::begin(self.order())
    }

    fn order(&self) -> Order {
        if self.is_iperf3 {
            return Order::Iperf3(Box::new(self.iperf3_plan()));
        }
        let port = self.port.unwrap_or(PORT);
        Order::Native(Box::new(ClientPlan {
            ports: (port, port),
            ..self.plan.clone()
        }))
    }

    fn iperf3_plan(&self) -> Iperf3Client {
        let plan = &self.plan;
        let udp = plan.transport == Transport::Udp;
        let (time, bytes) = match plan.limit {
            Limit::Time(time) => (time.as_secs_f64().ceil().max(1.0) as u32, 0),
            Limit::Bytes(bytes) => (0, bytes.0),
            Limit::Never => (0, 0),
        };
        let rate = match plan.pace {
            Some(Pace::Bits(rate)) => rate.0,
            _ if udp => ClientPlan::UDP_RATE.0,
            _ => 0,
        };
        Iperf3Client {
            bind: plan.bind.clone(),
            interval: plan.interval,
            refused_limit: IPERF3_PAUSE,
            parameters: Parameters {
                protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
                direction: match plan.workload {
                    ClientWorkload::Stream(Arrangement::Reverse) => Direction::Reverse,
                    ClientWorkload::Stream(Arrangement::FullDuplex) => Direction::Bidirectional,
                    _ => Direction::Forward,
                },
                time,
                bytes,
                parallel: plan.parallel as u32,
                length: plan.length,
                rate,
                nodelay: plan.socket.nodelay,
                window: plan
                    .socket
                    .window
                    .map(|bytes| bytes.min(u32::MAX.into()) as u32),
                tos: plan.socket.tos.map_or(0, |tos| tos.0),
                congestion: plan.socket.congestion.clone(),
                ..Parameters::default()
            },
            ..Iperf3Client::new(&plan.host, self.port.unwrap_or(IPERF3_PORT))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(test: &Test) -> ClientPlan {
        match test.order() {
            Order::Native(plan) => *plan,
            Order::Iperf3(_) => panic!("iperf3's"),
        }
    }

    #[test]
    fn words_are_the_plan() {
        let plan = native(
            &Test::tcp("h")
                .port(7)
                .bytes(9)
                .streams(0)
                .reverse()
                .dscp(46),
        );
        assert_eq!((plan.ports, plan.parallel), ((7, 7), 1));
        assert_eq!(plan.limit, Limit::Bytes(Bytes(9)));
        assert_eq!(plan.socket.tos, Some(Tos(184)));
        assert_eq!(plan.workload, ClientWorkload::Stream(Arrangement::Reverse));
        assert_eq!(native(&Test::udp("h")).ports, (PORT, PORT));
    }

    #[test]
    fn iperf3_has_whole_seconds_and_its_own_port() {
        let test = Test::udp("h").iperf3().time(Duration::from_millis(1200));
        let plan = test.both_directions().iperf3_plan();
        assert_eq!((plan.port, plan.parameters.time), (IPERF3_PORT, 2));
        assert_eq!(plan.parameters.rate, 1_000_000);
        assert_eq!(plan.parameters.direction, Direction::Bidirectional);
    }
}
