//! `manage.get_server_status`: the server's version and settings, and the state of the agent (docs/contract/manage.md).

use super::sees_commands;
use crate::{
    authentication::outside::OutsideReport,
    notifications::WebhookReport,
    registry::{context::Context, listing::TOOLING_VERSION, tool::Tool},
    services::Services,
    tools::{common_status::CommonStatus, halted::HaltedBy, none::NoArgs},
};
use agent::{
    self, Ask, PowerAction,
    operations::{asks::ListAsks, status::GetStatus},
    power::{PastPower, PowerOutcome},
};
use base::{clock, error::ToolError};
use contract::{
    audit::rfc3339,
    meta::{Meta, Role},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    version: &'static str,
    /// The commit it was built from, where the build knew.
    build: Option<&'static str>,
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    uptime_seconds: u64,
    /// The settings in force, without secrets.
    #[schemars(with = "serde_json::Map<String, Value>")]
    config_summary: Value,
    /// Parts of the configuration that were set aside; while there are any, only the fundamental tier runs.
    config_faults: Vec<String>,
    agent: AgentState,
    audit: AuditState,
    /// Who is connected, but over stdio. For an admin; absent if nobody is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Connected>")]
    connections: Vec<Connected>,
    /// Who halted the machine, when and why: every change is refused. Absent unless it is halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HaltedBy")]
    halted: Option<HaltedBy>,
    /// Of the newest update; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CommonStatus")]
    last_update: Option<CommonStatus>,
    /// What became of news for the owner; absent without a webhook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<WebhookReport>")]
    notifications: Vec<WebhookReport>,
    /// Requests from beyond this machine to the listener on loopback, through a tunnel or a proxy. For an admin; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OutsideReport")]
    outside: Option<OutsideReport>,
}

/// A caller with open connections.
#[derive(Serialize, JsonSchema)]
struct Connected {
    /// A principal, or `owner:` and the owner of several credentials.
    caller: String,
    count: usize,
}

/// The privileged half.
#[derive(Serialize, JsonSchema)]
struct AgentState {
    reachable: bool,
    /// Why not, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// In this process, before a simulated board.
    in_process: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    version: Option<String>,
    /// Calls that wait for a person.
    pending_asks: usize,
    /// These calls: all for an admin, otherwise your own. Absent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<WaitingAsk>")]
    asks: Vec<WaitingAsk>,
    /// The reboot or shutdown that is scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NextPower")]
    next_power: Option<NextPower>,
    /// How the last scheduled reboot or shutdown ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LastPower")]
    last_power: Option<LastPower>,
    /// What it found wrong when it started.
    faults: Vec<String>,
}

/// A call that waits for a person's answer.
#[derive(Serialize, JsonSchema)]
struct WaitingAsk {
    ask_id: String,
    tool: String,
    /// Who asks for what, in a sentence.
    summary: String,
    principal: String,
    /// Until when it can be answered.
    #[schemars(extend("format" = "date-time"))]
    expires_at: String,
}

/// A reboot or shutdown to come.
#[derive(Serialize, JsonSchema)]
struct NextPower {
    action: PowerAction,
    #[schemars(extend("format" = "date-time"))]
    at: String,
}

