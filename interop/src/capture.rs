//! A third party's view: packets with the kernel's timestamps.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Invocation, Namespace, Running};

/// Bytes kept of each packet: Ethernet, IPv6 and UDP headers and the datagram's first words.
const SNAP: usize = 96;
/// IPv4 without options and UDP headers.
const IPV4_HEADERS: usize = 20 + 8;
/// Rest of the capture file after which nothing more is expected.
const SETTLED: Duration = Duration::from_millis(100);
/// Time after which the kernel hands over a block that is not full: tcpdump's second, and a rest.
const BLOCK: Duration = Duration::from_millis(1300);
/// Link type of a capture file whose packets begin with an Ethernet header of this length; those of
/// a TUN device begin with the IP header.
const ETHERNET: (u32, usize) = (1, 14);
/// Magic number of a capture file with nanosecond timestamps, in the writer's byte order.
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;

/// A packet as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Kernel receive time in nanoseconds since 1970.
    pub time: u64,
    /// Length on the wire in bytes, with the Ethernet header where there is one.
    pub length: u32,
    /// The first bytes, from the IP header on.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// The first four bytes of an IPv4 UDP payload: iperf's datagram number, negative at the end.
    #[must_use]
    pub fn datagram_id(&self) -> Option<i32> {
        Some(self.payload_word(0)? as i32)
    }

    /// When its sender says that it was sent, in nanoseconds since 1970: the second and third word
    /// of an IPv4 UDP payload are seconds and microseconds.
    #[must_use]
    pub fn sent(&self) -> Option<u64> {
        let [seconds, microseconds] = [self.payload_word(1)?, self.payload_word(2)?].map(u64::from);
        Some(seconds * 1_000_000_000 + microseconds * 1000)
    }

    fn payload_word(&self, index: usize) -> Option<u32> {
        let begin = IPV4_HEADERS + index * 4;
        let word = self.bytes.get(begin..begin + 4)?;
        Some(u32::from_be_bytes(word.try_into().ok()?))
    }
}

/// A running capture on the interface of a namespace.
#[derive(Debug)]
pub struct Capture {
    process: Running,
    file: PathBuf,
    handover: Handover,
}

/// How packets come from the kernel to the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handover {
    /// Each at once.
    Each,
    /// Many together, within [`BLOCK`].
    Blocks,
}

impl Capture {
    /// Why nothing can be captured here, or nothing when it can.
    #[must_use]
    pub fn unavailable() -> Option<String> {
        let version = Invocation::for_executable("tcpdump", "tcpdump")
            .args(["--version"])
            .run();
        version
            .err()
            .map(|error| format!("tcpdump does not run ({error}): apt-get install tcpdump"))
    }

    /// Captures the UDP datagrams to `port` that arrive at `interface`, in `namespace` or, without
    /// one, in the caller's network; returns when the capture has begun.
    ///
    /// # Errors
    /// The capture cannot begin.
    pub fn udp_to(namespace: Option<&Namespace>, interface: &str, port: u16) -> io::Result<Self> {
        Self::begin(namespace, interface, port, Handover::Each)
    }

    /// The same for many packets per second: it takes less of the processors, and longer to
    /// finish.
    ///
    /// # Errors
    /// As [`Capture::udp_to`].
    pub fn flood_to(namespace: Option<&Namespace>, interface: &str, port: u16) -> io::Result<Self> {
        Self::begin(namespace, interface, port, Handover::Blocks)
    }

