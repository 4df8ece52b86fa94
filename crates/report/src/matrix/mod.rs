//! Tests between many hosts: the document, what stands out in it, and its forms.
//!
//! ```text
//! Cell of each pair ─► MeshRun ─► MeshDocument (with findings) ─► text, CSV, page, JSON
//! ```

mod cell;
pub mod csv;
mod document;
mod finding;
pub mod html;
mod kept_report;
mod numbers;
mod outliers;
mod summary;
mod table;
pub mod text;

#[cfg(test)]
mod tests;

pub use cell::{Cell, Measured, Outcome};
pub use document::{HostState, MESH_SCHEMA, MeshDocument, MeshHost, MeshRun};
pub use finding::{Finding, MatrixQuantity, Subject};
pub use kept_report::KeptReport;
