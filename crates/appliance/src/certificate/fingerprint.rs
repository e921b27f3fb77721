//! A certificate's fingerprint, by which clients recognise it.

use base::canonical::hex;
use ring::digest;

/// SHA-256 of a certificate (DER), as shown by `openssl x509 -fingerprint -sha256` and browsers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, certificate).as_ref());
        Self(bytes)
    }

    /// Parses `sha256:` and 64 hexadecimal digits, with or without the colons that openssl puts between them.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.trim().strip_prefix("sha256:")?.chars().filter(|c| *c != ':').collect();
        contract::config::Sha256::from_hex(&digits).map(|hash| Self(hash.0))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_people_copy_it() {
        let shown = Fingerprint::of(b"a certificate");
        assert_eq!(Fingerprint::parse(&shown.to_string()), Some(shown));
        let digits = shown.to_string()["sha256:".len()..].to_uppercase();
        let pairs: Vec<&str> = (0..64).step_by(2).map(|at| &digits[at..at + 2]).collect();
        assert_eq!(Fingerprint::parse(&format!(" sha256:{}\n", pairs.join(":"))), Some(shown));
        for bad in ["", &digits, "sha256:", &format!("sha256:{}", &digits[2..]), &format!("sha1:{digits}")] {
            assert_eq!(Fingerprint::parse(bad), None, "{bad}");
        }
    }
}
