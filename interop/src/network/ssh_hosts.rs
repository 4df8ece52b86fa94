//! Several hosts on a bridge, each with an sshd of its own, and one that orders.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::namespace::Namespace;
use super::switch::{HostProcess, Switch, SwitchedHost};
use crate::{Invocation, Program, Running};

const SSHD: &str = "/usr/sbin/sshd";
/// Longer than any test takes.
const SERVING: Duration = Duration::from_secs(3600);
/// For an sshd to listen.
const STARTING: Duration = Duration::from_secs(20);
/// The number of the host that orders.
const ORDERER: u8 = 254;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Hosts `h1` to `hN` and one that orders, on one bridge. Keys and configuration of ssh are in a folder
/// of their own; the system's and the user's are not touched.
#[derive(Debug)]
pub struct SshHosts {
    hosts: Vec<SshHost>,
    orderer: SwitchedHost,
    folder: Folder,
    switch: Switch,
}

/// A host with an sshd. Its user's home and the folder of its programs are its own.
#[derive(Debug)]
pub struct SshHost {
    // Dropped before the network it is in.
    sshd: Running,
    host: SwitchedHost,
    name: String,
    home: PathBuf,
}

impl SshHosts {
    /// Makes them; each finds the tapeline under test.
    ///
    /// # Errors
    /// The system refuses, or has no sshd.
    pub fn new(count: u8) -> io::Result<Self> {
        let folder = Folder::new()?;
        folder.make_keys()?;
        let switch = Switch::new()?;
        let orderer = switch.host("o", ORDERER)?;
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
        self.orderer.namespace()
    }

    /// A run of tapeline on the host that orders, which reaches the others over ssh by their names.
    #[must_use]
    pub fn tapeline(&self) -> Invocation {
        let known = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{known}", self.folder.0.join("client").display());
        Invocation::new(Program::Tapeline)
            .within(self.orderer())
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
        self.switch.limit(&host.host, rate)
    }

    /// Pulls the cable of a host out of the switch, or puts it in.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn plug(&self, host: &SshHost, is_in: bool) -> io::Result<()> {
        self.switch.plug(&host.host, is_in)
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
    fn start(folder: &Folder, switch: &Switch, number: u8) -> io::Result<Self> {
        let name = format!("h{number}");
        let host = switch.host(&name, number)?;
        let address = host.address();
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
            .within(host.namespace())
            .deadline(SERVING)
            .spawn()?;
        if !sshd.wait_for_error(STARTING, |said| said.contains("Server listening on")) {
            return Err(io::Error::other(format!("no sshd: {}", sshd.stderr())));
        }
        Ok(Self {
            sshd,
            host,
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
        self.host.namespace()
    }

    /// Its address on the bridge.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.host.address()
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
        let mut all = self.host.processes();
        all.retain(|process| !process.line.starts_with("sshd"));
        all.retain(|process| process.id != self.sshd.id());
        all
    }

    /// Kills the processes whose words begin so; how many.
    pub fn kill(&self, beginning: &str) -> usize {
        self.host.signal(beginning, Signal::KILL)
    }

    /// Waits for a process whose words begin so. Whether there was one within `time`.
    #[must_use]
    pub fn has_within(&self, time: Duration, beginning: &str) -> bool {
        let until = Instant::now() + time;
        while !self.host.has(beginning) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
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
                host.name,
                host.address()
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
