//! What only the publisher's computer needs of files: keys, times of releases, and files that are replaced.

use super::files::{create_with, failed, now, read, shown, usage};
use crate::cli::exit::Failure;
use base::signing::is_small_order;
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use std::path::{Path, PathBuf};
use update::trust::{PublicKey, SecretKey};

/// Largest key file, in bytes: ours have 119.
const MAX_KEY: u64 = 16 << 10;

/// Reads names of settings, one per line.
pub(super) fn keys_of_settings(path: &Path) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8(read(path, update::bundle::MAX_MANIFEST as u64)?)
        .map_err(|_| failed(path, "is no UTF-8 text"))?;
    let keys: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if keys.is_empty() {
        return Err(failed(path, "has no names of settings; `raspi-mcp bundle config-keys` prints them"));
    }
    Ok(keys)
}

/// Replaces a file atomically: a reader sees the old or the new one.
pub(in crate::cli) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let new = PathBuf::from(format!("{}.new", path.display()));
    create_with(&new, 0o644, bytes)?;
    std::fs::rename(&new, path).map_err(|error| failed(path, error))
}

/// Reads a secret key: PKCS #8, as PEM or DER.
pub(in crate::cli) fn secret_key(path: &Path) -> Result<SecretKey, Failure> {
    let bytes = read(path, MAX_KEY)?;
    let der = match bytes.starts_with(b"-----BEGIN") {
        true => PrivatePkcs8KeyDer::from_pem_slice(&bytes)
            .map_err(|error| failed(path, format!("is no PEM of a PKCS #8 key: {error}")))?
            .secret_pkcs8_der()
            .to_vec(),
        false => bytes,
    };
    SecretKey::from_pkcs8(&der).map_err(|problem| failed(path, problem))
}

/// Reads a public key written by `keygen`.
pub(in crate::cli) fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    let bytes = read(path, MAX_KEY)?;
    let text = std::str::from_utf8(&bytes).ok().map(str::trim_end);
    let digits = text.and_then(update::bundle::Digest::from_hex);
    let digits = digits.ok_or_else(|| failed(path, "is no public key: 64 hexadecimal digits and nothing else"))?;
    if is_small_order(&digits.0) {
        return Err(failed(path, "is no public key: a point of small order, under which anybody can sign"));
    }
    Ok(PublicKey(digits.0))
}

/// The given creation time, or that of `SOURCE_DATE_EPOCH` (reproducible-builds.org); never the clock's.
pub(in crate::cli) fn created(told: Option<u64>) -> Result<u64, Failure> {
    let variable = || std::env::var("SOURCE_DATE_EPOCH").ok()?.parse().ok();
    told.or_else(variable).ok_or_else(|| usage("say when it is made, by --created or SOURCE_DATE_EPOCH"))
}

/// How far long work is, for a [`crate::cli::bar::Bar`].
pub(in crate::cli) fn mebibytes(done: u64, total: u64) -> String {
    format!("{} of {} MiB", done >> 20, total >> 20)
}

/// Warns that devices refuse a release created later than tomorrow. Only a warning: an offline machine's clock may be
/// wrong.
pub(in crate::cli) fn warn_of_future(created: u64) {
    if created > now().saturating_add(update::AHEAD) {
        eprintln!(
            "warning: it says that it was made at {}, and it is {} here: devices refuse it until then",
            shown(created),
            shown(now())
        );
    }
}
