//! The Debian packages (`cargo xtask deb`), in a copy of this machine whose changes are forgotten.

use std::path::{Path, PathBuf};
use std::process::Command;

use interop::{installed, skip};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with the packages, built once; none where they cannot be.
fn packages(test: &str) -> Option<PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root
        || ["dpkg-deb", "unshare"]
            .iter()
            .any(|tool| installed(tool).is_none())
    {
        skip(test, "packages are installed as root, on Debian");
        return None;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "deb"])
        .current_dir(root())
        .status()
        .expect("cargo");
    assert!(built.success(), "cargo xtask deb: {built}");
    Some(root().join("target/deb").canonicalize().expect("packages"))
}

/// Runs a script in a copy of this machine's files, with the packages in `/packages`.
#[track_caller]
fn within_a_copy(packages: &Path, script: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let around = format!(
        "set -e\n\
         cd {folder}\n\
         mount -t tmpfs tmpfs .\n\
         mkdir upper work root\n\
         mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root\n\
         mkdir -p root/packages\n\
         mount --bind {packages} root/packages\n\
         mount -t proc proc root/proc\n\
         mount --rbind /dev root/dev\n\
         mount -t tmpfs tmpfs root/run\n\
         ip link set lo up\n\
         exec chroot root sh -ec \"$SCRIPT\"\n",
        folder = folder.path().display(),
        packages = packages.display(),
    );
    let done = Command::new("unshare")
        .args([
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
        ])
        .arg(around)
        .env("SCRIPT", script)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("VERSION", VERSION)
        .output()
        .expect("unshare");
    let said = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    let said = said.concat();
    assert!(done.status.success(), "{script}\n{said}");
    said
}

/// Everything where packages put files, less what dpkg keeps of its own work and what programs write as they
/// run. Below the copy the machine goes on: what its users write shows through.
const LISTING: &str = "listing() {\n\
     find /etc /usr /var /opt /srv -xdev \\( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \\\n\
     -o -path /var/tmp -o -name '*.cache*' -o -path '/etc/*-' -o -path /etc/.pwd.lock \\) -prune -o -print | sort\n\
     getent passwd; getent group\n\
     }\n";

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn they_are_installed_used_upgraded_and_purged() {
    let Some(packages) = packages("Debian packages") else {
        return;
    };
    let script = format!(
        "{LISTING}\
         # As on a machine that never had any of them.\n\
         dpkg --purge iperf iperf3 2>/dev/null || true\n\
         rm -rf /var/lib/tapeline /etc/tapeline\n\
         listing > /tmp/before\n\
         # The version before: the same under a smaller number.\n\
         dpkg-deb -R /packages/tapeline_${{VERSION}}_*.deb /tmp/old\n\
         sed -i 's/^Version: .*/Version: 0.0.9/' /tmp/old/DEBIAN/control\n\
         dpkg-deb -b /tmp/old /tmp/old.deb\n\
         dpkg -i /tmp/old.deb\n\
         echo '# mine' >> /etc/tapeline/server.toml\n\
         dpkg -i /packages/tapeline_${{VERSION}}_*.deb\n\
         tail -n 1 /etc/tapeline/server.toml | grep -q mine\n\
         test \"$(dpkg-query -W -f '${{Version}}' tapeline)\" = \"$VERSION\"\n\
         getent passwd tapeline\n\
         test \"$(command -v tapeline)\" = /usr/bin/tapeline\n\
         tapeline --version | grep -q \"$VERSION\"\n\
         tapeline -s --config /etc/tapeline/server.toml --print-config > /dev/null\n\
         tapeline -s > /tmp/server.txt 2>&1 & server=$!\n\
         until grep -q Listening /tmp/server.txt; do sleep 0.05; done\n\
         tapeline try 127.0.0.1 -p 5001 -t 5\n\
         for one in /usr/share/man/man1/tapeline.1.gz /usr/share/tapeline/schema/tapeline-report-1.json \\\n\
           /usr/share/bash-completion/completions/tapeline /usr/lib/systemd/system/tapeline-agent.service \\\n\
           /usr/share/doc/tapeline/copyright; do test -s $one; done\n\
         ! grep -r /usr/local/bin /usr/lib/systemd/system/tapeline*\n\
         dpkg -i /packages/tapeline-as-iperf_*.deb /packages/tapeline-as-iperf3_*.deb\n\
         iperf3 --version | grep -q 'iperf 3'\n\
         iperf -c 127.0.0.1 -t 1 | grep -q '0.0000-1.0'\n\
         iperf3 -c 127.0.0.1 -t 1 | grep -q 'iperf Done'\n\
         kill $server; wait $server || true\n\
         mkdir -p /var/lib/tapeline; touch /var/lib/tapeline/history.db\n\
         dpkg --purge tapeline-as-iperf tapeline-as-iperf3 tapeline\n\
         listing > /tmp/after\n\
         diff /tmp/before /tmp/after\n"
    );
    within_a_copy(&packages, &script);
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn units_are_right_and_well_hardened() {
    if installed("systemd-analyze").is_none() {
        skip("units of the packages", "no systemd-analyze is installed");
        return;
    }
    let Some(packages) = packages("units of the packages") else {
        return;
    };
    within_a_copy(
        &packages,
        "dpkg -i /packages/tapeline_*.deb\n\
         cd /usr/lib/systemd/system\n\
         systemd-analyze verify tapeline*.service tapeline.socket 2>&1 | grep tapeline && exit 1\n\
         for one in tapeline tapeline-agent tapeline-fleet-controller tapeline-fleet-collect; do\n\
           systemd-analyze security --offline=yes --threshold=20 $one.service\n\
         done\n",
    );
}

#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn lintian_has_no_errors() {
    if installed("lintian").is_none() {
        skip(
            "lintian",
            "it is not installed (128 packages): apt-get install lintian",
        );
        return;
    }
    let Some(packages) = packages("lintian") else {
        return;
    };
    let said = within_a_copy(
        &packages,
        "lintian --fail-on none --tag-display-limit 0 /packages/*.deb\n",
    );
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("E:")).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Built twice, they are the same to the byte.
#[test]
#[ignore = "builds the program: cargo xtask test packages"]
fn packages_of_the_same_sources_are_alike() {
    let read = || {
        let folder = packages("packages built twice")?;
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).expect("packages") {
            let path = entry.expect("a package").path();
            if path.extension().is_some_and(|ending| ending == "deb") {
                files.push((path.clone(), std::fs::read(path).expect("a package")));
            }
        }
        files.sort();
        Some(files)
    };
    let Some(once) = read() else {
        return;
    };
    assert_eq!(once.len(), 3);
    assert!(Some(once) == read(), "they differ");
}
