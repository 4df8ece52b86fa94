//! The programs under test.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

/// A program that speaks iperf 2's protocol, iperf3's, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Program {
    /// tapeline under its own name.
    Tapeline,
    /// tapeline called through a link named `iperf`.
    TapelineAsIperf,
    /// tapeline called through a link named `iperf3`.
    TapelineAsIperf3,
    /// tapeline under its own name, built with debug assertions: it alone has hooks for tests, such
    /// as a clock that can be set.
    TapelineWithHooks,
    /// iperf 2.2.1, the reference.
    Iperf221,
    /// iperf 2.1.8, the version of Debian 12.
    Iperf218,
    /// iperf 2.0.14a, the version of Debian 11.
    Iperf2014a,
    /// iperf3 3.22, the reference.
    Iperf3V22,
    /// iperf3 3.18, the version of Debian 13.
    Iperf3V18,
    /// iperf3 3.12, the version of Debian 12.
    Iperf3V12,
    /// iperf3 3.9, the version of Debian 11.
    Iperf3V9,
}

impl Program {
    /// The programs of other projects.
    pub const PEERS: [Self; 7] = [
        Self::Iperf221,
        Self::Iperf218,
        Self::Iperf2014a,
        Self::Iperf3V22,
        Self::Iperf3V18,
        Self::Iperf3V12,
        Self::Iperf3V9,
    ];

    /// Whether this is one of our own names.
    #[must_use]
    pub const fn is_tapeline(self) -> bool {
        matches!(
            self,
            Self::Tapeline
                | Self::TapelineAsIperf
                | Self::TapelineAsIperf3
                | Self::TapelineWithHooks
        )
    }

    /// A name that is unique among the programs and usable in test names.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tapeline => "tapeline",
            Self::TapelineAsIperf => "tapeline-as-iperf",
            Self::Iperf221 => "iperf-2.2.1",
            Self::Iperf218 => "iperf-2.1.8",
            Self::TapelineAsIperf3 => "tapeline-as-iperf3",
            Self::TapelineWithHooks => "tapeline-with-hooks",
            Self::Iperf2014a => "iperf-2.0.14a",
            Self::Iperf3V22 => "iperf3-3.22",
            Self::Iperf3V18 => "iperf3-3.18",
            Self::Iperf3V12 => "iperf3-3.12",
            Self::Iperf3V9 => "iperf3-3.9",
        }
    }

    /// Where the program is.
    #[must_use]
    pub fn path(self) -> &'static Path {
        match self {
            Self::Tapeline => &TAPELINE,
            Self::TapelineAsIperf => &TAPELINE_AS_IPERF,
            Self::Iperf221 => &PEER_221,
            Self::Iperf218 => &PEER_218,
            Self::TapelineAsIperf3 => &TAPELINE_AS_IPERF3,
            Self::TapelineWithHooks => &TAPELINE_WITH_HOOKS,
            Self::Iperf2014a => &PEER_2014A,
            Self::Iperf3V22 => &PEER_3_22,
            Self::Iperf3V18 => &PEER_3_18,
            Self::Iperf3V12 => &PEER_3_12,
            Self::Iperf3V9 => &PEER_3_9,
        }
    }

    /// Why the program cannot be run here, or nothing when it can.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        let path = self.path();
        if path.exists() {
            return None;
        }
        let remedy = if self.is_tapeline() {
            "build it with `cargo build -p tapeline`"
        } else {
            "install it with peers/install"
        };
        Some(format!("{self} is not at {}: {remedy}", path.display()))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// Names the tapeline binary of this process, before any [`Program`] has been asked for its path.
/// Without a call it is `$TAPELINE_BIN` or the binary that was built last.
pub fn use_tapeline(binary: PathBuf) {
    // The first choice stands.
    let _ = CHOSEN.set(binary);
}

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();
static TAPELINE: LazyLock<PathBuf> =
    LazyLock::new(|| CHOSEN.get().cloned().unwrap_or_else(tapeline));
static TAPELINE_AS_IPERF: LazyLock<PathBuf> = LazyLock::new(|| link("iperf", &TAPELINE));
static TAPELINE_AS_IPERF3: LazyLock<PathBuf> = LazyLock::new(|| link("iperf3", &TAPELINE));
/// What `cargo test` itself builds, whichever binary is tested.
static TAPELINE_WITH_HOOKS: LazyLock<PathBuf> =
    LazyLock::new(|| target_directory().join("debug").join("tapeline"));
static PEER_221: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf-2.2.1"));
static PEER_218: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf-2.1.8"));
static PEER_2014A: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf-2.0.14a"));
static PEER_3_22: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf3-3.22"));
static PEER_3_18: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf3-3.18"));
static PEER_3_12: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf3-3.12"));
static PEER_3_9: LazyLock<PathBuf> = LazyLock::new(|| peer("iperf3-3.9"));

/// `$PEERS_PREFIX/bin/NAME`, by default below `/opt/peers`.
fn peer(name: &str) -> PathBuf {
    let prefix = std::env::var_os("PEERS_PREFIX").unwrap_or_else(|| "/opt/peers".into());
    PathBuf::from(prefix).join("bin").join(name)
}

/// Where cargo builds: `$CARGO_TARGET_DIR`, else below the project.
#[must_use]
pub fn target_directory() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let below = || project.unwrap_or(Path::new(".")).join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(below, PathBuf::from)
}

/// `$TAPELINE_BIN`, or the binary that was built last.
fn tapeline() -> PathBuf {
    if let Some(path) = std::env::var_os("TAPELINE_BIN") {
        return path.into();
    }
    let target = target_directory();
    let modified = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).ok();
    ["release", "debug"]
        .map(|profile| target.join(profile).join("tapeline"))
        .into_iter()
        .max_by_key(modified)
        .unwrap_or_default()
}

/// Makes a link of that name to `binary` in the target directory.
fn link(name: &str, binary: &Path) -> PathBuf {
    // One folder per binary, because tests of a debug and a release build may run side by side.
    let profile = binary
        .parent()
        .and_then(Path::file_name)
        .unwrap_or(OsStr::new("other"));
    let folder = target_directory().join("interop").join(profile);
    let link = folder.join(name);
    let binary = std::path::absolute(binary).unwrap_or_else(|_| binary.to_owned());
    if std::fs::read_link(&link).is_ok_and(|target| target == binary) {
        return link;
    }
    // Renaming makes the replacement atomic for test processes that start at the same time.
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let made = std::fs::create_dir_all(&folder)
        .and_then(|()| symlink(&binary, &draft))
        .and_then(|()| std::fs::rename(&draft, &link));
    if let Err(error) = made {
        panic!(
            "cannot link {} to {}: {error}",
            link.display(),
            binary.display()
        );
    }
    link
}

/// The Prometheus that scrapes tapeline, where `peers/install` puts it or on the path.
#[must_use]
pub fn prometheus() -> Option<PathBuf> {
    installed("prometheus")
}

/// The server of a fleet, likewise.
#[must_use]
pub fn nats_server() -> Option<PathBuf> {
    installed("nats-server")
}

/// The program of that name among the peers, else on the search path.
#[must_use]
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let prefix = std::env::var_os("PEERS_PREFIX").unwrap_or_else(|| "/opt/peers".into());
    let own = PathBuf::from(prefix).join("bin");
    let folders = std::iter::once(own).chain(std::env::split_paths(&path));
    let mut found = folders.map(|folder| folder.join(name));
    found.find(|program| program.is_file())
}
