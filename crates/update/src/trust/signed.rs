//! A signed text: a few lines of signatures, an empty line, and the exact signed bytes. Used for roots of trust and
//! channels' indexes; bundles carry their signatures in their heads.

use super::Purpose;
use crate::bundle::{BundleError, Digest, MAX_SIGNATURES, Signature};

/// Longest signed text with its signatures, in bytes.
pub const MAX_SIGNED: usize = 1 << 20;

/// A signed text. Untrusted until [`super::RootOfTrust`] verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    pub purpose: Purpose,
    pub signatures: Vec<Signature>,
    /// The signed bytes.
    pub text: Vec<u8>,
}

impl Signed {
    /// Parses one.
    ///
    /// # Errors
    /// [`BundleError::Malformed`], [`BundleError::TooLong`].
    pub fn parse(bytes: &[u8], purpose: Purpose) -> Result<Self, BundleError> {
        let what = format!("the signed {}", purpose.name());
        let wrong = |problem: &str| BundleError::malformed(&what, problem);
        if bytes.len() > MAX_SIGNED {
            return Err(BundleError::TooLong { what, size: bytes.len() as u64, limit: MAX_SIGNED as u64 });
        }
        let mut rest =
            bytes.strip_prefix(first_line(purpose).as_bytes()).ok_or_else(|| wrong("its first line is another"))?;
        let mut signatures: Vec<Signature> = Vec::new();
        loop {
            let end = rest.iter().take(256).position(|byte| *byte == b'\n');
            let (line, after) = rest.split_at(end.ok_or_else(|| wrong("no empty line ends its signatures"))?);
            rest = &after[1..];
            if line.is_empty() {
                return Ok(Self { purpose, signatures, text: rest.to_vec() });
            }
            let signature = read_line(line).ok_or_else(|| wrong("a line is no signature"))?;
            if signatures.len() == MAX_SIGNATURES || signatures.iter().any(|other| other.key_id == signature.key_id) {
                return Err(wrong("a key has signed twice, or more than 16 keys have"));
            }
            signatures.push(signature);
        }
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut head = first_line(self.purpose);
        for Signature { key_id, signature } in &self.signatures {
            head.push_str(&format!("signature {key_id} "));
            // The two halves of 32 bytes are printed like digests.
            let mut halves = [Digest([0; 32]); 2];
            halves[0].0.copy_from_slice(&signature[..32]);
            halves[1].0.copy_from_slice(&signature[32..]);
            head.push_str(&format!("{}{}\n", halves[0], halves[1]));
        }
        head.push('\n');
        [head.as_bytes(), &self.text].concat()
    }
}

fn first_line(purpose: Purpose) -> String {
    format!("raspi-mcp {} 1\n", purpose.name())
}

fn read_line(line: &[u8]) -> Option<Signature> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let ("signature", key_id, hex, None) = (words.next()?, words.next()?, words.next()?, words.next()) else {
        return None;
    };
    let (first, second) = (hex.len() == 128 && hex.is_ascii()).then(|| hex.split_at(64))?;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&Digest::from_hex(first)?.0);
    signature[32..].copy_from_slice(&Digest::from_hex(second)?.0);
    Some(Signature { key_id: Digest::from_hex(key_id)?, signature })
}
