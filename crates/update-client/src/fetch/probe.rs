//! Checks whether an address answers, for a trial, by the same rules as downloads.

use super::HttpClient;

impl HttpClient {
    /// Requests `url` and checks only the status.
    ///
    /// # Errors
    /// A sentence: the status if it is not 2xx, or why there is no answer.
    pub async fn answers(&self, url: &str) -> Result<(), String> {
        let answer = self.client.get(url).send().await.map_err(|error| {
            // The innermost error; the others repeat the address.
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
