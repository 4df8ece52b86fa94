//! What must hold for any token of a client, as far as it is read before and after its decryption, and for
//! the files with keys and users.

use crate::iperf3::login::{base64, gate, pem_file};

/// A token, and the login in one.
pub(crate) fn token(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Some(bytes) = base64::decode(text) {
        assert!(bytes.len() <= text.len() / 4 * 3);
        let again = base64::encode(&bytes);
        assert_eq!(base64::decode(&again), Some(bytes));
    }
    if let Some((user, password, _)) = gate::fields(text) {
        assert!(text.contains(user) && text.contains(password));
        assert!(!user.contains('\n') && !password.contains('\n'));
    }
}

/// A file with a key, or one with users.
pub(crate) fn files(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Some((kind, key)) = pem_file::pem(text) {
        assert!(text.contains(kind) && key.len() <= text.len());
        if let Some(whole) = pem_file::wrapped(&key) {
            assert!(whole.ends_with(&key) && whole.len() <= key.len() + 32);
        }
    }
    for (user, hash) in gate::users(text) {
        assert!(text.contains(&user) && !user.contains(',') && !user.contains('\n'));
        assert!(hash.len() <= text.len() && !hash.contains('\n'));
    }
}
