//! Release builds: one that is linked to the system's C library, and one that needs nothing.

use std::path::Path;

use crate::builds;
use crate::shell::{self, Result, cargo};

/// Where the programs are put.
const FOLDER: &str = "target/dist";

/// Builds both and shows their sizes.
///
/// # Errors
/// A build fails, or the target of the static one cannot be had.
pub(crate) fn build() -> Result<()> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    keep(&builds::release(&[])?, "tapeline")?;
    if shell::on_path("rustup") {
        shell::run(std::process::Command::new("rustup").args(["target", "add", &target]))?;
    }
    let build = ["build", "--release", "--locked", "--package", "tapeline"];
    shell::run(cargo().args(build).args(["--target", &target]))?;
    let built = builds::target_directory().join(&target);
    keep(&built.join("release/tapeline"), "tapeline-static")
}

fn keep(program: &Path, name: &str) -> Result<()> {
    let to = Path::new(FOLDER).join(name);
    let failed = |error| format!("{}: {error}", to.display());
    std::fs::create_dir_all(FOLDER).map_err(failed)?;
    let content = std::fs::read(program).map_err(failed)?;
    if has_symbols(&content) {
        return Err(format!("{}: not stripped", program.display()));
    }
    let size = std::fs::copy(program, &to).map_err(failed)?;
    println!("{}: {:.2} MB", to.display(), size as f64 / 1e6);
    Ok(())
}

/// Whether an ELF file has a table of symbols that nobody needs to run it: profile overrides for
/// the program's own package undo `strip`.
fn has_symbols(program: &[u8]) -> bool {
    const SECTION: &[u8] = b"\0.symtab\0";
    program.windows(SECTION.len()).any(|bytes| bytes == SECTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_by_the_name_of_their_section() {
        assert!(has_symbols(b"\0.text\0.symtab\0.strtab\0"));
        assert!(!has_symbols(b"\0.text\0.dynsym\0"));
    }
}
