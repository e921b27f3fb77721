//! Who a message of a device has to be from, and how it is judged.

use crate::signed;
use base::{
    error::{ErrorCode, ToolError},
    signing::PublicKey,
};
use serde::de::DeserializeOwned;

/// What is known of the sender of a message.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    pub fleet: &'a str,
    /// The name in the subject that the message came on.
    pub name: &'a str,
    /// The registered key of the device's agent.
    pub key: &'a PublicKey,
    /// The registered device id: SHA-256 of that key, in 64 hexadecimal digits.
    pub device: &'a str,
    /// The sequence of the last message of this kind that counted; 0 for none.
    pub after: u64,
}

/// What each message of a device says of its sender.
pub trait FromDevice: DeserializeOwned {
    const PURPOSE: &'static str;
    /// Longest message, in bytes, with its signature.
    const LIMIT: usize;
    /// Its purpose, fleet, name, device id and sequence.
    fn sender(&self) -> (&str, &str, &str, &str, u64);
}

impl Expected<'_> {
    /// Reads a message, if it is this device's and newer than the last one.
    ///
    /// # Errors
    /// `verification_failed` for a message of another key, fleet, name or device, and for one that is not newer;
    /// `invalid_argument` for a document of another form.
    pub fn read<T: FromDevice>(&self, message: &[u8]) -> Result<T, ToolError> {
        let document: T = signed::read(T::PURPOSE, message, T::LIMIT, self.key)?;
        let (purpose, fleet, name, device, sequence) = document.sender();
        let wrong = if purpose != T::PURPOSE {
            "it has another purpose"
        } else if fleet != self.fleet {
            "it is of another fleet"
        } else if name != self.name {
            "it names another device than its subject"
        } else if device != self.device {
            "it has another device id than the registered one"
        } else if sequence <= self.after {
            "it is not newer than the last one"
        } else {
            return Ok(document);
        };
        Err(ToolError::new(
            ErrorCode::VerificationFailed,
            format!("a {} of {} does not count: {wrong}", T::PURPOSE, self.name),
        ))
    }
}
