//! ChaCha20-Poly1305 (RFC 8439) with ring: fast on processors without instructions for AES, as those of Pis up to the 4.

use base::error::ToolError;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Bytes of a key, a nonce and a tag.
pub(super) const KEY: usize = 32;
pub(super) const NONCE: usize = 12;
pub(super) const TAG: usize = 16;

/// The ciphertext of `plain` and its tag. A key seals with one nonce once.
///
/// # Errors
/// `internal` beyond the cipher's 256 GiB.
pub(super) fn seal(key: &[u8; KEY], nonce: [u8; NONCE], about: &[u8], plain: &[u8]) -> Result<Vec<u8>, ToolError> {
    let mut sealed = Vec::with_capacity(plain.len() + TAG);
    sealed.extend_from_slice(plain);
    let done = cipher(key).and_then(|key| {
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(about), &mut sealed).ok()
    });
    done.map(|()| sealed).ok_or_else(|| ToolError::internal("the backup cannot be sealed"))
}

/// What was sealed; `None` for another key, nonce, `about`, or altered bytes.
pub(super) fn open(key: &[u8; KEY], nonce: [u8; NONCE], about: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = sealed.to_vec();
    let plain = cipher(key)?.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(about), &mut bytes).ok()?;
    let length = plain.len();
    bytes.truncate(length);
    Some(bytes)
}

fn cipher(key: &[u8; KEY]) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, key).ok().map(LessSafeKey::new)
}
