//! Tests that need private parts of several modules: simulations, recorded sessions, and the corpora of the
//! fuzz targets.

mod corpus;
mod iperf2_udp;
mod iperf3_replay;
mod native;
mod orders;
