//! Tests of the real binary against real peers and networks.
