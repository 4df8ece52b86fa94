//! Archives with a program that needs nothing, for each architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::platform::Platform;
use super::tree::{Tree, epoch, files, name_of};
use super::{bill_of_materials, copyright, crates};
use crate::builds::VERSION;
use crate::generate::installed;
use crate::shell::{self, Result};
use crate::tally::Tally;

/// Where the archives are put.
const FOLDER: &str = "target/dist";
const CHECKSUMS: &str = "SHA256SUMS";
/// What a program has from elsewhere than from crates.
const RUST: &str = "\n----\nRust's standard library (https://rust-lang.org): Apache-2.0 OR MIT\n";
const MUSL: &str = "musl (https://musl.libc.org): MIT, copyright 2005-2020 Rich Felker, et al.\n";
const MINGW: &str = "mingw-w64 (https://www.mingw-w64.org): ZPL-2.1\n\
    libgcc (https://gcc.gnu.org): GPL-3.0-or-later WITH GCC-exception-3.1\n";

/// Builds them, with their checksums and bills of materials; the tally holds the platforms that
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
    for platform in Platform::all() {
        if let Some(missing) = platform.missing() {
            if platform.is_native() {
                return Err(missing);
            }
            tally.skip(format!("{}: {missing}; NOT BUILT", platform.name()));
            continue;
        }
        let program = match platform.build() {
            Ok(program) => program,
            Err(error) if platform.is_native() => return Err(error),
            Err(error) => {
                tally.fail(format!("{}: {error}", platform.name()));
                continue;
            }
        };
        if platform.is_native() {
            installed::write(&program, share)?;
        }
        made.extend(archive(platform, &program, share)?);
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
fn archive(platform: Platform, program: &Path, share: &Path) -> Result<[String; 2]> {
    let name = format!("tapeline-{VERSION}-{}", platform.name());
    let content =
        std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let tree = Tree::new(Path::new(FOLDER).join(&name))?;
    tree.write(platform.program(), &content, 0o755)?;
    let linked = match platform {
        Platform::LinuxX86 | Platform::LinuxArm => {
            add_unix_files(&tree, &content, share)?;
            MUSL
        }
        Platform::WindowsX86 => MINGW,
    };
    for file in files("docs/schema")? {
        let path = format!("share/tapeline/schema/{}", name_of(&file));
        tree.copy(&path, &file, 0o644)?;
    }
    let crates = crates::of_others(Some(&platform.triple()))?;
    let licences = copyright::text(&crates, "LICENSE-APACHE")? + RUST + linked;
    tree.write("COPYRIGHT", licences.as_bytes(), 0o644)?;
    tree.copy("LICENSE-APACHE", Path::new("LICENSE-APACHE"), 0o644)?;
    let archive = match platform {
        Platform::LinuxX86 | Platform::LinuxArm => pack(&name)?,
        Platform::WindowsX86 => zip(&name, &tree)?,
    };
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

/// Adds links, manual pages, completions and units.
fn add_unix_files(tree: &Tree, program: &[u8], share: &Path) -> Result<()> {
    if has_section(program, ".symtab") || has_section(program, ".interp") {
        return Err("the program has symbols, or needs libraries".to_owned());
    }
    for other in ["iperf", "iperf3"] {
        tree.link(&format!("as/{other}"), "../tapeline")?;
    }
    for path in ["tapeline", "iperf", "iperf3"]
        .into_iter()
        .flat_map(installed::paths)
    {
        tree.copy(&format!("share/{path}"), &share.join(path), 0o644)?;
    }
    for file in files("packaging/systemd")? {
        tree.copy(&format!("systemd/{}", name_of(&file)), &file, 0o644)?;
    }
    Ok(())
}

/// Packs a folder without the names, times and order of this machine; returns the archive's name.
fn pack(folder: &str) -> Result<String> {
    let archive = format!("{folder}.tar.gz");
    let mut tar = Command::new("tar");
    tar.current_dir(FOLDER)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", epoch()))
        .args(["--format=gnu", "-I", "gzip -9 -n", "-cf", &archive, folder]);
    shell::read(&mut tar)?;
    Ok(archive)
}

/// The same in the format of Windows.
fn zip(folder: &str, tree: &Tree) -> Result<String> {
    tree.age()?;
    let archive = format!("{folder}.zip");
    let mut paths = shell::read(Command::new("find").arg(folder).current_dir(FOLDER))?
        .lines()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    paths.sort();
    let mut zip = Command::new("zip");
    zip.current_dir(FOLDER).env("TZ", "UTC");
    zip.args(["-q", "-X", "-9", &archive]).args(paths);
    shell::read(&mut zip)?;
    Ok(archive)
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
