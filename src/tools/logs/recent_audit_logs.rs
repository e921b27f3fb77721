//! `logs.get_recent_audit_logs`: recent calls with their callers and outcomes.

use crate::{
    audit::AuditFilter,
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
        time::Moment,
    },
};
use base::{clock, error::ToolError};
use contract::{
    access::way,
    meta::{Meta, Role},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Calls of this tool.
    tool: Option<String>,
    /// By this caller; for others you need role admin.
    principal: Option<String>,
    /// How they ended: "ok", an error_code, or "unknown" for writes without a recorded outcome.
    outcome: Option<String>,
    /// Not before this time.
    since: Option<Moment>,
    /// Before this time.
    until: Option<Moment>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Newest first.
    entries: Vec<Shown>,
    /// Whose calls these are: your own, or everybody's (admin).
    scope: Scope,
    /// Records of this page that could not be read; `raspi-mcp audit verify` says why.
    unreadable: u32,
    /// The page has fewer records than asked for, as many as fit one answer: go on at pagination.next_offset.
    truncated: bool,
    pagination: Pagination,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

/// Most bytes of records on one page, regardless of the limit for answers: several callers may query concurrently.
const PAGE_BYTES: usize = 256 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Scope {
    Own,
    All,
}

/// One call.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Shown {
    /// Its number in the audit.
    seq: u64,
    /// When it ended, RFC 3339 in UTC.
    #[serde(alias = "ts")]
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    principal: String,
    /// Whose credential that is, where the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    owner: Option<String>,
    /// The caller's role; absent when it never got one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    role: Option<String>,
    /// The way it came in: stdio, http, ws, unix or dbus.
    door: String,
    tool: String,
    /// Without secrets, and shortened.
    args: Map<String, Value>,
    /// Of the arguments as they came.
    args_sha256: String,
    /// "ok", the error_code, or "unknown": it was recorded before it was done, and nothing after.
    outcome: String,
    /// So many calls ended so, which have no records of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<String>,
    duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    correlation_id: Option<String>,
    /// Who let it through, where a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Approved")]
    approval: Option<Approved>,
    /// The answer came from a simulated part.
    simulated: bool,
    /// "unknown": it was interrupted before it could say.
    changed: Changed,
    /// The outcome of a call that had gone on after its answer; its request_id names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "bool")]
    later: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Changed {
    Known(bool),
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Unknown {
    Unknown,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Approved {
    ask_id: String,
    by: String,
    how: String,
}

pub struct GetRecentAuditLogs;

impl Tool for GetRecentAuditLogs {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "logs.get_recent_audit_logs",
        title: "Recent audit records",
        description: "Recent calls: who called which tool with what, and how it ended.\n\nUse when: you ask what was done here, or why a call was refused.\n\nReturns: records, newest first, without secrets.",
        estimated_tokens: 4000,
        paginated: true,
        tags: &["audit", "history"],
        resource_uri: Some("raspi://audit"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let own = &cx.caller.principal;
        let scope = if cx.caller.role >= Role::Admin { Scope::All } else { Scope::Own };
        let principal = match (scope, args.principal) {
            (Scope::Own, Some(other)) if other != *own => {
                return Err(ToolError::denied("the calls of others are for admins to see")
                    .with("parameter", "principal")
                    .with("required_role", Role::Admin.name())
                    .hint(format!(
                        "leave principal out to see your own; {}",
                        way::to_a_role(&cx.caller, Role::Admin)
                    )));
            }
            (Scope::Own, _) => Some(own.clone()),
            (Scope::All, principal) => principal,
        };
        let given = [
            ("tool", args.tool.is_some()),
            ("principal", scope == Scope::All && principal.is_some()),
            ("outcome", args.outcome.is_some()),
            ("since", args.since.is_some()),
            ("until", args.until.is_some()),
        ];
        let filter = AuditFilter {
            tool: args.tool,
            principal,
            outcome: args.outcome,
            since_ms: args.since.map(|moment| clock::millis(moment.0)),
            until_ms: args.until.map(|moment| clock::millis(moment.0)),
        };
        let limit = u32::try_from(args.limit.get()).unwrap_or(u32::MAX);
        let most = PAGE_BYTES.min(cx.services.settings.limits.max_response_bytes / 2);
        let page = cx.services.audit.page(filter, limit, args.offset.get() as u64, most).await?;
        let (returned, total, truncated) = (page.records.len(), page.total, page.cut);
        let entries: Vec<Shown> =
            page.records.into_iter().filter_map(|record| serde_json::from_str(&record).ok()).collect();
        let unreadable = u32::try_from(returned - entries.len()).unwrap_or(u32::MAX);
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let pagination = Pagination::at(args.limit, args.offset, returned, total);
        let none = || {
            (pagination.total_count == 0).then(|| {
                let others = if scope == Scope::Own { " (those of others are for admins)" } else { "" };
                format!("{}{others}", empty::narrowed("records", &given))
            })
        };
        let note = empty::beyond(&pagination).or_else(none);
        Ok(Out { entries, scope, unreadable, truncated, pagination, note })
    }
}
