//! A router as its owner configured it.

use crate::client::Trust;
use std::fmt;

/// A password. It is not printed, also not by `Debug`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For the Authorization header and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A router: where it is and how it is known.
#[derive(Clone)]
pub struct Device {
    /// As tools name it: `[a-z0-9-]`, at most 63 characters.
    pub id: String,
    /// Host and port of its HTTPS (`www-ssl`), such as `192.168.88.1:443`.
    pub address: String,
    pub trust: Trust,
    pub user: String,
    pub password: Secret,
}
