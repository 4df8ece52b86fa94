//! Archives with a program that needs nothing, for each architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::static_target::StaticTarget;
use super::tree::{Tree, epoch, files, name_of};
use super::{bill_of_materials, copyright, crates};
use crate::builds::VERSION;
use crate::generate::installed;
use crate::shell::{self, Result};
use crate::tally::Tally;

/// Where the archives are put.
const FOLDER: &str = "target/dist";
const CHECKSUMS: &str = "SHA256SUMS";
/// What a static program has from elsewhere than from crates.
const LINKED: &str = "\n----\n\
    musl (https://musl.libc.org): MIT, copyright 2005-2020 Rich Felker, et al.\n\
    Rust's standard library (https://rust-lang.org): Apache-2.0 OR MIT\n";

/// Builds them, with their checksums and bills of materials; the tally holds the architectures that
/// cannot be built here.
///
/// # Errors
/// The program of this machine cannot be built, or a file cannot be written.
pub(crate) fn build() -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = Path::new(FOLDER);
    let _ = std::fs::remove_dir_all(folder);
    let share = Path::new("target/share");
    let mut made = Vec::new();
    for target in StaticTarget::all() {
        let program = match target.build() {
            Ok(program) => program,
            Err(error) if target.is_native() => return Err(error),
            Err(error) => {
                tally.skip(format!("{}: {error}; NOT BUILT", target.architecture()));
                continue;
            }
        };
        if target.is_native() {
            installed::write(&program, share)?;
        }
        made.extend(archive(target, &program, share)?);
        tally.pass();
    }
    let mut sum = Command::new("sha256sum");
    let sums = shell::read(sum.current_dir(folder).args(&made))?;
    let path = folder.join(CHECKSUMS);
    std::fs::write(&path, &sums).map_err(|error| format!("{}: {error}", path.display()))?;
    print!("{sums}");
    Ok(tally)
}

/// Makes the archive and the bill of materials of a program; returns their names.
fn archive(target: StaticTarget, program: &Path, share: &Path) -> Result<[String; 2]> {
    let name = format!("tapeline-{VERSION}-{}-linux", target.architecture());
    let content =
        std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    if has_section(&content, ".symtab") || has_section(&content, ".interp") {
        return Err(format!(
            "{}: it has symbols, or needs libraries",
            program.display()
        ));
    }
    let tree = Tree::new(Path::new(FOLDER).join(&name))?;
    tree.write("tapeline", &content, 0o755)?;
    for other in ["iperf", "iperf3"] {
        tree.link(&format!("as/{other}"), "../tapeline")?;
    }
    for path in ["tapeline", "iperf", "iperf3"]
        .into_iter()
        .flat_map(installed::paths)
    {
        tree.copy(&format!("share/{path}"), &share.join(path), 0o644)?;
    }
    for (from, to) in [
        ("packaging/systemd", "systemd"),
        ("docs/schema", "share/tapeline/schema"),
    ] {
        for file in files(from)? {
            tree.copy(&format!("{to}/{}", name_of(&file)), &file, 0o644)?;
        }
    }
    let crates = crates::of_others(Some(&target.triple()))?;
    let licences = copyright::text(&crates, "LICENSE-APACHE")? + LINKED;
    tree.write("COPYRIGHT", licences.as_bytes(), 0o644)?;
    tree.copy("LICENSE-APACHE", Path::new("LICENSE-APACHE"), 0o644)?;
    let archive = format!("{name}.tar.gz");
    pack(&name, &archive)?;
    let bill = format!("{name}.cdx.json");
    let path = Path::new(FOLDER).join(&bill);
    std::fs::write(&path, bill_of_materials::text(&crates))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!(
        "{FOLDER}/{archive}: {:.2} MB, the program {:.2} MB",
        size(Path::new(FOLDER).join(&archive)),
        content.len() as f64 / 1e6
    );
    Ok([archive, bill])
}

/// Packs a folder without the names, times and order of this machine.
fn pack(folder: &str, archive: &str) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.current_dir(FOLDER)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", epoch()))
        .args(["--format=gnu", "-I", "gzip -9 -n", "-cf", archive, folder]);
    shell::read(&mut tar).map(drop)
}

fn size(file: PathBuf) -> f64 {
    std::fs::metadata(file).map_or(0.0, |file| file.len() as f64 / 1e6)
}

/// Whether an ELF file has a section of that name: a table of symbols that it does not need to run, which
/// profile overrides for the program's own package bring back, or the path of a loader.
fn has_section(program: &[u8], name: &str) -> bool {
    let name = format!("\0{name}\0");
    program
        .windows(name.len())
        .any(|bytes| bytes == name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_their_names() {
        assert!(has_section(b"\0.text\0.symtab\0.strtab\0", ".symtab"));
        assert!(!has_section(b"\0.text\0.dynsym\0", ".symtab"));
    }
}
