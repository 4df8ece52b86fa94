//! Tests between many hosts: the document, what stands out in it, and its forms.
//!
//! ```text
//! Cell of each pair ─► MeshRun ─► MeshDocument (with findings) ─► text, CSV, page, JSON
//! ```

mod cell;
mod document;
mod finding;

pub use cell::{Cell, Measured, Outcome};
pub use document::{HostState, MESH_SCHEMA, MeshDocument, MeshHost, MeshRun};
pub use finding::{Finding, MatrixQuantity, Subject};
