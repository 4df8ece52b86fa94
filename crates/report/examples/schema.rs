//! Prints the JSON Schema of tapeline's documents, for `cargo xtask generate`: of a report, or of
//! several runs with the argument `series`.
#![allow(clippy::print_stdout)]

use schemars::generate::SchemaSettings;
use tapeline_report::document::{Report, SCHEMA, SERIES_SCHEMA, SeriesReport};

fn main() {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let (mut schema, title) = if std::env::args().nth(1).as_deref() == Some("series") {
        let schema = generator.into_root_schema_for::<SeriesReport>();
        (schema, SERIES_SCHEMA)
    } else {
        (generator.into_root_schema_for::<Report>(), SCHEMA)
    };
    schema.insert("title".to_owned(), title.into());
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    );
}
