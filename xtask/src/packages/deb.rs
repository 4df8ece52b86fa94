//! Debian packages: the program with all that belongs to it, and packages whose links take the names of
//! iperf and iperf3.

use std::path::Path;
use std::process::Command;

use super::tree::{Tree, epoch, files, name_of};
use super::{copyright, crates};
use crate::builds::{self, EVERYTHING, VERSION};
use crate::generate::installed;
use crate::shell::{self, Result};

/// Where the packages are put.
const FOLDER: &str = "target/deb";
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
    let binary = builds::release(&EVERYTHING)?;
    installed::write(&binary, share)?;
    let content =
        std::fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let architecture = shell::read(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let copyright = copyright::text(
        &crates::of_others(None)?,
        "/usr/share/common-licenses/Apache-2.0",
    )?;
    for package in &PACKAGES {
        let tree = Tree::new(Path::new(FOLDER).join(format!("{}.tree", package.name)))?;
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
        shell::run(pack.arg(tree.folder()).arg(&file))?;
    }
    Ok(())
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
