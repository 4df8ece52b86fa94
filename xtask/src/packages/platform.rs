//! A system and an architecture for which a program is built that needs no library but the system's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::{EVERYTHING, target_directory};
use crate::shell::{self, Result, cargo, on_path};

/// The compiler and linker for Windows.
const MINGW: &str = "x86_64-w64-mingw32-gcc";

/// A system with an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    LinuxX86,
    LinuxArm,
    WindowsX86,
}

impl Platform {
    /// All of them, that of this machine first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::LinuxX86, Self::LinuxArm, Self::WindowsX86];
        all.sort_by_key(|platform| !platform.is_native());
        all
    }

    /// As `uname -m` prints it.
    const fn architecture(self) -> &'static str {
        match self {
            Self::LinuxX86 | Self::WindowsX86 => "x86_64",
            Self::LinuxArm => "aarch64",
        }
    }

    const fn debian(self) -> &'static str {
        match self {
            Self::LinuxX86 | Self::WindowsX86 => "amd64",
            Self::LinuxArm => "arm64",
        }
    }

    /// As archives call it: `x86_64-linux`.
    pub(crate) fn name(self) -> String {
        let system = match self {
            Self::LinuxX86 | Self::LinuxArm => "linux",
            Self::WindowsX86 => "windows",
        };
        format!("{}-{system}", self.architecture())
    }

    /// As Rust calls it.
    pub(crate) fn triple(self) -> String {
        let system = match self {
            Self::LinuxX86 | Self::LinuxArm => "unknown-linux-musl",
            Self::WindowsX86 => "pc-windows-gnu",
        };
        format!("{}-{system}", self.architecture())
    }

    /// The file's name.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::LinuxX86 | Self::LinuxArm => "tapeline",
            Self::WindowsX86 => "tapeline.exe",
        }
    }

    /// Whether its programs run here.
    pub(crate) fn is_native(self) -> bool {
        self != Self::WindowsX86 && self.architecture() == std::env::consts::ARCH
    }

    fn compiler(self) -> String {
        match self {
            Self::WindowsX86 => MINGW.to_owned(),
            _ if self.is_native() => "musl-gcc".to_owned(),
            _ => format!("{}-linux-gnu-gcc", self.architecture()),
        }
    }

    /// What is not installed here, of what it takes.
    pub(crate) fn missing(self) -> Option<String> {
        let compiler = self.compiler();
        if !on_path(&compiler) {
            return Some(format!("no C compiler {compiler}"));
        }
        (self == Self::WindowsX86 && !on_path("zip")).then(|| "no zip".to_owned())
    }

    /// Builds the program with all features and says where it is. Nothing in it depends on the folders
    /// of this machine, so that every machine builds the same.
    ///
    /// # Errors
    /// The headers of musl are missing, or it does not compile.
    pub(crate) fn build(self) -> Result<PathBuf> {
        let triple = self.triple();
        let compiler = self.compiler();
        if on_path("rustup") {
            shell::run(Command::new("rustup").args(["target", "add", &triple]))?;
        }
        let renamed = [
            (cargo_home()?, "/cargo"),
            (shell::root().to_owned(), "/tapeline"),
            (target_directory(), "/target"),
        ];
        let map = |option: &str| {
            let words = renamed.iter();
            let words = words.map(|(from, to)| format!("{option}={}={to}", from.display()));
            words.collect::<Vec<_>>().join(" ")
        };
        let name = triple.replace('-', "_");
        let mut c_flags = map("-ffile-prefix-map");
        let mut build = cargo();
        build.args(["build", "--release", "--locked", "--package", "tapeline"]);
        build.args(["--features", &EVERYTHING.join(",")]);
        build.args(["--target", &triple]);
        let mut rust_flags = map("--remap-path-prefix");
        if self == Self::WindowsX86 {
            rust_flags += " -Clink-arg=-Wl,--no-insert-timestamp";
        }
        build.env("RUSTFLAGS", rust_flags);
        if !self.is_native() {
            build.env(format!("CC_{name}"), &compiler);
            let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase());
            build.env(linker, &compiler);
        }
        if self != Self::WindowsX86 && !self.is_native() {
            let headers = self.headers()?;
            let own = Command::new(&compiler)
                .arg("-print-file-name=include")
                .output();
            let own = own.map_err(|error| format!("{compiler}: {error}"))?.stdout;
            let own = String::from_utf8_lossy(&own);
            c_flags += &format!(
                " -nostdinc -isystem {} -isystem {} -U_FORTIFY_SOURCE",
                headers.display(),
                own.trim()
            );
        }
        build.env(format!("CFLAGS_{name}"), c_flags);
        shell::run(&mut build)?;
        let built = target_directory().join(triple).join("release");
        Ok(built.join(self.program()))
    }

    /// The headers of musl, fetched from Debian where they are not installed.
    fn headers(self) -> Result<PathBuf> {
        let below = format!("usr/include/{}-linux-musl", self.architecture());
        let installed = Path::new("/").join(&below);
        if installed.is_dir() {
            return Ok(installed);
        }
        let folder = target_directory().join("musl").join(self.debian());
        let headers = folder.join(&below);
        if headers.is_dir() {
            return Ok(headers);
        }
        let state = folder.join("apt");
        let wanted = std::fs::create_dir_all(state.join("lists/partial"))
            .and_then(|()| std::fs::create_dir_all(state.join("cache/archives/partial")));
        wanted.map_err(|error| format!("{}: {error}", state.display()))?;
        // A state of its own: this machine stays one of a single architecture.
        let apt = |words: &[&str]| {
            let mut apt = Command::new("apt-get");
            apt.current_dir(&folder).args([
                "-q",
                "-o",
                &format!("APT::Architectures::={}", self.debian()),
                "-o",
                &format!("Dir::State::lists={}", state.join("lists").display()),
                "-o",
                &format!("Dir::Cache={}", state.join("cache").display()),
            ]);
            shell::read(apt.args(words))
        };
        apt(&["update"])?;
        apt(&["download", &format!("musl-dev:{}", self.debian())])?;
        let package = super::tree::files(&folder.to_string_lossy())?
            .into_iter()
            .find(|file| file.extension().is_some_and(|ending| ending == "deb"))
            .ok_or("apt-get has downloaded no musl-dev")?;
        shell::read(Command::new("dpkg-deb").arg("-x").arg(package).arg(&folder))?;
        Ok(headers)
    }
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("CARGO_HOME") {
        return Ok(folder.into());
    }
    let home = std::env::var_os("HOME").ok_or("neither CARGO_HOME nor HOME is set")?;
    Ok(Path::new(&home).join(".cargo"))
}
