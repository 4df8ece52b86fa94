//! The files without a server.
