//! What the path to the other end carries: the sending end of the method `mtu`, the same for a client
//! (up) and a server (down). The other end answers each probe with a short datagram.
//!
//! | Part | Packets may be fragmented | What is learnt |
//! |---|---|---|
//! | classical | no, and ICMP counts | what path MTU discovery of RFC 1191 and 8201 comes to |
//! | search | no, whatever ICMP says | what really passes ([`PathMtuSearch`]) |
//! | fragments | yes | whether twice as much arrives in pieces |
//!
//! The classical part comes first: the search teaches the system's route cache what it finds.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_stats::{
    PathMtuAction, PathMtuEnding, PathMtuLimits, PathMtuOutcome, PathMtuSearch, PathMtuTrial,
};
use tapeline_sys::{Interest, PathMtuMode, Returned, SystemClock, UdpSocket, Wait};

/// Numbers of the probes of the classical part and of fragments; those of the search begin at 0.
const CLASSICAL: u32 = 0x4000_0000;
const FRAGMENTS: u32 = 0x8000_0000;
/// Datagrams of a size in the classical part, and the time between them.
const CLASSICAL_TRIES: u32 = 3;
const CLASSICAL_GAP: Duration = Duration::from_millis(500);
/// Shortest wait after the last of them.
const CLASSICAL_WAIT: Duration = Duration::from_secs(1);
/// Routers with ever smaller links that are followed.
const MOST_HOPS: u32 = 8;
/// How far a router may stay below what passes: it may count its own header.
const ICMP_TOLERANCE: u32 = 8;
/// Fragmented datagrams, and the wait for them.
const FRAGMENT_TRIES: u32 = 3;
const FRAGMENT_GAP: Duration = Duration::from_millis(10);
/// The longest IP packet.
const LONGEST_PACKET: u32 = 65_535;
/// The upper end where the interface's MTU is not known.
const COMMON_LARGEST: u16 = 9000;
/// The whole measurement of a direction, and what the search leaves for fragments.
const WITHIN: Duration = Duration::from_secs(20);
const FOR_FRAGMENTS: Duration = Duration::from_secs(1);
/// Longest wait between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The datagrams of the protocol that carries the probes.
pub trait ProbeFormat {
    /// The payload of a probe: `length` bytes, at least 32.
    fn probe(&mut self, number: u32, length: usize) -> &[u8];

    /// The number in an answer; `None` of any other datagram.
    fn answer(&mut self, datagram: &[u8]) -> Option<u32>;

    /// Whether to stop at once. Called at least ten times a second.
    fn is_over(&mut self) -> bool;
}

/// How to measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathMtuRequest {
    /// The largest packet to try, bytes; `None` is the interface's.
    pub largest: Option<u16>,
    /// Only a first impression: customary sizes, no confirmation, no fragments.
    pub is_quick: bool,
    /// A round trip of the path, if one is known.
    pub round_trip: Option<Duration>,
    /// Decides the random gaps between probes.
    pub seed: u64,
}

/// What classical path MTU discovery comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpOutcome {
    /// Packets as long as the interface sends pass.
    NotNeeded,
    /// A router said what its link carries, and that passes.
    Received,
    /// A router said so, and it is not what passes.
    Wrong,
    /// Longer packets vanish and no router says so.
    Blocked,
    /// The system knew a smaller MTU before.
    Cached,
}

impl IcmpOutcome {
    /// As documents name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotNeeded => "not-needed",
            Self::Received => "received",
            Self::Wrong => "wrong",
            Self::Blocked => "blocked",
            Self::Cached => "cached",
        }
    }
}

/// What was found out about a direction.
#[derive(Clone, Debug)]
pub struct PathMtuFinding {
    /// The search.
    pub outcome: PathMtuOutcome,
    /// MTU of the interface that leads to the other end.
    pub interface_mtu: Option<u32>,
    /// Classical discovery; `None` where it was not tried, the system does not report ICMP, or the
    /// search found nothing to compare with.
    pub icmp: Option<IcmpOutcome>,
    /// The MTU in the router's message, or that the system knew.
    pub icmp_mtu: Option<u32>,
    /// The router.
    pub icmp_from: Option<IpAddr>,
    /// Whether fragments arrive; `None` where that was not tried or cannot be told.
    pub fragments_pass: Option<bool>,
    /// The sizes of the search, ascending.
    pub trials: Vec<PathMtuTrial>,
}

