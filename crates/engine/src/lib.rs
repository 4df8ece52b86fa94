//! Traffic: workers, pacing, workloads, published counters.
