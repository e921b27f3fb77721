//! What was read of a router to make a plan: menus, each as it was in one moment.

use super::{
    super::{client::RouterClient, plan::Menus},
    way,
};
use base::error::{ErrorCode, ToolError};
use futures::future::join_all;
use serde_json::Value;

/// What is known of one router.
pub struct Seen {
    pub device: String,
    pub menus: Menus,
    /// Menus of the way to the router that could not be read, with the reasons.
    pub unread: Vec<String>,
}

/// The name of a menu without the fields that are asked for: `menu?.proplist=name`.
fn name(menu: &str) -> &str {
    menu.split('?').next().unwrap_or(menu)
}

impl Seen {
    /// Reads menus side by side, and the way to the router; those that this router does not have are left out. A menu of the way alone
    /// that is denied, too long or does not answer in its time is left out as well, and said ([`Seen::unread`]).
    ///
    /// # Errors
    /// See [`super::super::failure`].
    pub async fn read(client: &RouterClient, menus: &[&'static str]) -> Result<Self, ToolError> {
        let is_needed = |menu: &str| menus.iter().any(|needed| name(needed) == name(menu));
        let mut all: Vec<(&str, bool)> = vec![("system/resource", true)];
        for menu in menus {
            if !all.iter().any(|(known, _)| known == menu) {
                all.push((menu, true));
            }
        }
        all.extend(way::MENUS.into_iter().filter(|menu| !is_needed(menu)).map(|menu| (menu, false)));
        let read = all.into_iter().map(|(menu, is_needed)| async move {
            match client.rows(menu).await {
                Err(error) if matches!(error.code, ErrorCode::CapabilityMissing | ErrorCode::NotFound) => {
                    Ok(Read::Absent)
                }
                Err(error) if !is_needed => Ok(Read::Not(format!("{}: {}", name(menu), error.message))),
                answered => answered.map(|answer| Read::Menu(name(menu).to_owned(), answer)),
            }
        });
        let read: Result<Vec<Read>, ToolError> = join_all(read).await.into_iter().collect();
        let mut seen = Self { device: client.device().id.clone(), menus: Menus::new(), unread: Vec::new() };
        for read in read? {
            match read {
                Read::Menu(name, rows) => drop(seen.menus.insert(name, rows)),
                Read::Not(why) => seen.unread.push(why),
                Read::Absent => {}
            }
        }
        Ok(seen)
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

/// What became of a menu.
enum Read {
    Menu(String, Value),
    Absent,
    Not(String),
}

/// A field of a row; empty if it is absent.
pub fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

pub fn is_on(row: &Value) -> bool {
    row["disabled"] != "true"
}
