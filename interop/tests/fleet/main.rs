//! A fleet with a real server: its sentences, what each key may do, controllers that take over, a store that
//! is lost, a mesh, metrics, and faults of every kind.
//!
//! Hosts are network namespaces on one bridge. These tests wait for processes, so they run one at a time.

mod chaos;
mod client;
mod keys;
mod local;
mod lost_store;
mod mesh;
mod metrics;
mod sentences;
mod support;
mod takeover;
