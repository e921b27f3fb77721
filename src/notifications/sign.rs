//! The signature of a message, by which its receiver knows who sent it, and when (docs/notifications.md).

use base::canonical::hex;
use ring::hmac;

/// Header with the time of the attempt, in seconds since 1970 UTC. A receiver refuses one that is minutes old.
pub const TIMESTAMP: &str = "X-Raspi-MCP-Timestamp";
/// Header with the signature.
pub const SIGNATURE: &str = "X-Raspi-MCP-Signature";
/// Bytes of a key (RFC 2104 advises the length of the hash, 32; shorter ones are guessed).
const SHORTEST: usize = 16;
const LONGEST: usize = 1024;

/// `sha256=` and the HMAC-SHA256, in hexadecimal digits, of time, full stop and body.
pub fn signature(key: &[u8], timestamp: i64, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    context.update(timestamp.to_string().as_bytes());
    context.update(b".");
    context.update(body);
    format!("sha256={}", hex(context.sign().as_ref()))
}

/// The key in a file: its text without white space around it.
///
/// # Errors
/// What is wrong with it, without repeating it.
pub fn key(text: &str) -> Result<String, &'static str> {
    let key = text.trim();
    if (SHORTEST..=LONGEST).contains(&key.len()) {
        return Ok(key.to_owned());
    }
    Err("it holds no key of 16 to 1024 bytes; \"openssl rand -hex 32\" makes one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_openssl_makes() {
        // printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
        let expected = "sha256=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23";
        assert_eq!(signature(b"0123456789abcdef", 1_700_000_000, br#"{"a":1}"#), expected);
    }

    #[test]
    fn a_key_is_long_enough_to_be_one() {
        assert_eq!(key(" 0123456789abcdef\n").as_deref(), Ok("0123456789abcdef"));
        assert!(key("0123456789abcde\n").is_err() && key(&"x".repeat(1025)).is_err());
    }
}
