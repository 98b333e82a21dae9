//! Signatures of certificates, in minisign's format: keys are created with `minisign -G`, and `minisign -V` checks
//! signatures made here. The key is read before a run begins, because the user may have to type its password.

use crate::failure::{Failure, escaped_path, one_line};
use crate::{certificate, files};
use assay_judge::Judgement;
pub use minisign::PublicKey;
use minisign::{PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Upper bound on the size of a key or signature.
pub const LARGEST: u64 = 1 << 20;

/// A secret key, ready to sign.
pub struct Signer {
    key: SecretKey,
    path: PathBuf,
}

impl Signer {
    /// The key that was asked for, if any.
    pub fn load_if_given(path: Option<&Path>) -> Result<Option<Signer>, Failure> {
        path.map(Signer::load_key).transpose()
    }

    fn load_key(path: &Path) -> Result<Signer, Failure> {
        let text = files::read_text(path, LARGEST).map_err(|e| unusable_key(path, &e))?;
        // First without a password: only an encrypted key needs one.
        let plain = SecretKeyBox::from_string(&text).and_then(SecretKeyBox::into_unencrypted_secret_key);
        let key = match plain {
            Err(why) if why.to_string().contains("encrypted") => {
                SecretKeyBox::from_string(&text).and_then(|boxed| boxed.into_secret_key(None))
            }
            other => other,
        };
        Ok(Signer { key: key.map_err(|e| unusable_key(path, &e))?, path: path.to_path_buf() })
    }

    /// Id of the key, in minisign's notation.
    pub fn key_id(&self) -> String {
        format_key_id(self.key.keynum())
    }

    /// Signs the certificate at `path` and leaves the signature beside it.
    pub fn sign_certificate(&self, path: &Path, judgement: &Judgement) -> Result<(), Failure> {
        let bytes = files::read_file(path, certificate::LARGEST).map_err(|e| self.not_signed(path, &e))?;
        let log = judgement.log.as_ref().map_or("none", |log| log.blake3.as_str());
        let comment = format!("assay {} log-blake3:{log}", judgement.verdict);
        let signature = minisign::sign(None, &self.key, Cursor::new(bytes), Some(&comment), None);
        let text = signature.map_err(|e| self.not_signed(path, &e))?.into_string();
        let signature = signature_path(path);
        files::replace_file(&signature, text.as_bytes())
            .map_err(|e| self.not_signed(path, &format!("{}: {e}", escaped_path(&signature))))
    }

    fn not_signed(&self, path: &Path, why: &dyn std::fmt::Display) -> Failure {
        Failure::host_unable(format!("{} was not signed with {}: {why}", escaped_path(path), escaped_path(&self.path)))
    }
}

/// Id of a public key, in minisign's notation.
pub fn id_of(key: &PublicKey) -> String {
    format_key_id(key.keynum())
}

/// Eight bytes, little-endian, in hexadecimal (minisign's "Minisign File Formats").
fn format_key_id(number: &[u8]) -> String {
    number.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

/// The path of the signature of `path`.
pub fn signature_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".minisig");
    PathBuf::from(name)
}

/// Reads a public key: the key itself, or a file that contains it.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    if let Ok(key) = PublicKey::from_base64(text) {
        return Ok(key);
    }
    public_key_in(Path::new(text)).map_err(|why| {
        Failure::bad_usage(format!(
            "the public key {} cannot be used: {why}\n  = give minisign's public key or its file",
            one_line(text)
        ))
    })
}

/// Checks that `signature` is that of `bytes` with `key`; the error says why not.
pub fn check_signature(key: &PublicKey, signature: &str, bytes: &[u8]) -> Result<(), String> {
    let boxed = SignatureBox::from_string(signature).map_err(|e| format!("the signature cannot be read: {e}"))?;
    let verified = minisign::verify(key, &boxed, Cursor::new(bytes), true, false, false);
    verified.map_err(|e| format!("the signature is not that of this key over this certificate: {e}"))
}

fn public_key_in(file: &Path) -> Result<PublicKey, String> {
    let boxed = PublicKeyBox::from_string(&files::read_text(file, LARGEST).map_err(|e| e.to_string())?);
    boxed.and_then(PublicKeyBox::into_public_key).map_err(|e| e.to_string())
}

fn unusable_key(key: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::bad_usage(format!(
        "the signing key {} cannot be used: {why}\n  = create a key with: minisign -G -s assay.key -p assay.pub",
        escaped_path(key)
    ))
}
