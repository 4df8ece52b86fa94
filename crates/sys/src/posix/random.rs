//! `urandom(4)`.

use std::fs::File;
use std::io::{self, Read};

pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}
