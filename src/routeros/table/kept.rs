//! What is kept of plans, as it is shown.

use super::{plans::PLAN, *};
use crate::routeros::plans::{details, snapshot};

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show a plan: each router's changes, its state, and what became of it.\n\nUse when: a plan is to be reviewed, or a job goes on.\n\nReturns: the plan, with its job.",
        listed: true,
        tags: &["routeros", "plan"],
        resource_uri: Some("raspi://routeros/plans/{plan_id}"),
        estimated_tokens: 800,
        args: &[need(
            "plan_id",
            ArgKind::Pattern(40, "^plan-[0-9a-f]+$", "plan-0a1b2c3d4e5f6071"),
            "From the tool that made it.",
        )],
        output: PLAN,
        ..read("routeros.get_plan_details", "plan/get-details", "Show a plan for routers", Run::Call(details))
    },
    RouterTool {
        description: "Show a router's configuration as it was before or after a plan.\n\nUse when: it is to be seen what a plan did.\n\nReturns: lines of the export, without secrets.",
        tags: &["routeros", "plan"],
        resource_uri: Some("raspi://routeros/snapshots/{snapshot_id}"),
        estimated_tokens: 2000,
        args: &[
            need(
                "snapshot_id",
                ArgKind::Pattern(40, "^snap-[0-9a-f]+$", "snap-0a1b2c3d4e5f6071"),
                "From routeros.get_plan_details.",
            ),
            or("limit", ArgKind::Integer(1, 2000), "500", "Page size, in lines."),
            OFFSET,
        ],
        output: &[
            out("snapshot_id", OutKind::Text),
            out("device_id", OutKind::Text),
            out("plan_id", OutKind::Text),
            out("kind", OutKind::Text),
            out("timestamp", OutKind::Text),
            out("size_bytes", OutKind::Integer),
            out("content", OutKind::Text),
            out("total_count", OutKind::Integer),
            PAGINATION,
        ],
        ..read("routeros.get_snapshot_content", "snapshot/get-content", "Show a router's snapshot", Run::Call(snapshot))
    },
];
