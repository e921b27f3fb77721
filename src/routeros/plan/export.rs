//! `/export` as it is kept of a plan: without the lines that say when it was made.

use super::super::{client::RouterClient, reads::export};
use base::error::ToolError;

/// The whole configuration, without secrets.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn export(client: &RouterClient) -> Result<String, ToolError> {
    let text = export::text(client).await?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n"))
}
