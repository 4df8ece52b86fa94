//! What the tests need and a fresh machine does not have.

use std::path::Path;
use std::process::Command;

use interop::Program;

use crate::shell::{self, on_path};

/// Programs that tests and benchmarks call, each with the Debian package that has it.
const TOOLS: [(&str, &str); 20] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nft", "nftables"),
    ("tcpdump", "tcpdump"),
    ("groff", "groff-base"),
    ("musl-gcc", "musl-tools"),
    ("mandoc", "mandoc"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("strace", "strace"),
    ("nuttcp", "nuttcp"),
    ("sockperf", "sockperf"),
    ("qperf", "qperf"),
    ("perf", "linux-perf"),
    ("xmllint", "libxml2-utils"),
    ("cmark-gfm", "cmark-gfm"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("sshd", "openssh-server"),
    ("faketime", "faketime"),
];

/// Packages that start a service on a machine that systemd runs: there the owner decides.
const SERVICES: [&str; 1] = ["openssh-server"];

/// Installs what is missing where that is possible; says what is not.
///
/// Nothing here is fatal: a test whose needs are not met skips itself with the reason.
pub(crate) fn prepare() {
    install_tools();
    install_peers();
}

fn may_install() -> bool {
    let root = shell::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    root && on_path("apt-get")
}

fn install_tools() {
    let mut packages: Vec<&str> = TOOLS
        .iter()
        .filter(|(tool, _)| !on_path(tool))
        .map(|(_, package)| *package)
        .collect();
    packages.dedup();
    if Path::new("/run/systemd/system").exists() {
        let services = packages.extract_if(.., |package| SERVICES.contains(package));
        let services: Vec<&str> = services.collect();
        if !services.is_empty() {
            println!(
                "setup: without {} the tests that need it are skipped (not installed: it starts a service)",
                services.join(", ")
            );
        }
    }
    if packages.is_empty() {
        return;
    }
    if !may_install() {
        println!(
            "setup: without {} the tests that need them are skipped (installing needs root and Debian)",
            packages.join(", ")
        );
        return;
    }
    println!("setup: installing {}", packages.join(", "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args([
                "-q",
                "-o",
                "DPkg::Lock::Timeout=300",
                "-o",
                "Acquire::Retries=3",
            ])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        shell::read(&mut command)
    };
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    // The package lists may be missing or old.
    let installed = apt(&install).or_else(|_| apt(&["update"]).and_then(|_| apt(&install)));
    if let Err(error) = installed {
        println!("setup: {error}");
    }
}

fn install_peers() {
    let missing: Vec<Program> = Program::PEERS
        .into_iter()
        .filter(|peer| peer.missing().is_some())
        .collect();
    let scraper = interop::prometheus().is_none().then_some("prometheus");
    let names = missing.iter().map(|peer| peer.label()).chain(scraper);
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return;
    }
    let names = names.join(", ");
    if !may_install() {
        println!(
            "setup: {names} missing: the tests with them are skipped (peers/install needs root and Debian)"
        );
        return;
    }
    println!("setup: installing the peers {names}");
    let mut command = Command::new("sh");
    command.arg("peers/install");
    if let Some(prefix) = std::env::var_os("PEERS_PREFIX") {
        command.env("PREFIX", prefix);
    }
    if let Err(error) = shell::run(&mut command) {
        println!("setup: {error}");
    }
}
