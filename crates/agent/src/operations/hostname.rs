//! Sets the host name.

use super::Operation;
use crate::{authorization::Authorization, context::Context, hostname};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const TOOL: &str = "system.set_hostname";

/// The new host name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostnameRequest {
    /// One label of RFC 1123 in lower case.
    pub hostname: String,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hostname {
    pub previous: String,
    pub simulated: bool,
}

/// Sets the host name, now and for every later start.
pub struct SetHostname;

impl Operation for SetHostname {
    const TAG: &'static str = "set_hostname";
    const ANSWER: &'static str = "hostname";
    const CHANGES: bool = true;
    type Request = HostnameRequest;
    type Answer = Hostname;

    fn was_shown(request: &HostnameRequest, args: &Value) -> bool {
        args.get("hostname") == Some(&json!(request.hostname))
    }

    async fn run(cx: &Context<'_>, request: HostnameRequest) -> Result<Hostname, ToolError> {
        let result = set(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn set(cx: &Context<'_>, request: &HostnameRequest) -> Result<Hostname, ToolError> {
    cx.policy().check(TOOL)?;
    let previous = cx.machine.hostname()?;
    hostname::check(&request.hostname)?;
    if !request.dry_run {
        cx.admit(TOOL, &request.authorization, |args| SetHostname::was_shown(request, args))?;
        cx.machine.set_hostname(&request.hostname).await.map_err(ToolError::maybe_changed)?;
    }
    Ok(Hostname { previous, simulated: cx.simulated })
}
