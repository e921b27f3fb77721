//! What was read of a router to make a plan: menus, each as it was in one moment.

use super::super::{client::RouterClient, plan::Menus};
use base::error::{ErrorCode, ToolError};
use futures::future::join_all;
use serde_json::Value;

/// What is known of one router.
pub struct Seen {
    pub device: String,
    pub menus: Menus,
}

impl Seen {
    /// Reads menus side by side; those that this router does not have are left out.
    ///
    /// # Errors
    /// See [`super::super::failure`].
    pub async fn read(client: &RouterClient, menus: &[&str]) -> Result<Self, ToolError> {
        let read = menus.iter().map(|menu| async move {
            // Some fields of a menu alone: `menu?.proplist=name`.
            let name = menu.split('?').next().unwrap_or(menu);
            match client.get(menu).await {
                Err(error) if matches!(error.code, ErrorCode::CapabilityMissing | ErrorCode::NotFound) => Ok(None),
                answered => answered.map(|answer| Some((name.to_owned(), answer))),
            }
        });
        let read: Result<Vec<_>, ToolError> = join_all(read).await.into_iter().collect();
        Ok(Self { device: client.device().id.clone(), menus: read?.into_iter().flatten().collect() })
    }

    /// The version, if tools may write to it. `system/resource` has to be read.
    ///
    /// # Errors
    /// `capability_missing` for one that is older than 7.9.
    pub fn version(&self) -> Result<&str, ToolError> {
        let version = self.text("system/resource", "version");
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
        if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (7, 9) {
            return Ok(version);
        }
        Err(ToolError::missing(format!(
            "the router {} runs RouterOS {version}; tools change 7.9 and newer",
            self.device
        ))
        .with("device_id", self.device.as_str())
        .with("mcp_error_code", "DEVICE_UNSUPPORTED"))
    }

    pub fn has(&self, menu: &str) -> bool {
        self.menus.contains_key(menu)
    }

    /// The rows of a menu; none if the router does not have it.
    pub fn rows(&self, menu: &str) -> impl Iterator<Item = &Value> {
        self.menus.get(menu).and_then(Value::as_array).into_iter().flatten()
    }

    /// A field of a singleton.
    pub fn text(&self, menu: &str, field: &str) -> &str {
        self.menus.get(menu).map(|row| text(row, field)).unwrap_or_default()
    }

    /// The row whose `field` is `value`.
    pub fn row(&self, menu: &str, field: &str, value: &str) -> Option<&Value> {
        self.rows(menu).find(|row| row[field] == value)
    }

    /// `failed_precondition` about this router.
    pub fn refusal(&self, why: impl Into<String>) -> ToolError {
        ToolError::precondition(format!("the router {}: {}", self.device, why.into()))
            .with("device_id", self.device.as_str())
            .with("mcp_error_code", "UNSAFE_OPERATION")
    }
}

/// A field of a row; empty if it is absent.
pub fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

pub fn is_on(row: &Value) -> bool {
    row["disabled"] != "true"
}
