//! Byte codecs of the iperf protocols: pure, bounded, without IO.
