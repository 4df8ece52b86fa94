//! Logins: the encrypted token of a client, and a server's look at it.
//!
//! The token is `user`, `password` and time, encrypted with the server's public RSA key. Nothing
//! else on the connections is protected.

pub(crate) mod base64;
pub(crate) mod gate;
#[cfg(any(feature = "auth", test, fuzzing))]
pub(crate) mod pem_file;
#[cfg(feature = "auth")]
#[path = "rsa.rs"]
mod rsa;
#[cfg(not(feature = "auth"))]
#[path = "no_rsa.rs"]
mod rsa;
pub(crate) mod token;
