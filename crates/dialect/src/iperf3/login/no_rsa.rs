//! In place of RSA, where the program was built without it.

use crate::plan::RsaPadding;

const WITHOUT: &str = "this program was built without RSA logins: build it with the feature `auth`";

pub(crate) enum PublicKey {}

impl PublicKey {
    pub(crate) fn read(_: &str) -> Result<Self, String> {
        Err(WITHOUT.into())
    }

    pub(crate) fn encrypt(&self, _: &[u8], _: RsaPadding) -> Option<Vec<u8>> {
        match *self {}
    }
}

#[derive(Debug)]
pub(crate) enum PrivateKey {}

impl PrivateKey {
    pub(crate) fn read(_: &str) -> Result<Self, String> {
        Err(WITHOUT.into())
    }

    pub(crate) fn decrypt(&self, _: &[u8], _: RsaPadding) -> Option<Vec<u8>> {
        match *self {}
    }
}

pub(crate) type Digest = [u8; 32];

pub(crate) fn sha256(_: &[u8]) -> Digest {
    [0; 32]
}

pub(crate) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    one == other
}
