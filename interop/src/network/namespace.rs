//! Two hosts on one machine: network namespaces joined by a virtual cable.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use relay::{Relay, TunDevice};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Family;

/// What the names of our namespaces begin with; the process id follows.
const PREFIX: &str = "tapeline-";

static SWEEP: Once = Once::new();
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// One network namespace; deleted when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Name of the interface in each namespace of a pair.
    pub const INTERFACE: &str = "eth0";

    pub(crate) fn new(role: &str) -> io::Result<Self> {
        SWEEP.call_once(sweep);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}{role}", std::process::id());
        tool("ip", &["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` with the arguments of a line inside.
    ///
    /// # Errors
    /// It fails; the error holds what it said.
    pub fn ip(&self, line: &str) -> io::Result<String> {
        self.tool("ip", line)
    }

    /// Runs `tc` with the arguments of a line inside.
    ///
    /// # Errors
    /// As [`Namespace::ip`].
    pub fn tc(&self, line: &str) -> io::Result<String> {
        self.tool("tc", line)
    }

    /// Feeds a script to `nft` inside.
    ///
    /// # Errors
    /// As [`Namespace::ip`].
    pub fn nft(&self, script: &str) -> io::Result<String> {
        feed(
            "ip",
            &["netns", "exec", &self.name, "nft", "-f", "-"],
            script,
        )
    }

    /// Sets a kernel parameter (`sysctl`) inside.
    ///
    /// # Errors
    /// As [`Namespace::ip`].
    pub fn set(&self, parameter: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/{}", parameter.replace('.', "/"));
        feed("ip", &["netns", "exec", &self.name, "tee", &path], value)?;
        Ok(())
    }

    /// Runs `work` inside: what it connects to, and the processes that it starts.
    ///
    /// # Errors
    /// The network cannot be entered.
    ///
    /// # Panics
    /// `work` does.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name))?;
        let entered = std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                io::Result::Ok(work())
            });
            inside.join()
        });
        entered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn tool(&self, name: &str, line: &str) -> io::Result<String> {
        let mut arguments = vec!["-n", &self.name];
        arguments.extend(line.split_whitespace());
        tool(name, &arguments)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = tool("ip", &["netns", "del", &self.name]);
    }
}

/// A client's and a server's host, each with the interface `eth0`, joined by a cable.
#[derive(Debug)]
pub struct NamespacePair {
    /// Where clients run.
    pub client: Namespace,
    /// Where servers run.
    pub server: Namespace,
}

impl NamespacePair {
    /// Makes the pair.
    ///
    /// # Errors
    /// The system refuses, which usually means missing privileges or tools.
    pub fn new() -> io::Result<Self> {
        let pair = Self::unconnected()?;
        let (client, server) = (pair.client.name(), pair.server.name());
        let interface = Namespace::INTERFACE;
        let cable = format!(
            "link add {interface} address {} netns {client} type veth \
             peer name {interface} address {} netns {server}",
            hardware_address(1),
            hardware_address(2),
        );
        tool("ip", &cable.split(' ').collect::<Vec<_>>())?;
        pair.set_up("")?;
        pair.introduce()?;
        Ok(pair)
    }

    /// Makes the hosts neighbours that know each other: a first question that gets lost would cost a
    /// second, and the datagrams for which there is no room meanwhile.
    fn introduce(&self) -> io::Result<()> {
        let interface = Namespace::INTERFACE;
        for (namespace, other) in [(&self.client, 2), (&self.server, 1)] {
            for family in Family::ALL {
                let (address, hardware) = (address(family, other), hardware_address(other));
                namespace.ip(&format!(
                    "neighbour replace {address} lladdr {hardware} dev {interface} nud permanent"
                ))?;
            }
        }
        Ok(())
    }

    fn unconnected() -> io::Result<Self> {
        Ok(Self {
            client: Namespace::new("c")?,
            server: Namespace::new("s")?,
        })
    }

