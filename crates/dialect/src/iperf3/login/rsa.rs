//! RSA and SHA-256.

use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    Pkcs1PrivateDecryptingKey, Pkcs1PublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
};
use aws_lc_rs::{constant_time, digest};

use crate::iperf3::login::pem_file::{pem, wrapped};
use crate::plan::RsaPadding;

/// A server's key, as its clients have it.
pub(crate) struct PublicKey {
    oaep: OaepPublicEncryptingKey,
    pkcs1: Pkcs1PublicEncryptingKey,
}

impl PublicKey {
    /// Reads a `PUBLIC KEY` (SubjectPublicKeyInfo).
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let unusable = || "not an RSA public key of 2048 to 8192 bits".to_owned();
        let Some(("PUBLIC KEY", der)) = pem(text) else {
            return Err("no PEM block `PUBLIC KEY` in the RSA public key".into());
        };
        let key = PublicEncryptingKey::from_der(&der).map_err(|_| unusable())?;
        Ok(Self {
            oaep: OaepPublicEncryptingKey::new(key.clone()).map_err(|_| unusable())?,
            pkcs1: Pkcs1PublicEncryptingKey::new(key).map_err(|_| unusable())?,
        })
    }

    /// `None` for more than fits the key.
    pub(crate) fn encrypt(&self, plain: &[u8], padding: RsaPadding) -> Option<Vec<u8>> {
        let mut sealed = vec![0; self.oaep.ciphertext_size()];
        let length = match padding {
            RsaPadding::Oaep => {
                let sealed = self
                    .oaep
                    .encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut sealed, None);
                sealed.ok()?.len()
            }
            RsaPadding::Pkcs1 => self.pkcs1.encrypt(plain, &mut sealed).ok()?.len(),
        };
        sealed.truncate(length);
        Some(sealed)
    }
}

/// A server's own key.
#[derive(Debug)]
pub(crate) struct PrivateKey {
    oaep: OaepPrivateDecryptingKey,
    pkcs1: Pkcs1PrivateDecryptingKey,
}

impl PrivateKey {
    /// Reads a `PRIVATE KEY` (PKCS#8) or `RSA PRIVATE KEY` (PKCS#1), both without a password.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let unusable = || "not an RSA private key of 2048 to 8192 bits".to_owned();
        let der = match pem(text) {
            Some(("PRIVATE KEY", der)) => der,
            Some(("RSA PRIVATE KEY", der)) => wrapped(&der).ok_or_else(unusable)?,
            Some(("ENCRYPTED PRIVATE KEY", _)) => {
                return Err("the RSA private key is locked by a password: store it without".into());
            }
            _ => return Err("no PEM block `PRIVATE KEY` in the RSA private key".into()),
        };
        let key = PrivateDecryptingKey::from_pkcs8(&der).map_err(|_| unusable())?;
        Ok(Self {
            oaep: OaepPrivateDecryptingKey::new(key.clone()).map_err(|_| unusable())?,
            pkcs1: Pkcs1PrivateDecryptingKey::new(key).map_err(|_| unusable())?,
        })
    }

    /// `None` for what was not encrypted for this key and in this way.
    pub(crate) fn decrypt(&self, sealed: &[u8], padding: RsaPadding) -> Option<Vec<u8>> {
        let mut plain = vec![0; self.oaep.min_output_size()];
        let length = match padding {
            RsaPadding::Oaep => {
                let plain = self
                    .oaep
                    .decrypt(&OAEP_SHA1_MGF1SHA1, sealed, &mut plain, None);
                plain.ok()?.len()
            }
            RsaPadding::Pkcs1 => self.pkcs1.decrypt(sealed, &mut plain).ok()?.len(),
        };
        plain.truncate(length);
        Some(plain)
    }
}

pub(crate) type Digest = [u8; 32];

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// Compares without showing by the time it takes where a difference is.
pub(crate) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(one, other).is_ok()
}
