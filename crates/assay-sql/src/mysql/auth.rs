//! How a client proves who it is: the ways that MariaDB's servers ask for and that this program knows.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY as SHA1, digest};

/// The way that servers begin with unless they are told otherwise.
pub(super) const NATIVE: &str = "mysql_native_password";

/// Returns the proof for a way of authentication and a scramble, or why there is none.
pub(super) fn authentication_proof(way: &str, scramble: &[u8], password: Option<&[u8]>) -> Result<Vec<u8>, String> {
    match way {
        NATIVE | "" => Ok(password.map_or_else(Vec::new, |password| native_proof(password, scramble))),
        // The kernel tells the server whose process this is.
        "unix_socket" | "auth_socket" => Ok(Vec::new()),
        _ => Err(format!(
            "the server asks for a way to log in that this program does not know ({way}): let the user in by \
             {NATIVE} or unix_socket"
        )),
    }
}

/// The password is not sent: both sides know its hash of hashes, and only who knows the password can undo the mask.
fn native_proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = digest(&SHA1, password);
    let twice = digest(&SHA1, once.as_ref());
    let mask = digest(&SHA1, &[scramble, twice.as_ref()].concat());
    once.as_ref().iter().zip(mask.as_ref()).map(|(byte, mask)| byte ^ mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server keeps the second hash, undoes the mask with it, and hashes what it finds.
    #[test]
    fn the_server_finds_the_hash_that_it_keeps() {
        let scramble = *b"abcdefghijklmnopqrst";
        let kept = digest(&SHA1, digest(&SHA1, b"canary").as_ref());
        for (password, is_right) in [(&b"canary"[..], true), (b"canarz", false)] {
            let sent = authentication_proof(NATIVE, &scramble, Some(password)).unwrap();
            let mask = digest(&SHA1, &[&scramble[..], kept.as_ref()].concat());
            let once: Vec<u8> = sent.iter().zip(mask.as_ref()).map(|(byte, mask)| byte ^ mask).collect();
            assert_eq!(digest(&SHA1, &once).as_ref() == kept.as_ref(), is_right);
        }
        assert_eq!(authentication_proof(NATIVE, &scramble, None), Ok(Vec::new()));
        assert_eq!(authentication_proof(NATIVE, &scramble, Some(b"")), Ok(Vec::new()));
    }

    #[test]
    fn a_way_that_is_not_known_is_named_and_gets_nothing() {
        for way in ["client_ed25519", "mysql_clear_password", "dialog"] {
            let why = authentication_proof(way, b"x", Some(b"canary")).unwrap_err();
            assert!(why.contains(way) && !why.contains("canary"), "{why}");
        }
    }
}
