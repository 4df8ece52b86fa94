//! Prints the JSON Schema of tapeline's documents, for `cargo xtask generate`: of a report, or with
//! an argument of several runs (`series`), of different flows (`flows`), of a method (`method`), of
//! its runs (`method-series`), of a history (`history`), a comparison, a gate or a mesh.
#![allow(clippy::print_stdout)]

use schemars::generate::SchemaSettings;
use tapeline_report::comparison::{COMPARISON_SCHEMA, Comparison};
use tapeline_report::document::{Report, SCHEMA, SERIES_SCHEMA, SeriesReport};
use tapeline_report::flows::{FLOWS_SCHEMA, FlowsReport};
use tapeline_report::gate::{GATE_SCHEMA, GateReport};
use tapeline_report::matrix::{MESH_SCHEMA, MeshDocument};
use tapeline_report::method::{
    METHOD_SCHEMA, METHOD_SERIES_SCHEMA, MethodDocument, MethodSeriesDocument,
};
use tapeline_report::stored::{HISTORY_SCHEMA, HistoryDocument};

fn main() {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let (mut schema, title) = match std::env::args().nth(1).as_deref() {
        Some("series") => {
            let schema = generator.into_root_schema_for::<SeriesReport>();
            (schema, SERIES_SCHEMA)
        }
        Some("method") => {
            let schema = generator.into_root_schema_for::<MethodDocument>();
            (schema, METHOD_SCHEMA)
        }
        Some("method-series") => {
            let schema = generator.into_root_schema_for::<MethodSeriesDocument>();
            (schema, METHOD_SERIES_SCHEMA)
        }
        Some("flows") => {
            let schema = generator.into_root_schema_for::<FlowsReport>();
            (schema, FLOWS_SCHEMA)
        }
        Some("history") => {
            let schema = generator.into_root_schema_for::<HistoryDocument>();
            (schema, HISTORY_SCHEMA)
        }
        Some("comparison") => {
            let schema = generator.into_root_schema_for::<Comparison>();
            (schema, COMPARISON_SCHEMA)
        }
        Some("gate") => {
            let schema = generator.into_root_schema_for::<GateReport>();
            (schema, GATE_SCHEMA)
        }
        Some("mesh") => {
            let schema = generator.into_root_schema_for::<MeshDocument>();
            (schema, MESH_SCHEMA)
        }
        _ => (generator.into_root_schema_for::<Report>(), SCHEMA),
    };
    schema.insert("title".to_owned(), title.into());
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    );
}
