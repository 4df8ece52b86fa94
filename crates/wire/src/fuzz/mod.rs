//! What must hold for any received bytes, one function for each message. Property tests, the replay of the
//! fuzzing corpora and the fuzz targets share them.

mod contracts;
mod iperf2;
mod iperf3;
mod native;
mod packet;

pub use contracts::{CONTRACTS, Contract, run};
