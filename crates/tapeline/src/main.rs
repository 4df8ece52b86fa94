//! A tape measure for networks.
fn main() {}
