//! The syntax of the texts in a provisioning file.

pub const HOST: &str = "a host name: 1 to 63 characters from a-z, 0-9 and \"-\", with no \"-\" at either end";
pub const SSID: &str = "the network's name: 1 to 32 bytes without control characters";
pub const PASSPHRASE: &str = "8 to 63 printable ASCII characters";
pub const PSK: &str = "the 64 hexadecimal digits of the key";
pub const COUNTRY: &str = "two capital letters like \"DE\"";

/// A label of RFC 1123, in lower case.
pub fn host(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-') && !text.ends_with('-')
}

/// IEEE 802.11 allows any 32 bytes; control characters are refused, because nobody means them.
pub fn ssid(text: &str) -> bool {
    (1..=32).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// IEEE 802.11i, annex H.4.
pub fn passphrase(text: &str) -> bool {
    (8..=63).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

pub fn psk(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub fn country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}