    /// Gives the interfaces their addresses and takes them into service.
    fn set_up(&self, settings: &str) -> io::Result<()> {
        let interface = Namespace::INTERFACE;
        for (namespace, host) in [(&self.client, 1), (&self.server, 2)] {
            for family in Family::ALL {
                let (address, length, flags) = match family {
                    Family::V4 => (address(family, host), 24, ""),
                    // Without duplicate address detection the address is usable at once.
                    Family::V6 => (address(family, host), 64, " nodad"),
                };
                namespace.ip(&format!(
                    "address add {address}/{length} dev {interface}{flags}"
                ))?;
            }
        }
        for namespace in [&self.client, &self.server] {
            namespace.ip(&format!("link set {interface} {settings} up"))?;
        }
        Ok(())
    }

    /// Why no pair can be made here, or nothing when one can.
    #[must_use]
    pub fn unavailable() -> Option<String> {
        Self::new()
            .err()
            .map(|error| format!("network namespaces are not available: {error}"))
    }

    /// The server's address.
    #[must_use]
    pub const fn server_address(&self, family: Family) -> IpAddr {
        address(family, 2)
    }

    /// The client's address.
    #[must_use]
    pub const fn client_address(&self, family: Family) -> IpAddr {
        address(family, 1)
    }
}

/// The address of a host's network card.
fn hardware_address(host: u8) -> String {
    format!("02:00:00:00:00:{host:02x}")
}

/// A pair whose cable is a relay: a network of known delay and faults.
#[derive(Debug)]
pub struct RelayedPair {
    relay: Relay,
    hosts: NamespacePair,
}

impl RelayedPair {
    /// Makes the pair: `there` leads from the client to the server.
    ///
    /// # Errors
    /// As [`NamespacePair::new`].
    pub fn new(there: relay::Path, back: relay::Path) -> io::Result<Self> {
        let hosts = NamespacePair::unconnected()?;
        let device = |namespace: &Namespace| {
            let device = TunDevice::create(namespace.name(), Namespace::INTERFACE);
            device.map_err(|error| io::Error::new(error.kind(), format!("TUN device: {error}")))
        };
        let (client, server) = (device(&hosts.client)?, device(&hosts.server)?);
        // The default queue, 500 packets, overflows while the relay waits for a processor.
        hosts.set_up("txqueuelen 5000")?;
        let relay = Relay::start(client, server, there, back)?;
        Ok(Self { relay, hosts })
    }

    /// The two hosts.
    #[must_use]
    pub const fn hosts(&self) -> &NamespacePair {
        &self.hosts
    }

    /// Ends the relay and returns what passed.
    ///
    /// # Errors
    /// The relay had failed.
    pub fn finish(self) -> io::Result<relay::Record> {
        self.relay.finish()
    }
}

const fn address(family: Family, host: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 77, 0, host)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host as u16)),
    }
}

/// Deletes the namespaces of processes that exist no more, with the processes that are left there.
fn sweep() {
    for name in tool("ip", &["netns", "list"]).unwrap_or_default().lines() {
        let name = name.split_whitespace().next().unwrap_or_default();
        let Some(rest) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let pid = rest.split('-').next().unwrap_or_default();
        if !pid.is_empty() && !Path::new("/proc").join(pid).exists() {
            let left = tool("ip", &["netns", "pids", name]).unwrap_or_default();
            let left = left
                .lines()
                .filter_map(|id| Pid::from_raw(id.parse().ok()?));
            for id in left {
                // It may have gone meanwhile.
                let _ = kill_process(id, Signal::KILL);
            }
            let _ = tool("ip", &["netns", "del", name]);
        }
    }
}

fn tool(name: &str, arguments: &[&str]) -> io::Result<String> {
    feed(name, arguments, "")
}

/// Runs a system tool with the arguments of a line.
pub(crate) fn run_tool(name: &str, line: &str) -> io::Result<String> {
    tool(name, &line.split_whitespace().collect::<Vec<_>>())
}

/// Runs a system tool with `input` and returns its standard output.
fn feed(name: &str, arguments: &[&str], input: &str) -> io::Result<String> {
    let shown = || format!("{name} {}", arguments.join(" "));
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", shown())))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{}: {}", shown(), error.trim())))
}
