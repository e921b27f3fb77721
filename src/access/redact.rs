//! Secrets stay out of logs, errors and audit.

/// Whether a field of this name (last segment of a path) holds a secret.
pub fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit(['/', '.']).next().unwrap_or(path).to_ascii_lowercase();
    ["token", "password", "secret", "passphrase"].iter().any(|word| name.contains(word))
}
