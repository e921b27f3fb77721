//! What the server that runs on this machine tells of itself: `doctor`, and `tools --policy`.

use crate::{authentication::outside::OutsideReport, notifications::WebhookReport};
use base::{error::ToolError, os::local};
use contract::{
    access::policy::Policy,
    config::{Grant, PlaceSettings, ROUTERS_NAMESPACE, recovers},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

/// Timeout for an answer about status. Whoever has not answered by then is taken to hang.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The server's answer to `manage.get_server_status`.
pub struct Running {
    pub version: String,
    status: Value,
}

impl Running {
    /// Asks the server on this socket.
    ///
    /// # Errors
    /// `unavailable` if none answers there or its answer has no version, `timeout` after [`PATIENCE`].
    pub async fn ask(socket: &Path) -> Result<Self, ToolError> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "manage.get_server_status", "params": {}});
        let answer = tokio::time::timeout(PATIENCE, local::request(socket, &request)).await;
        let mut answer = answer.unwrap_or_else(|_| Err(ToolError::timeout("the server", PATIENCE)))?;
        let status = answer["result"].take();
        if let Some(version) = status["version"].as_str().map(str::to_owned) {
            return Ok(Self { version, status });
        }
        let why = answer["error"]["message"].as_str().unwrap_or("its answer has no version");
        let says = format!("the server on {} does not tell how it is: {why}", socket.display());
        Err(ToolError::unavailable(says).hint("look at: journalctl -u raspi-mcp"))
    }

    /// Its places; `None` if it does not report them.
    pub fn places(&self) -> Option<PlaceSettings> {
        self.setting("places")
    }

    /// What became of its messages for the owner.
    pub fn webhooks(&self) -> Vec<WebhookReport> {
        serde_json::from_value(self.status["notifications"].clone()).unwrap_or_default()
    }

    /// Requests from beyond this machine to its listener on loopback.
    pub fn outside(&self) -> Option<OutsideReport> {
        read(&self.status["outside"])
    }

    /// Whether it has routers.
    pub fn has_routers(&self) -> bool {
        self.names("routeros").next().is_some()
    }

    /// Its policy, with what `raspi-mcp allow` granted since its start; `None` if it does not report it.
    pub fn policy(&self) -> Option<Policy> {
        let tools = &self.status["config_summary"]["tools"];
        let enabled: Vec<String> = read(&tools["enable"])?;
        let routers = self.has_routers().then(|| ROUTERS_NAMESPACE.to_owned());
        let faults = self.status["config_faults"].as_array().map_or(&[][..], Vec::as_slice);
        Some(Policy {
            environment: self.setting("environment")?,
            enabled: enabled.into_iter().chain(self.names("agents")).chain(routers).collect(),
            disabled: read(&tools["disable"])?,
            modes: self.setting("policy")?,
            grants: read::<Vec<Grant>>(&tools["allow"])?,
            restricted: !faults.is_empty(),
            recovers: recovers(faults.iter().map(|fault| fault.as_str().unwrap_or_default())),
        })
    }

    fn setting<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        read(&self.status["config_summary"][key])
    }

    /// The names in a list of declared agents or routers.
    fn names(&self, key: &str) -> impl Iterator<Item = String> {
        let list = self.status["config_summary"][key].as_array();
        list.into_iter().flatten().filter_map(|each| each.as_str().or(each["name"].as_str()).map(str::to_owned))
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}
