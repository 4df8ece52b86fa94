//! Prints the JSON Schema of tapeline's documents, for `cargo xtask generate`.
#![allow(clippy::print_stdout)]

use schemars::generate::SchemaSettings;
use tapeline_report::document::Report;

fn main() {
    let generator = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = generator.into_generator().into_root_schema_for::<Report>();
    schema.insert("title".to_owned(), "tapeline-report/1".into());
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    );
}
