//! Names of fleets and devices, each a token of a broker's subject.

use base::error::ToolError;

pub use base::dns_label::{MAX_LABEL as MAX_NAME, is_label as is_name};

/// Checks the name of a `what`, such as "device".
///
/// # Errors
/// `invalid_argument` saying what a name is.
pub fn check(what: &str, text: &str) -> Result<(), ToolError> {
    if is_name(text) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "the name of a {what} has 1 to {MAX_NAME} of a-z, 0-9 and \"-\", and neither begins nor ends with \"-\""
    )))
}

/// The DNS name in the certificate of a device, by which the broker knows it.
pub fn device_user(fleet: &str, device: &str) -> String {
    format!("{device}.device.{fleet}")
}

/// The DNS name in the certificate of a console.
pub fn console_user(fleet: &str, console: &str) -> String {
    format!("{console}.console.{fleet}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token_of_a_subject() {
        for name in ["a", "kitchen-2", &"a".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a.b", "a b", "*", ">", "ä", &"a".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
