//! Measurement mathematics: loss, jitter, delay, histograms.
