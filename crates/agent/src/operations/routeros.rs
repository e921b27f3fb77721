//! What the process that talks to routers asks for: the routers it has, and leave for each write.

use super::{Done, Operation};
use crate::{authorization::Authorization, context::Context, peer::Callers};
use base::{canonical, error::ToolError};
use contract::{
    config::{RouterSetting, sections::routeros::write_tier},
    meta::Environment,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is asked about the routers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutersRequest {}

/// The routers as the owner configured them, without their passwords.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterList {
    /// What this machine is used for: it changes no router of a stricter environment.
    pub environment: Environment,
    pub routers: Vec<RouterSetting>,
}

/// The routers of the configuration. That process reads no configuration itself: parts of it are for the server's user.
pub struct ListRouters;

impl Operation for ListRouters {
    const TAG: &'static str = "list_routers";
    const ANSWER: &'static str = "routers";
    const CALLERS: Callers = Callers::Routers;
    type Request = RoutersRequest;
    type Answer = RouterList;

    async fn run(cx: &Context<'_>, _request: RoutersRequest) -> Result<RouterList, ToolError> {
        Ok(RouterList { environment: cx.settings.environment, routers: cx.settings.routers.clone() })
    }
}

/// A write to routers, just before it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterWrite {
    pub tool: String,
    /// What a person is shown of it: for a plan its hash and its changes, else the arguments. It names the routers, as
    /// `device_id`, `device_ids` or `devices[].device_id`.
    pub subject: Value,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Leave for one write, by the policy and, where that says `ask`, by an approval of exactly this subject, which is used
/// up. The server cannot ask for it, so what it says of a call or of a plan counts nothing here.
pub struct AuthorizeRouterWrite;

impl Operation for AuthorizeRouterWrite {
    const TAG: &'static str = "authorize_router_write";
    const ANSWER: &'static str = "done";
    const CALLERS: Callers = Callers::Routers;
    type Request = RouterWrite;
    type Answer = Done;

    fn was_shown(request: &RouterWrite, args: &Value) -> bool {
        *args == request.subject
    }

    async fn run(cx: &Context<'_>, request: RouterWrite) -> Result<Done, ToolError> {
        let result = authorize(cx, &request).map(|()| Done {});
        // The subject of a plan for many routers is long; an approval has it, and here its hash is enough.
        let noted = json!({
            "tool": request.tool,
            "devices": devices(&request.subject),
            "subject_sha256": canonical::sha256_hex(&request.subject),
            "warrant": request.authorization,
        });
        cx.noted(Self::TAG, noted, result)
    }
}

/// The routers that a subject names.
fn devices(subject: &Value) -> Vec<&str> {
    let all = |field: &str| subject[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_plan = all("devices").iter().map(|device| &device["device_id"]);
    let named = [&subject["device_id"]].into_iter().chain(all("device_ids")).chain(of_plan);
    named.filter_map(Value::as_str).collect()
}

fn authorize(cx: &Context<'_>, request: &RouterWrite) -> Result<(), ToolError> {
    let tool = request.tool.as_str();
    let tier = write_tier(tool).ok_or_else(|| ToolError::invalid(format!("{tool} does not write to routers")))?;
    let named = devices(&request.subject);
    if named.is_empty() {
        return Err(ToolError::invalid("a write names the routers that it changes").with("parameter", "subject"));
    }
    for device in named {
        let configured = cx.settings.routers.iter().find(|router| router.name == device);
        let Some(router) = configured else {
            return Err(ToolError::not_found(format!("no router {device} is configured"))
                .with("device_id", device)
                .hint("restart raspi-mcp-agent after a change of [[routeros]]"));
        };
        if !router.allows(tier) {
            return Err(ToolError::denied(format!("the configuration of the router {device} does not allow {tool}"))
                .with("device_id", device)
                .hint("its owner sets allow_advanced or allow_professional in [[routeros]]"));
        }
    }
    cx.admit(tool, &request.authorization, |args| AuthorizeRouterWrite::was_shown(request, args))
}
