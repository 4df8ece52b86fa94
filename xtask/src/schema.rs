//! The JSON Schema of tapeline's documents, made from their types.

use std::path::Path;

use crate::shell::{self, Result, cargo};

/// Where it is published.
const FILE: &str = "docs/schema/tapeline-report-1.json";

fn made() -> Result<String> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "tapeline-report"]);
    shell::read(command.args(["--features", "schema", "--example", "schema"]))
}

/// Writes it.
///
/// # Errors
/// It cannot be made or written.
pub(crate) fn write() -> Result<()> {
    std::fs::write(FILE, made()?).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}");
    Ok(())
}

/// Compares what is published with what the types say.
///
/// # Errors
/// They differ.
pub(crate) fn check() -> Result<()> {
    let published =
        std::fs::read_to_string(Path::new(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    if published == made()? {
        Ok(())
    } else {
        Err(format!(
            "{FILE} is not what the types say: run cargo xtask generate"
        ))
    }
}
