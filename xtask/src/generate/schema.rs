//! The JSON Schema of tapeline's documents, made from their types, and the text of the page's API, made
//! from its routes.

use std::path::Path;

use crate::builds;
use crate::shell::{self, Result};

/// Where they are published, and what the generator calls them.
const FILES: [(&str, &str); 10] = [
    ("docs/schema/tapeline-report-1.json", "report"),
    ("docs/schema/tapeline-series-1.json", "series"),
    ("docs/schema/tapeline-method-1.json", "method"),
    ("docs/schema/tapeline-method-series-1.json", "method-series"),
    ("docs/schema/tapeline-flows-1.json", "flows"),
    ("docs/schema/tapeline-history-1.json", "history"),
    ("docs/schema/tapeline-comparison-1.json", "comparison"),
    ("docs/schema/tapeline-gate-1.json", "gate"),
    ("docs/schema/tapeline-mesh-1.json", "mesh"),
    ("docs/schema/tapeline-web-openapi.json", OPENAPI),
];

/// The one that the page makes.
const OPENAPI: &str = "openapi";

fn made(name: &str) -> Result<String> {
    if name == OPENAPI {
        return shell::read(&mut builds::example(OPENAPI)?);
    }
    shell::read(builds::example("schema")?.arg(name))
}

/// Writes them.
///
/// # Errors
/// One cannot be made or written.
pub(crate) fn write() -> Result<()> {
    for (file, name) in FILES {
        std::fs::write(file, made(name)?).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}");
    }
    Ok(())
}

/// Compares what is published with what the types say.
///
/// # Errors
/// They differ.
pub(crate) fn check() -> Result<()> {
    for (file, name) in FILES {
        let published =
            std::fs::read_to_string(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
        if published != made(name)? {
            return Err(format!(
                "{file} is not what the program says: run cargo xtask generate"
            ));
        }
    }
    Ok(())
}
