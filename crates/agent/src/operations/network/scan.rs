//! Scans for Wi-Fi networks: NetworkManager lets root alone do that.

use crate::{context::Context, operations::Operation};
use base::{
    error::ToolError,
    os::network_manager::scan::{PATIENCE, WifiScan},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const TOOL: &str = "network.scan_wifi";

/// Which adapters are to listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanRequest {
    /// `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// `false`: only what is known.
    pub rescan: bool,
}

/// Scans for Wi-Fi networks.
pub struct ScanWifi;

impl Operation for ScanWifi {
    const TAG: &'static str = "scan_wifi";
    const ANSWER: &'static str = "wifi_scan";
    const WAITS: bool = true;
    type Request = ScanRequest;
    type Answer = WifiScan;

    fn patience(_request: &ScanRequest) -> Duration {
        PATIENCE
    }

    async fn run(cx: &Context<'_>, request: ScanRequest) -> Result<WifiScan, ToolError> {
        cx.policy().check_read(TOOL)?;
        cx.connections.network.scan(request.device.as_deref(), request.rescan).await
    }
}
