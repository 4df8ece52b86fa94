//! Tests of all decoders together.

mod arbitrary_bytes;
mod corpus;
