//! Whether an address answers at all: a trial's check, by the same rules as downloads.

use super::HttpClient;

impl HttpClient {
    /// Asks for `url` and looks at the status only.
    ///
    /// # Errors
    /// A sentence: what it answered in place of 2xx, or why it does not.
    pub async fn answers(&self, url: &str) -> Result<(), String> {
        let answer = self.client.get(url).send().await.map_err(|error| {
            // The innermost reason: the others repeat the address.
            let mut cause: &dyn std::error::Error = &error;
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            cause.to_string()
        })?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("it answers {}", status.as_u16())) }
    }
}
