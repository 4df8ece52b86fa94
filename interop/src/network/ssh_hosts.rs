//! Several hosts on a bridge, each with an sshd of its own, and one that orders.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::namespace::{Namespace, run_tool};
use crate::{Invocation, Program, Running};

const SSHD: &str = "/usr/sbin/sshd";
/// Longer than any test takes.
const SERVING: Duration = Duration::from_secs(3600);
/// For an sshd to listen.
const STARTING: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Hosts `h1` to `hN` and one that orders, on one bridge. Keys and configuration of ssh are in a folder
/// of their own; the system's and the user's are not touched.
#[derive(Debug)]
pub struct SshHosts {
    hosts: Vec<SshHost>,
    orderer: Namespace,
    folder: Folder,
    switch: Namespace,
}

/// A host with an sshd. Its user's home and the folder of its programs are its own.
#[derive(Debug)]
pub struct SshHost {
    // Dropped before the network it is in.
    sshd: Running,
    namespace: Namespace,
    address: IpAddr,
    name: String,
    home: PathBuf,
}

/// A process of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    /// Its number.
    pub id: u32,
    /// Its words.
    pub line: String,
}

impl SshHosts {
    /// Makes them; each finds the tapeline under test.
    ///
    /// # Errors
    /// The system refuses, or has no sshd.
    pub fn new(count: u8) -> io::Result<Self> {
        let folder = Folder::new()?;
        folder.make_keys()?;
        let switch = Namespace::new("w")?;
        switch.ip("link add br0 type bridge")?;
        switch.ip("link set br0 up")?;
        let orderer = Namespace::new("o")?;
        connect(&switch, &orderer, 0)?;
        // The directory that sshd shuts its unprivileged half into; it is made at boot.
        DirBuilder::new().recursive(true).create("/run/sshd")?;
        let hosts = (1..=count).map(|number| SshHost::start(&folder, &switch, number));
        let hosts = hosts.collect::<io::Result<Vec<_>>>()?;
        folder.write_client(&hosts)?;
        Ok(Self {
            hosts,
            orderer,
            folder,
            switch,
        })
    }

    /// Why they cannot be made here, or nothing when they can.
    #[must_use]
    pub fn unavailable() -> Option<String> {
        if !Path::new(SSHD).exists() {
            return Some(format!("{SSHD} is missing (openssh-server)"));
        }
        let made = Self::new(1);
        made.err()
            .map(|error| format!("hosts with sshd are not available: {error}"))
    }

    /// The hosts, `h1` first.
    #[must_use]
    pub fn hosts(&self) -> &[SshHost] {
        &self.hosts
    }

    /// The host that orders.
    #[must_use]
    pub fn orderer(&self) -> &Namespace {
        &self.orderer
    }

    /// A run of tapeline on the host that orders, which reaches the others over ssh by their names.
    #[must_use]
    pub fn tapeline(&self) -> Invocation {
        let known = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{known}", self.folder.0.join("client").display());
        Invocation::new(Program::Tapeline)
            .within(&self.orderer)
            .env("PATH", &path)
            .env("XDG_CONFIG_HOME", "/nonexistent")
    }

    /// Waits until no host has a process but its sshd; those that are left after `time`.
    #[must_use]
    pub fn left_after(&self, time: Duration) -> Vec<HostProcess> {
        let until = Instant::now() + time;
        loop {
            let left: Vec<_> = self.hosts.iter().flat_map(SshHost::processes).collect();
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A host sends, and receives, at most `rate` bits per second of Ethernet frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit(&self, host: &SshHost, rate: u64) -> io::Result<()> {
        let burst = (rate / 8 / 50).max(32 * 1024);
        let queue = format!("root tbf rate {rate}bit burst {burst} latency 50ms");
        let (interface, port) = (Namespace::INTERFACE, host.port());
        let way = |device: &str| format!("qdisc replace dev {device} {queue}");
        host.namespace.tc(&way(interface))?;
        self.switch.tc(&way(&port))?;
        Ok(())
    }

    /// Pulls the cable of a host out of the switch, or puts it in.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn plug(&self, host: &SshHost, is_in: bool) -> io::Result<()> {
        let state = if is_in { "up" } else { "down" };
        self.switch
            .ip(&format!("link set {} {state}", host.port()))?;
        Ok(())
    }

    /// Forgets the key of all hosts: ssh knows none of them any more.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn forget_keys(&self) -> io::Result<()> {
        self.folder.write("known_hosts", "")
    }
}