/// Whether a probe of this number belongs to the search: others go with it and do not count.
#[must_use]
pub const fn is_path_mtu_search(number: u32) -> bool {
    number < CLASSICAL
}

/// What classical discovery learnt.
#[derive(Clone, Copy, Debug, Default)]
struct Learnt {
    is_cached: bool,
    mtu: Option<u32>,
    from: Option<IpAddr>,
    /// The longest packet that was answered.
    answered: Option<u32>,
}

/// Measures what the path to the peer of the connected `socket` carries; takes at most 20 seconds.
///
/// # Errors
/// The socket fails, or the system cannot forbid fragmentation (`Unsupported`).
pub fn measure_path_mtu(
    socket: &UdpSocket,
    request: &PathMtuRequest,
    format: &mut dyn ProbeFormat,
) -> io::Result<PathMtuFinding> {
    let started = SystemClock.now();
    let mut prober = Prober::new(socket, format)?;
    let interface_mtu = socket.outgoing_mtu();
    let of_interface = interface_mtu.map_or(COMMON_LARGEST, |mtu| {
        u16::try_from(mtu.min(LONGEST_PACKET)).unwrap_or(u16::MAX)
    });
    let largest = request.largest.unwrap_or(of_interface).min(of_interface);
    let mut learnt = Learnt::default();
    if prober.reports_icmp {
        learnt = prober.classical(interface_mtu, largest, request.round_trip)?;
    }
    let left = WITHIN.saturating_sub(SystemClock.now().since(started) + FOR_FRAGMENTS);
    let limits = PathMtuLimits {
        is_v6: prober.is_v6,
        largest,
        is_lowered: largest < of_interface,
        is_quick: request.is_quick,
        within: left,
    };
    let search = prober.search(limits, request.seed, &mut learnt)?;
    let outcome = search.outcome();
    let fragments_pass = match outcome.size {
        Some(size) if !request.is_quick => prober.fragments(size, &outcome)?,
        _ => None,
    };
    let judged = prober.reports_icmp;
    Ok(PathMtuFinding {
        outcome,
        interface_mtu,
        icmp: interface_mtu
            .filter(|_| judged)
            .and_then(|mtu| match request.is_quick {
                true => judge_quickly(&outcome, mtu, learnt),
                false => judge(&outcome, mtu, learnt),
            }),
        icmp_mtu: learnt.mtu,
        icmp_from: learnt.from,
        fragments_pass,
        trials: search.trials().collect(),
    })
}

/// Compares what routers said with what passes.
fn judge(outcome: &PathMtuOutcome, interface: u32, learnt: Learnt) -> Option<IcmpOutcome> {
    let passes = u32::from(outcome.size?);
    if !outcome.is_exact && passes < interface {
        return None;
    }
    Some(match learnt.mtu {
        _ if learnt.is_cached => IcmpOutcome::Cached,
        Some(mtu) if mtu > passes || mtu + ICMP_TOLERANCE < passes => IcmpOutcome::Wrong,
        Some(_) => IcmpOutcome::Received,
        None if passes >= interface => IcmpOutcome::NotNeeded,
        None => IcmpOutcome::Blocked,
    })
}

/// The same where the size is the largest customary one that passes, and what lies above is not known.
fn judge_quickly(outcome: &PathMtuOutcome, interface: u32, learnt: Learnt) -> Option<IcmpOutcome> {
    let passes = u32::from(outcome.size?).max(learnt.answered.unwrap_or(0));
    Some(match learnt.mtu {
        _ if learnt.is_cached => IcmpOutcome::Cached,
        Some(mtu) if mtu + ICMP_TOLERANCE < passes => IcmpOutcome::Wrong,
        Some(_) => IcmpOutcome::Received,
        None if passes >= interface => IcmpOutcome::NotNeeded,
        None => IcmpOutcome::Blocked,
    })
}

struct Prober<'a> {
    socket: &'a UdpSocket,
    format: &'a mut dyn ProbeFormat,
    is_v6: bool,
    reports_icmp: bool,
    buffer: Vec<u8>,
}

