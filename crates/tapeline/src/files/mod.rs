//! Files that are read and written apart from the network.

pub(crate) mod input;
pub(crate) mod output_file;
pub(crate) mod whole_file;