/// One that is past, one way or another.
#[derive(Serialize, JsonSchema)]
struct LastPower {
    action: PowerAction,
    /// done; simulated; cancelled; overtaken by another restart; missed, since the agent was away; or failed.
    outcome: PowerOutcome,
    /// When it was to be.
    #[schemars(extend("format" = "date-time"))]
    scheduled_for: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

impl From<PastPower> for LastPower {
    fn from(past: PastPower) -> Self {
        Self {
            action: past.scheduled.action,
            outcome: past.outcome,
            scheduled_for: rfc3339(past.scheduled.at_ms),
            note: past.note,
        }
    }
}

/// Whether calls can be recorded. Without that, no write is done.
#[derive(Serialize, JsonSchema)]
struct AuditState {
    ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// Where a damaged store was put when this server started; the record of calls began anew then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    set_aside: Option<String>,
    /// What the agent misses of the record, or why it does not follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    doubt: Option<String>,
}

pub struct GetServerStatus;

impl Tool for GetServerStatus {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.get_server_status",
        title: "Server status",
        description: "Version, settings and health of this server and its privileged half.\n\nUse when: a tool is off or unavailable.\n\nReturns: version, start, settings without secrets and their faults, agent, audit, last update.",
        estimated_tokens: 900,
        tags: &["server", "configuration"],
        resource_uri: Some("raspi://server"),
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let services = &cx.services;
        let agent = match services.agent.get::<GetStatus>().await {
            Ok(status) => AgentState {
                faults: [status.differences(&services.settings.places), status.faults.clone()].concat(),
                reachable: true,
                reason: None,
                in_process: matches!(services.agent, agent::AgentLink::InProcess(_)),
                version: Some(status.version),
                pending_asks: status.pending_asks,
                asks: if status.pending_asks > 0 { waiting(cx).await } else { Vec::new() },
                next_power: status.power.map(|next| NextPower { action: next.action, at: rfc3339(next.at_ms) }),
                last_power: status.last_power.map(LastPower::from),
            },
            Err(error) => AgentState {
                reachable: false,
                reason: Some(error.advice()),
                in_process: false,
                version: None,
                pending_asks: 0,
                asks: Vec::new(),
                next_power: None,
                last_power: None,
                faults: Vec::new(),
            },
        };
        let audit = services.audit.check();
        let update = services.updates.overview().await.summary;
        Ok(Out {
            version: TOOLING_VERSION,
            build: option_env!("RASPI_MCP_BUILD"),
            started_at: clock::stamp(services.started),
            uptime_seconds: u64::try_from((OffsetDateTime::now_utc() - services.started).whole_seconds()).unwrap_or(0),
            config_summary: summary(services, sees_commands(&cx.caller)),
            config_faults: services.settings.restricted.iter().cloned().chain(services.policy.fault()).collect(),
            last_update: update.phase.map(|_| CommonStatus::from(&update)),
            notifications: services.notifications.reports(),
            outside: (cx.caller.role >= Role::Admin).then(|| services.outside.report()).flatten(),
            agent,
            connections: if cx.caller.role >= Role::Admin { connected(services) } else { Vec::new() },
            halted: services.halt.standing().map(HaltedBy::from),
            audit: AuditState {
                ok: audit.is_ok(),
                reason: audit.err().as_ref().map(ToolError::advice),
                set_aside: services.audit.set_aside().await.map(|path| path.display().to_string()),
                doubt: services.audit.doubt(),
            },
        })
    }
}

fn connected(services: &Services) -> Vec<Connected> {
    let connections = services.connections().into_iter();
    connections.map(|(caller, count)| Connected { caller: caller.to_string(), count }).collect()
}

/// The asks that this caller may see, as in the audit. Those who may answer see the arguments too, elsewhere.
async fn waiting(cx: &Context) -> Vec<WaitingAsk> {
    let asks = cx.services.agent.get::<ListAsks>().await.unwrap_or_default();
    let may_see = |ask: &Ask| cx.caller.role >= Role::Admin || cx.caller.principal == ask.request.principal;
    let shown = |Ask { id, request, expires_ms, .. }: Ask| WaitingAsk {
        ask_id: id,
        tool: request.tool,
        summary: request.summary,
        principal: request.principal,
        expires_at: rfc3339(expires_ms),
    };
    asks.into_iter().filter(may_see).map(shown).collect()
}

/// The settings in force: tokens, `[tools]` and `[policy]` in their current state, since they can change while the
/// server runs. `commands`: with the patterns of `exec.commands`, else with their names only.
fn summary(services: &Services, commands: bool) -> Value {
    let (mut summary, policy) = (services.settings.summary(), services.policy.get());
    summary["tools"] = json!({ "enable": policy.enabled, "disable": policy.disabled, "allow": policy.grants });
    summary["policy"] = json!(policy.modes);
    if !commands {
        let names: Vec<&str> = services.settings.exec.commands.iter().map(|command| command.name.as_str()).collect();
        summary["exec"]["commands"] = json!(names);
    }
    summary["access"]["tokens"] = services.tokens.summary();
    summary
}