/// What came of a wait.
enum Came {
    /// An answer to this number.
    Answer(u32),
    /// A router's link carries so much.
    TooLong(u32, IpAddr),
    /// Nothing of interest, or the time is over.
    Nothing,
}

/// What packets of one size came to.
enum Said {
    Answered,
    /// A router's link carries so much.
    TooLong(u32, IpAddr),
    Nothing,
}

impl<'a> Prober<'a> {
    fn new(socket: &'a UdpSocket, format: &'a mut dyn ProbeFormat) -> io::Result<Self> {
        socket.set_path_mtu_mode(PathMtuMode::Probe)?;
        Ok(Self {
            socket,
            format,
            is_v6: socket.peer_addr()?.is_ipv6(),
            reports_icmp: socket.receive_refusals(),
            buffer: vec![0; UdpSocket::MAX_PAYLOAD],
        })
    }

    /// Sends a probe of a packet of `size` bytes; returns whether this host takes it.
    fn send(&mut self, number: u32, size: u32) -> io::Result<bool> {
        let headers = u32::from(PathMtuLimits::headers(self.is_v6));
        let length = size.saturating_sub(headers) as usize;
        let datagram = self.format.probe(number, length);
        self.socket.send_whole(datagram)
    }

    /// The same; a full queue of this host is a loss as any on the path.
    fn send_or_lose(&mut self, number: u32, size: u32) -> bool {
        self.send(number, size).unwrap_or(true)
    }

    /// Waits for the next thing that comes, at most until `until`.
    fn receive(&mut self, until: MonoTime) -> io::Result<Came> {
        let left = until.since(SystemClock.now()).min(LOOK);
        if !self.socket.wait_ready(Interest::READ, Wait::AtMost(left))? {
            return Ok(Came::Nothing);
        }
        while let Some(returned) = self.socket.next_returned() {
            if let Returned::TooLong {
                mtu,
                found_by: Some(router),
            } = returned
            {
                return Ok(Came::TooLong(mtu, router));
            }
        }
        match self.socket.recv_nonblocking(&mut self.buffer) {
            Ok(count) => {
                let answer = self.format.answer(&self.buffer[..count]);
                Ok(answer.map_or(Came::Nothing, Came::Answer))
            }
            // What came back for a probe: the error queue has it, or it says nothing.
            Err(_) => Ok(Came::Nothing),
        }
    }

    /// Follows what routers say, from packets as long as the interface sends.
    fn classical(
        &mut self,
        interface: Option<u32>,
        largest: u16,
        round_trip: Option<Duration>,
    ) -> io::Result<Learnt> {
        let mut size = u32::from(largest);
        let known = self.socket.path_mtu();
        if let (Some(known), Some(interface)) = (known, interface)
            && known < interface
        {
            return Ok(Learnt {
                is_cached: true,
                mtu: Some(known),
                ..Learnt::default()
            });
        }
        self.socket.set_path_mtu_mode(PathMtuMode::Classical)?;
        let wait = (3 * round_trip.unwrap_or_default()).max(CLASSICAL_WAIT);
        let mut learnt = Learnt::default();
        for _ in 0..MOST_HOPS {
            let (mtu, router) = match self.ask_routers(size, wait)? {
                Said::TooLong(mtu, router) => (mtu, router),
                Said::Answered => {
                    learnt.answered = Some(size);
                    break;
                }
                Said::Nothing => break,
            };
            learnt.mtu = Some(mtu);
            learnt.from = Some(router);
            // Of a router that knows no better there is nothing more to learn.
            if mtu == 0 || mtu >= size || mtu < u32::from(PathMtuLimits::headers(self.is_v6)) + 32 {
                break;
            }
            size = mtu;
        }
        self.socket.set_path_mtu_mode(PathMtuMode::Probe)?;
        Ok(learnt)
    }

    /// Sends three packets of this size; returns what comes first.
    fn ask_routers(&mut self, size: u32, wait: Duration) -> io::Result<Said> {
        for number in 0..CLASSICAL_TRIES {
            if self.format.is_over() {
                break;
            }
            if !self.send_or_lose(CLASSICAL + number, size) {
                // The system has learnt of a smaller one meanwhile: the message is in the queue.
                let came = self.receive(SystemClock.now() + CLASSICAL_GAP)?;
                return Ok(match came {
                    Came::TooLong(mtu, router) => Said::TooLong(mtu, router),
                    _ => Said::Nothing,
                });
            }
            let is_last = number + 1 == CLASSICAL_TRIES;
            let until = SystemClock.now() + if is_last { wait } else { CLASSICAL_GAP };
            while SystemClock.now() < until && !self.format.is_over() {
                match self.receive(until)? {
                    Came::Answer(number) if number >= CLASSICAL => return Ok(Said::Answered),
                    Came::TooLong(mtu, router) => return Ok(Said::TooLong(mtu, router)),
                    _ => {}
                }
            }
        }
        Ok(Said::Nothing)
    }

