//! RSA keys in files: PEM blocks, and the envelope of a key.

use super::base64;

/// The content of a PEM block, and what it says it is.
pub(crate) fn pem(text: &str) -> Option<(&str, Vec<u8>)> {
    let (_, begun) = text.split_once("-----BEGIN ")?;
    let (kind, rest) = begun.split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    Some((kind, base64::decode(body)?))
}

/// A PKCS#1 key in the envelope of PKCS#8 (RFC 5208, section 5).
pub(crate) fn wrapped(key: &[u8]) -> Option<Vec<u8>> {
    /// Version 0; algorithm rsaEncryption without parameters.
    const HEAD: [u8; 18] = [
        0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
        0x01, 0x05, 0x00,
    ];
    let mut inner = HEAD.to_vec();
    element(0x04, key, &mut inner)?;
    let mut whole = Vec::new();
    element(0x30, &inner, &mut whole)?;
    Some(whole)
}

/// Appends a DER element with a length of two bytes.
fn element(tag: u8, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let length = u16::try_from(content.len())
        .ok()
        .filter(|len| *len >= 256)?;
    out.extend_from_slice(&[tag, 0x82]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(content);
    Some(())
}
