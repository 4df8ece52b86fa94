//! Rows: one file for each kind of flow, and what they have in common.

mod columns;
mod remark;
mod request_response;
mod tcp;
mod udp;

pub(crate) use columns::{duplex, flow, server_report, sum};
pub(crate) use remark::remarks;
pub(crate) use udp::jitter;
