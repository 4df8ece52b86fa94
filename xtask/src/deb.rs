//! Debian packages: the program with all that belongs to it, and packages whose links take the names of
//! iperf and iperf3.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::builds;
use crate::generate::installed;
use crate::shell::{self, Result, cargo};

/// Where the packages are put.
const FOLDER: &str = "target/deb";
/// What the program has in it.
const FEATURES: [&str; 1] = ["fleet"];
/// The time of all files, unless `SOURCE_DATE_EPOCH` says otherwise: packages of the same sources are alike.
const EPOCH: &str = "1767225600";
/// One version for all.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const MAINTAINER: &str = "The tapeline contributors <maintainers@tapeline.example.net>";

/// A package, less what all have.
struct Package {
    name: &'static str,
    summary: &'static str,
    about: &'static str,
    /// The program whose place it takes.
    takes: Option<&'static str>,
}

const PACKAGES: [Package; 3] = [
    Package {
        name: "tapeline",
        summary: "tape measure for networks",
        about: "Measures what a path carries over TCP and UDP, and says what limited it and how far\n \
                the number is to be trusted. It speaks to iperf and iperf3 of any version, in both\n \
                roles; keeps and compares results; tests many hosts with each other.",
        takes: None,
    },
    Package {
        name: "tapeline-as-iperf",
        summary: "tapeline in the place of iperf",
        about: "Gives tapeline the name iperf. Options, output and protocol are those of iperf 2.2.1\n \
                as Debian builds it.",
        takes: Some("iperf"),
    },
    Package {
        name: "tapeline-as-iperf3",
        summary: "tapeline in the place of iperf3",
        about: "Gives tapeline the name iperf3. Options, output and protocol are those of iperf3.",
        takes: Some("iperf3"),
    },
];

/// Builds the packages for this machine's architecture.
///
/// # Errors
/// A build fails, a file cannot be written, or there is no dpkg-deb.
pub(crate) fn build() -> Result<()> {
    let share = Path::new("target/share");
    let binary = builds::release(&FEATURES)?;
    installed::write(&binary, share)?;
    let content =
        std::fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let architecture = shell::read(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let copyright = copyright()?;
    for package in &PACKAGES {
        let tree = Path::new(FOLDER).join(format!("{}.tree", package.name));
        let _ = std::fs::remove_dir_all(&tree);
        let tree = Tree(tree);
        package.documents(&tree, &copyright)?;
        manuals_and_completions(&tree, package.takes.unwrap_or("tapeline"), share)?;
        let (architecture, needs) = match package.takes {
            None => {
                whole_program(&tree, &binary)?;
                (architecture, libraries(&content))
            }
            Some(name) => {
                other_name(&tree, name)?;
                ("all", format!("tapeline (>= {VERSION})"))
            }
        };
        let control = package.control(architecture, &needs, tree.kilobytes()?);
        tree.write("DEBIAN/control", control.as_bytes(), 0o644)?;
        tree.age()?;
        let file = format!("{FOLDER}/{}_{VERSION}_{architecture}.deb", package.name);
        let mut pack = Command::new("dpkg-deb");
        pack.env("SOURCE_DATE_EPOCH", epoch());
        pack.args(["--root-owner-group", "-Zxz", "--build"]);
        shell::run(pack.arg(&tree.0).arg(&file))?;
    }
    Ok(())
}

fn epoch() -> String {
    std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| EPOCH.to_owned())
}

impl Package {
    fn control(&self, architecture: &str, needs: &str, kilobytes: u64) -> String {
        let instead = self.takes.map_or(String::new(), |name| {
            format!("Provides: {name}\nConflicts: {name}\nReplaces: {name}\n")
        });
        format!(
            "Package: {}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
             Installed-Size: {kilobytes}\nDepends: {needs}\n{instead}Section: net\nPriority: optional\n\
             Description: {}\n {}\n",
            self.name, self.summary, self.about
        )
    }