    fn begin(
        namespace: Option<&Namespace>,
        interface: &str,
        port: u16,
        handover: Handover,
    ) -> io::Result<Self> {
        let file =
            std::env::temp_dir().join(format!("tapeline-{}-{port}.pcap", std::process::id()));
        let mut invocation = Invocation::for_executable("tcpdump", "tcpdump")
            .args(["-i", interface, "-Q", "in", "-w"])
            .args([file.to_string_lossy()])
            .args(["--time-stamp-precision=nano", "-n", "-B", "16384"])
            .args(
                match handover {
                    Handover::Each => ["--immediate-mode", "-U"].as_slice(),
                    Handover::Blocks => &[],
                }
                .iter()
                .copied(),
            )
            .args([
                "-Z",
                "root",
                "-s",
                &SNAP.to_string(),
                "udp",
                "dst",
                "port",
                &port.to_string(),
            ])
            .deadline(Duration::from_secs(120));
        if let Some(namespace) = namespace {
            invocation = invocation.within(namespace);
        }
        let process = invocation.spawn()?;
        let capture = Self {
            process,
            file,
            handover,
        };
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while !capture.process.stderr().contains("listening on") {
            if !capture.process.is_alive() || std::time::Instant::now() > end {
                let message = format!("no capture: {}", capture.process.stderr());
                return Err(io::Error::other(message));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(capture)
    }

    /// Ends the capture and returns what it saw.
    ///
    /// # Errors
    /// The kernel dropped packets of the capture, or its file cannot be read.
    pub fn finish(self) -> io::Result<Vec<Packet>> {
        let Self {
            process,
            file,
            handover,
        } = self;
        if handover == Handover::Blocks {
            std::thread::sleep(BLOCK);
        }
        // What has been captured is being written; the end of that is seen by the file's rest.
        let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
        let mut before = None;
        while before != Some(size()) {
            before = Some(size());
            std::thread::sleep(SETTLED);
        }
        process.interrupt();
        let finished = process.wait()?;
        let packets = std::fs::read(&file).and_then(|bytes| parse(&bytes));
        let _ = std::fs::remove_file(&file);
        if !finished.stderr.contains("0 packets dropped by kernel") {
            let message = format!("the capture is incomplete: {}", finished.stderr);
            return Err(io::Error::other(message));
        }
        packets
    }
}

/// Reads a capture file with nanosecond timestamps, written on this machine.
fn parse(file: &[u8]) -> io::Result<Vec<Packet>> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not a capture file");
    let word = |bytes: &[u8], index: usize| -> Option<u32> {
        let bytes = bytes.get(index * 4..index * 4 + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    if word(file, 0) != Some(NANOSECOND_MAGIC) {
        return Err(invalid());
    }
    let link_type = word(file, 5).ok_or_else(invalid)?;
    let link_header = if link_type == ETHERNET.0 {
        ETHERNET.1
    } else {
        0
    };
    let mut rest = file.get(FILE_HEADER..).ok_or_else(invalid)?;
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let field = |index| word(rest, index).ok_or_else(invalid);
        let (seconds, nanoseconds) = (field(0)?, field(1)?);
        let (kept, length) = (field(2)? as usize, field(3)?);
        let bytes = rest
            .get(PACKET_HEADER + link_header..PACKET_HEADER + kept)
            .ok_or_else(invalid)?;
        packets.push(Packet {
            time: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
            length,
            bytes: bytes.to_vec(),
        });
        rest = &rest[PACKET_HEADER + kept..];
    }
    Ok(packets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_file_is_read() {
        for (link_type, link_header) in [ETHERNET, (101, 0)] {
            let mut file = NANOSECOND_MAGIC.to_ne_bytes().to_vec();
            file.extend([0; 16]);
            file.extend(u32::to_ne_bytes(link_type));
            for (nanoseconds, id) in [(5_u32, 7_i32), (9, -8)] {
                let kept = u32::try_from(link_header + IPV4_HEADERS + 12).expect("small");
                for word in [1, nanoseconds, kept, 1512] {
                    file.extend(u32::to_ne_bytes(word));
                }
                file.extend(vec![0; link_header + IPV4_HEADERS]);
                file.extend(id.to_be_bytes());
                file.extend([1_u32, 2].map(u32::to_be_bytes).concat());
            }
            let packets = parse(&file).expect("a good file");
            assert_eq!(packets[0].time, 1_000_000_005);
            assert_eq!(packets[0].sent(), Some(1_000_002_000));
            assert_eq!(packets[1].datagram_id(), Some(-8));
            assert_eq!(packets[1].length, 1512);
            assert!(parse(&file[..file.len() - 1]).is_err());
        }
        assert!(parse(b"something else").is_err());
    }
}