    fn search(
        &mut self,
        limits: PathMtuLimits,
        seed: u64,
        learnt: &mut Learnt,
    ) -> io::Result<PathMtuSearch> {
        let mut search = PathMtuSearch::new(limits, seed);
        while !self.format.is_over() {
            match search.next(SystemClock.now()) {
                PathMtuAction::Send(probe) => {
                    match self.send(probe.number, u32::from(probe.size)) {
                        Ok(true) => {}
                        Ok(false) => search.refused_here(probe.number),
                        // A full queue of this host.
                        Err(_) => search.not_sent(probe.number),
                    }
                    // Where each waits for room, the next one is due by now.
                    self.hear(&mut search, learnt, SystemClock.now())?;
                }
                PathMtuAction::Wait(until) => self.hear(&mut search, learnt, until)?,
                PathMtuAction::Over => break,
            }
        }
        Ok(search)
    }

    /// Gives the search the next thing that comes, at most until `until`.
    fn hear(
        &mut self,
        search: &mut PathMtuSearch,
        learnt: &mut Learnt,
        until: MonoTime,
    ) -> io::Result<()> {
        match self.receive(until)? {
            Came::Answer(number) => {
                search.answered(number, SystemClock.now());
            }
            Came::TooLong(mtu, router) if learnt.mtu.is_none() => {
                learnt.mtu = Some(mtu);
                learnt.from = Some(router);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether packets of twice the size arrive in pieces, while controls arrive whole.
    fn fragments(&mut self, size: u16, outcome: &PathMtuOutcome) -> io::Result<Option<bool>> {
        let twice = 2 * u32::from(size);
        let is_known = matches!(
            outcome.ending,
            PathMtuEnding::Found | PathMtuEnding::TooLossy
        );
        if twice > LONGEST_PACKET || !is_known {
            return Ok(None);
        }
        self.socket.set_path_mtu_mode(PathMtuMode::Fragment)?;
        self.socket.set_fragment_size(u32::from(size));
        let mut sent = false;
        for number in 0..FRAGMENT_TRIES {
            sent |= self.send_or_lose(FRAGMENTS + 2 * number, twice);
            self.wait(FRAGMENT_GAP);
            self.send_or_lose(FRAGMENTS + 2 * number + 1, u32::from(outcome.control_size));
            self.wait(FRAGMENT_GAP);
        }
        let round_trip = outcome.round_trip.unwrap_or_default();
        let wait = (4 * round_trip).clamp(2 * LOOK, FOR_FRAGMENTS);
        let until = SystemClock.now() + wait;
        let mut controls = false;
        while SystemClock.now() < until && !self.format.is_over() {
            match self.receive(until)? {
                Came::Answer(number) if number >= FRAGMENTS && number % 2 == 0 => {
                    return Ok(Some(true));
                }
                Came::Answer(number) if number >= FRAGMENTS => controls = true,
                _ => {}
            }
        }
        Ok((controls && sent).then_some(false))
    }

    fn wait(&self, time: Duration) {
        tapeline_sys::sleep_until(SystemClock.now() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(size: Option<u16>, is_exact: bool) -> PathMtuOutcome {
        PathMtuOutcome {
            size,
            is_exact,
            ..PathMtuSearch::new(PathMtuLimits::new(false, 1500), 1).outcome()
        }
    }

    fn learnt(mtu: Option<u32>) -> Learnt {
        Learnt {
            mtu,
            ..Learnt::default()
        }
    }

    #[test]
    fn what_routers_say_is_held_against_what_passes() {
        let judged = |size, mtu| judge(&outcome(Some(size), true), 1500, learnt(mtu));
        assert_eq!(judged(1500, None), Some(IcmpOutcome::NotNeeded));
        assert_eq!(judged(1400, None), Some(IcmpOutcome::Blocked));
        assert_eq!(judged(1400, Some(1400)), Some(IcmpOutcome::Received));
        assert_eq!(judged(1400, Some(1392)), Some(IcmpOutcome::Received));
        assert_eq!(judged(1400, Some(1391)), Some(IcmpOutcome::Wrong));
        assert_eq!(judged(1400, Some(1401)), Some(IcmpOutcome::Wrong));
        assert_eq!(judged(1500, Some(1400)), Some(IcmpOutcome::Wrong));
        assert_eq!(judged(1400, Some(0)), Some(IcmpOutcome::Wrong));
        let cached = Learnt {
            is_cached: true,
            ..learnt(Some(1400))
        };
        let judged = judge(&outcome(Some(1400), true), 1500, cached);
        assert_eq!(judged, Some(IcmpOutcome::Cached));
    }

    #[test]
    fn a_lower_bound_is_no_black_hole() {
        let judged = |size, exact| judge(&outcome(size, exact), 1500, learnt(None));
        assert_eq!(judged(Some(1400), false), None);
        assert_eq!(judged(None, false), None);
        assert_eq!(judged(Some(1500), true), Some(IcmpOutcome::NotNeeded));
    }

    #[test]
    fn a_first_impression_knows_black_holes() {
        let judged = |learnt| judge_quickly(&outcome(Some(1480), false), 1500, learnt);
        assert_eq!(judged(learnt(None)), Some(IcmpOutcome::Blocked));
        assert_eq!(judged(learnt(Some(1492))), Some(IcmpOutcome::Received));
        assert_eq!(judged(learnt(Some(1400))), Some(IcmpOutcome::Wrong));
        // Loss made the search short, not the path.
        let answered = Learnt {
            answered: Some(1500),
            ..Learnt::default()
        };
        assert_eq!(judged(answered), Some(IcmpOutcome::NotNeeded));
    }

    /// Answers probes up to a size, as the other end does.
    struct Echo {
        datagram: Vec<u8>,
        calls: u32,
    }

    impl ProbeFormat for Echo {
        fn probe(&mut self, number: u32, length: usize) -> &[u8] {
            self.datagram.clear();
            self.datagram.resize(length, 0);
            self.datagram[..4].copy_from_slice(&number.to_be_bytes());
            &self.datagram
        }

        fn answer(&mut self, datagram: &[u8]) -> Option<u32> {
            Some(u32::from_be_bytes(*datagram.first_chunk()?))
        }

        fn is_over(&mut self) -> bool {
            self.calls += 1;
            self.calls > 100_000
        }
    }

    /// A host that answers datagrams of at most `most` bytes until the socket is closed.
    fn answering(most: usize) -> (UdpSocket, std::thread::JoinHandle<()>) {
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let bound = |peer| {
            let opened = match peer {
                Some(peer) => UdpSocket::connected(peer, None, &Default::default()),
                None => UdpSocket::bind(any, &Default::default()),
            };
            opened.expect("a socket").socket
        };
        let server = bound(None);
        let client = bound(Some(server.local_addr().expect("an address")));
        server
            .connect(client.local_addr().expect("an address"))
            .expect("connected");
        server
            .set_receive_timeout(Some(Duration::from_secs(2)))
            .expect("a timeout");
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; UdpSocket::MAX_PAYLOAD];
            while let Ok(count) = server.recv(&mut buffer) {
                if count <= most {
                    let _ = server.send(&buffer[..32.min(count)]);
                }
            }
        });
        (client, thread)
    }

    #[test]
    fn a_path_over_real_sockets_gives_its_mtu_to_the_byte() {
        let most = 1432;
        let (socket, thread) = answering(most);
        let mut format = Echo {
            datagram: Vec::new(),
            calls: 0,
        };
        let request = PathMtuRequest {
            largest: Some(9000),
            seed: 1,
            round_trip: Some(Duration::from_millis(1)),
            ..PathMtuRequest::default()
        };
        let found = measure_path_mtu(&socket, &request, &mut format).expect("a measurement");
        assert_eq!(found.outcome.size, Some(most as u16 + 28), "{found:?}");
        assert!(found.outcome.is_exact);
        drop(socket);
        thread.join().expect("an echo");
    }
}
