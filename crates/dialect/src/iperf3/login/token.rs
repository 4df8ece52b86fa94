//! The token with which a client logs in.

use super::{base64, rsa};
use crate::plan::Iperf3Credentials;

/// What makes a client's tokens.
pub(crate) struct Login {
    key: rsa::PublicKey,
    credentials: Iperf3Credentials,
}

impl Login {
    /// Reads the key.
    ///
    /// # Errors
    /// A sentence when the key or the login cannot be used.
    pub(crate) fn new(credentials: &Iperf3Credentials) -> Result<Self, String> {
        let breaks = |text: &str| text.chars().any(char::is_control);
        if breaks(&credentials.user) || breaks(&credentials.password) {
            return Err("user name and password cannot hold control characters".into());
        }
        Ok(Self {
            key: rsa::PublicKey::read(&credentials.public_key)?,
            credentials: credentials.clone(),
        })
    }

    /// The token for this time, seconds since 1970.
    ///
    /// # Errors
    /// A sentence when the login is too long for the key.
    pub(crate) fn token(&self, now: i64) -> Result<String, String> {
        let Iperf3Credentials {
            user,
            password,
            padding,
            ..
        } = &self.credentials;
        let plain = format!("user: {user}\npwd:  {password}\nts:   {now}");
        let sealed = self.key.encrypt(plain.as_bytes(), *padding);
        sealed
            .map(|bytes| base64::encode(&bytes))
            .ok_or_else(|| "user name and password are too long for the RSA key".into())
    }
}

#[cfg(all(test, feature = "auth"))]
mod tests;