    /// What Debian wants to know of each package.
    fn documents(&self, tree: &Tree, copyright: &str) -> Result<()> {
        let folder = format!("usr/share/doc/{}", self.name);
        tree.write(&format!("{folder}/copyright"), copyright.as_bytes(), 0o644)?;
        let date =
            shell::read(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", epoch())]))?;
        let changes = format!(
            "{} ({VERSION}) unstable; urgency=medium\n\n  * Version {VERSION}.\n\n -- {MAINTAINER}  {}\n",
            self.name,
            date.trim()
        );
        tree.write_packed(&format!("{folder}/changelog"), changes.as_bytes())
    }
}

fn whole_program(tree: &Tree, binary: &Path) -> Result<()> {
    tree.copy("usr/bin/tapeline", binary, 0o755)?;
    for file in files("packaging/systemd")? {
        let name = name_of(&file);
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
        let text = text.replace("/usr/local/bin/", "/usr/bin/");
        let to = match file.extension().and_then(|ending| ending.to_str()) {
            Some("service" | "socket") => format!("usr/lib/systemd/system/{name}"),
            Some("sysusers") => "usr/lib/sysusers.d/tapeline.conf".to_owned(),
            _ => format!("etc/tapeline/{name}"),
        };
        tree.write(&to, text.as_bytes(), 0o644)?;
    }
    tree.write("DEBIAN/conffiles", b"/etc/tapeline/server.toml\n", 0o644)?;
    for file in files("docs/schema")? {
        tree.copy(
            &format!("usr/share/tapeline/schema/{}", name_of(&file)),
            &file,
            0o644,
        )?;
    }
    for script in ["postinst", "prerm", "postrm"] {
        let from = Path::new("packaging/debian").join(script);
        tree.copy(&format!("DEBIAN/{script}"), &from, 0o755)?;
    }
    Ok(())
}

fn other_name(tree: &Tree, name: &str) -> Result<()> {
    match name {
        "iperf" => tree.copy("usr/bin/iperf", Path::new("packaging/debian/iperf"), 0o755),
        name => tree.link(&format!("usr/bin/{name}"), "tapeline"),
    }
}

fn manuals_and_completions(tree: &Tree, name: &str, share: &Path) -> Result<()> {
    for path in installed::paths(name) {
        let from = share.join(path);
        // Debian keeps the folder that other systems use for what is no package.
        let to = path.replace("zsh/site-functions", "zsh/vendor-completions");
        let to = format!("usr/share/{to}");
        if path.starts_with("man/") {
            let page =
                std::fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
            tree.write_packed(&to, &page)?;
        } else {
            tree.copy(&to, &from, 0o644)?;
        }
    }
    Ok(())
}

fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let failed = |error| format!("{folder}: {error}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.sort();
    Ok(files)
}

fn name_of(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The libraries that a program wants, as packages: the newest version of the C library that it names.
fn libraries(program: &[u8]) -> String {
    const NEEDLE: &[u8] = b"GLIBC_2.";
    let mut newest = 0;
    for at in 0..program.len().saturating_sub(NEEDLE.len()) {
        if program[at..].starts_with(NEEDLE) {
            let digits = program[at + NEEDLE.len()..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            let number = digits.fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'));
            newest = newest.max(number);
        }
    }
    let unwinding = b"libgcc_s.so.1";
    let unwinds = program
        .windows(unwinding.len())
        .any(|bytes| bytes == unwinding);
    let and = if unwinds { ", libgcc-s1" } else { "" };
    format!("libc6 (>= 2.{newest}){and}")
}

/// The licences of the program and of the crates in it, each text once.
fn copyright() -> Result<String> {
    let tree = [
        "tree",
        "--locked",
        "--package",
        "tapeline",
        "--features",
        &FEATURES.join(","),
    ];
    let form = [
        "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}",
    ];
    let listed = shell::read(cargo().args(tree).args(form))?;
    let metadata = shell::read(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let none = Vec::new();
    let all = metadata["packages"].as_array().unwrap_or(&none).iter();
    let folders: BTreeMap<String, PathBuf> = all
        .filter_map(|package| {
            let name = format!(
                "{} v{}",
                package["name"].as_str()?,
                package["version"].as_str()?
            );
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some((name, manifest.parent()?.to_owned()))
        })
        .collect();
    let mut crates = BTreeSet::new();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in listed.lines() {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let name: Vec<&str> = package.split_whitespace().take(2).collect();
        let name = name.join(" ");
        if name.starts_with("tapeline") || !crates.insert(format!("{name}: {licence}")) {
            continue;
        }
        let folder = folders
            .get(&name)
            .ok_or_else(|| format!("{name} has no folder"))?;
        for file in files(&folder.to_string_lossy())? {
            let title = name_of(&file).to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
                .iter()
                .any(|word| title.starts_with(word));
            if is_licence && file.is_file() {
                let text =
                    std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
                let text = String::from_utf8_lossy(&text).trim().to_owned();
                texts.entry(text).or_default().insert(name.clone());
            }
        }
    }
    let own =
        std::fs::read_to_string("LICENSE-MIT").map_err(|error| format!("LICENSE-MIT: {error}"))?;
    let mut text = format!(
        "tapeline: Apache-2.0 (/usr/share/common-licenses/Apache-2.0) or, as you choose:\n\n{own}\n\
         The program holds these crates:\n\n"
    );
    for one in &crates {
        let _ = writeln!(text, "  {one}");
    }
    for (licence, names) in &texts {
        // Debian has that text on every machine.
        if licence.contains("Apache License") && licence.contains("Version 2.0, January 2004") {
            continue;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let _ = write!(text, "\n----\n{}:\n\n{licence}\n", names.join(", "));
    }
    Ok(text)
}

/// The files of a package, below a folder.
struct Tree(PathBuf);

impl Tree {
    fn place(&self, path: &str) -> Result<PathBuf> {
        let place = self.0.join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        Ok(place)
    }

    fn write(&self, path: &str, content: &[u8], mode: u32) -> Result<()> {
        let place = self.place(path)?;
        let failed = |error| format!("{}: {error}", place.display());
        std::fs::write(&place, content).map_err(failed)?;
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).map_err(failed)
    }

    fn copy(&self, path: &str, from: &Path, mode: u32) -> Result<()> {
        let content =
            std::fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
        self.write(path, &content, mode)
    }

    /// Packed without name and time, so that it is the same each time.
    fn write_packed(&self, path: &str, content: &[u8]) -> Result<()> {
        self.write(path, content, 0o644)?;
        shell::read(
            Command::new("gzip")
                .args(["-9", "-n", "-f"])
                .arg(self.0.join(path)),
        )
        .map(drop)
    }

    fn link(&self, path: &str, to: &str) -> Result<()> {
        let place = self.place(path)?;
        std::os::unix::fs::symlink(to, &place)
            .map_err(|error| format!("{}: {error}", place.display()))
    }

    fn kilobytes(&self) -> Result<u64> {
        let said = shell::read(
            Command::new("du")
                .args(["-k", "-s", "--apparent-size"])
                .arg(&self.0),
        )?;
        let number = said
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok());
        number.ok_or_else(|| format!("du said {said}"))
    }

    /// Gives all files the packages' time, and folders the usual rights.
    fn age(&self) -> Result<()> {
        let at = format!("@{}", epoch());
        let mut find = Command::new("find");
        find.arg(&self.0)
            .args(["-exec", "touch", "-h", "-d", &at, "{}", "+"]);
        shell::read(&mut find)?;
        let mut find = Command::new("find");
        find.arg(&self.0)
            .args(["-type", "d", "-exec", "chmod", "755", "{}", "+"]);
        shell::read(&mut find).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_c_library_that_is_named_is_needed() {
        let program = b"\0GLIBC_2.17\0GLIBC_2.34\0GLIBC_2.4\0libgcc_s.so.1\0";
        assert_eq!(libraries(program), "libc6 (>= 2.34), libgcc-s1");
        assert_eq!(libraries(b"GLIBC_2.28\0"), "libc6 (>= 2.28)");
    }

    #[test]
    fn a_package_that_takes_a_name_is_in_its_place() {
        let [whole, iperf, _] = &PACKAGES;
        let text = iperf.control("all", "tapeline (>= 1.2)", 7);
        for line in [
            "Provides: iperf\n",
            "Conflicts: iperf\n",
            "Installed-Size: 7\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!whole.control("amd64", "libc6", 7).contains("Provides"));
    }
}
