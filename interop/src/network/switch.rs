//! Hosts on one bridge.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Signal, kill_process};

use super::namespace::{Namespace, run_tool};

/// A bridge whose ports are hosts.
#[derive(Debug)]
pub struct Switch {
    namespace: Namespace,
}

/// A host on a bridge. When dropped, all its processes are killed.
#[derive(Debug)]
pub struct SwitchedHost {
    namespace: Namespace,
    address: IpAddr,
    /// Its port of the switch.
    port: String,
}

/// A process of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub line: String,
}

impl Switch {
    /// A bridge without hosts.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        make_room_for_neighbours()?;
        let namespace = Namespace::new("w")?;
        namespace.ip("link add br0 type bridge")?;
        namespace.ip("link set br0 up")?;
        Ok(Self { namespace })
    }

    /// A host with the address 10.78.0.`number`; `role` is a part of its name.
    ///
    /// # Errors
    /// The system refuses, or there is one with that number.
    pub fn host(&self, role: &str, number: u8) -> io::Result<SwitchedHost> {
        let namespace = Namespace::new(role)?;
        let (interface, port) = (Namespace::INTERFACE, format!("port{number}"));
        run_tool(
            "ip",
            &format!(
                "link add {port} netns {} type veth peer name {interface} netns {}",
                self.namespace.name(),
                namespace.name()
            ),
        )?;
        self.namespace
            .ip(&format!("link set {port} master br0 up"))?;
        let address = IpAddr::V4(Ipv4Addr::new(10, 78, 0, number));
        namespace.ip(&format!("address add {address}/24 dev {interface}"))?;
        namespace.ip(&format!("link set {interface} up"))?;
        Ok(SwitchedHost {
            namespace,
            address,
            port,
        })
    }

    /// A host sends, and receives, at most `rate` bits per second of Ethernet frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit(&self, host: &SwitchedHost, rate: u64) -> io::Result<()> {
        let burst = (rate / 8 / 50).max(32 * 1024);
        let queue = format!("root tbf rate {rate}bit burst {burst} latency 50ms");
        let way = |device: &str| format!("qdisc replace dev {device} {queue}");
        host.namespace.tc(&way(Namespace::INTERFACE))?;
        self.namespace.tc(&way(&host.port))?;
        Ok(())
    }

    /// Pulls the cable of a host out of the switch, or puts it in.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn plug(&self, host: &SwitchedHost, is_in: bool) -> io::Result<()> {
        let state = if is_in { "up" } else { "down" };
        self.namespace
            .ip(&format!("link set {} {state}", host.port))?;
        Ok(())
    }
}

/// Lets the kernel remember the neighbours of all hosts of a full bridge: it has one table of them for
/// all networks, by default of 1024 entries, and 64 hosts that each speak to the others need four times as
/// many. Where an entry must go, a new connection waits for a second. The limits stay: they take no memory.
fn make_room_for_neighbours() -> io::Result<()> {
    for (limit, wanted) in [
        ("gc_thresh1", 1 << 16),
        ("gc_thresh2", 1 << 16),
        ("gc_thresh3", 1 << 17),
    ] {
        let path = format!("/proc/sys/net/ipv4/neigh/default/{limit}");
        let now: u32 = fs::read_to_string(&path)?.trim().parse().unwrap_or(0);
        if now < wanted {
            fs::write(&path, wanted.to_string())?;
        }
    }
    Ok(())
}

impl SwitchedHost {
    /// Its network.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Its address on the bridge.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Its processes.
    #[must_use]
    pub fn processes(&self) -> Vec<HostProcess> {
        let own = fs::metadata(format!("/run/netns/{}", self.namespace.name()));
        let Ok(own) = own.map(|network| network.ino()) else {
            return Vec::new();
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let network = fs::metadata(entry.path().join("ns/net")).ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&words).replace('\0', " ");
            // One that has ended has no words.
            (network.ino() == own && !line.is_empty()).then_some(HostProcess { id, line })
        });
        found.collect()
    }

    /// Whether it has a process whose words, or whose program's name, begin so.
    #[must_use]
    pub fn has(&self, beginning: &str) -> bool {
        let all = self.processes();
        all.iter().any(|process| begins(&process.line, beginning))
    }

    /// Sends a signal to the processes whose words, or whose program's name, begin so; how many.
    pub fn signal(&self, beginning: &str, signal: Signal) -> usize {
        self.signal_all(signal, |line| begins(line, beginning))
    }

    /// Sends a signal to the processes with such words; how many.
    pub fn signal_all(&self, signal: Signal, is_meant: impl Fn(&str) -> bool) -> usize {
        let all = self.processes();
        let meant = all.iter().filter(|process| is_meant(&process.line));
        let ids = meant.filter_map(|process| Pid::from_raw(i32::try_from(process.id).ok()?));
        ids.filter(|id| kill_process(*id, signal).is_ok()).count()
    }
}

/// Whether words begin so, with or without the folder of their program.
fn begins(line: &str, beginning: &str) -> bool {
    let first = line.find(' ').unwrap_or(line.len());
    let name = line[..first].rfind('/').map_or(0, |at| at + 1);
    line.starts_with(beginning) || line[name..].starts_with(beginning)
}

impl Drop for SwitchedHost {
    fn drop(&mut self) {
        self.signal("", Signal::KILL);
    }
}