impl SshHost {
    fn start(folder: &Folder, switch: &Namespace, number: u8) -> io::Result<Self> {
        let name = format!("h{number}");
        let namespace = Namespace::new(&name)?;
        let address = connect(switch, &namespace, number)?;
        let home = folder.0.join(&name);
        fs::create_dir_all(home.join("bin"))?;
        symlink(Program::Tapeline.path(), home.join("bin/tapeline"))?;
        let settings = [
            format!("ListenAddress={address}"),
            format!(
                "SetEnv=HOME={home} PATH={home}/bin:/usr/bin:/bin XDG_CONFIG_HOME=/nonexistent",
                home = home.display()
            ),
        ];
        let config = folder.0.join("sshd_config").display().to_string();
        let sshd = Invocation::for_executable("sshd", SSHD)
            .args(["-D", "-e", "-f", &config])
            .args(settings.iter().flat_map(|one| ["-o", one.as_str()]))
            .within(&namespace)
            .deadline(SERVING)
            .spawn()?;
        if !sshd.wait_for_error(STARTING, |said| said.contains("Server listening on")) {
            return Err(io::Error::other(format!("no sshd: {}", sshd.stderr())));
        }
        Ok(Self {
            sshd,
            namespace,
            address,
            name,
            home,
        })
    }

    /// What ssh calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

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

    /// Its port of the switch.
    fn port(&self) -> String {
        self.name.replace('h', "port")
    }

    /// The home of its user.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Takes tapeline out of its user's PATH.
    ///
    /// # Errors
    /// It is not there.
    pub fn uninstall(&self) -> io::Result<()> {
        fs::remove_file(self.home.join("bin/tapeline"))
    }

    /// Its processes, but for sshd's.
    #[must_use]
    pub fn processes(&self) -> Vec<HostProcess> {
        let mut all = self.all_processes();
        all.retain(|process| !process.line.starts_with("sshd"));
        all.retain(|process| process.id != self.sshd.id());
        all
    }

    /// Kills the processes whose words begin so; how many.
    pub fn kill(&self, beginning: &str) -> usize {
        let all = self.all_processes();
        let meant = all.iter().filter(|process| {
            // The words of a program begin with its path.
            let first = process.line.find(' ').unwrap_or(process.line.len());
            let name = process.line[..first].rfind('/').map_or(0, |at| at + 1);
            process.line.starts_with(beginning) || process.line[name..].starts_with(beginning)
        });
        let ids = meant.filter_map(|process| Pid::from_raw(i32::try_from(process.id).ok()?));
        ids.filter(|id| kill_process(*id, Signal::KILL).is_ok())
            .count()
    }

    fn all_processes(&self) -> Vec<HostProcess> {
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
}

/// Joins a host to the bridge; 0 is the one that orders. Its address.
fn connect(switch: &Namespace, host: &Namespace, number: u8) -> io::Result<IpAddr> {
    let (interface, port) = (Namespace::INTERFACE, format!("port{number}"));
    run_tool(
        "ip",
        &format!(
            "link add {port} netns {} type veth peer name {interface} netns {}",
            switch.name(),
            host.name()
        ),
    )?;
    switch.ip(&format!("link set {port} master br0 up"))?;
    let last = if number == 0 { 254 } else { number };
    let address = IpAddr::V4(Ipv4Addr::new(10, 78, 0, last));
    host.ip(&format!("address add {address}/24 dev {interface}"))?;
    host.ip(&format!("link set {interface} up"))?;
    Ok(address)
}

/// A folder of root's, gone when dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tapeline-ssh-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.0.join(name), text)
    }

    /// The key of all hosts, that of the user, and the configuration of sshd.
    fn make_keys(&self) -> io::Result<()> {
        for name in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(self.0.join(name))
                .status()?;
            if !made.success() {
                return Err(io::Error::other("ssh-keygen fails"));
            }
        }
        fs::copy(self.0.join("user_key.pub"), self.0.join("authorized_keys"))?;
        let host = fs::read_to_string(self.0.join("host_key.pub"))?;
        self.write("known_hosts", &format!("* {host}"))?;
        let folder = self.0.display();
        self.write(
            "sshd_config",
            &format!(
                "HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\nUseDNS no\n\
                 PermitRootLogin prohibit-password\nPrintMotd no\nPrintLastLog no\nMaxStartups 200\n"
            ),
        )
    }

    /// An `ssh` for the host that orders, with a configuration of its own.
    fn write_client(&self, hosts: &[SshHost]) -> io::Result<()> {
        let folder = self.0.display();
        let mut config = String::new();
        for host in hosts {
            config.push_str(&format!(
                "Host {}\n  HostName {}\n",
                host.name, host.address
            ));
        }
        config.push_str(&format!(
            "Host *\n  User root\n  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking yes\n"
        ));
        self.write("ssh_config", &config)?;
        fs::create_dir(self.0.join("client"))?;
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config \"$@\"\n");
        self.write("client/ssh", &script)?;
        fs::set_permissions(self.0.join("client/ssh"), Permissions::from_mode(0o755))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
