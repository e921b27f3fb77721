//! What applies plans, and takes them back: a person approves the changes themselves.

use super::*;
use crate::routeros::plans::{apply, rollback, rollback_subject, subject};

const fn applied(name: &'static str, catalogue: &'static str, title: &'static str) -> RouterTool {
    RouterTool {
        description: "Apply a plan of this kind to its routers, one after another.\n\nUse when: its plan was reviewed.\n\nReturns: the job with each router's result.\n\nNote: a person approves these changes first. A router takes them back unless it is still reached; the first failure ends the job.",
        tags: &["routeros", "plan"],
        tier: Tier::Professional,
        phase: 4,
        effect: Effect::Write { destructive: true, idempotent: false },
        asks: true,
        timeout_seconds: 600,
        estimated_tokens: 600,
        args: ARGS,
        output: JOB,
        ..read(name, catalogue, title, Run::Asked(subject, apply))
    }
}

const PLAN_ID: Arg = need(
    "plan_id",
    ArgKind::Pattern(40, "^plan-[0-9a-f]+$", "plan-0a1b2c3d4e5f6071"),
    "From the tool that made the plan.",
);
const TOKEN: Arg = may("approval_token", ArgKind::Text(1, 500), "Always refused: a person approves.");
const BATCH: Arg = or("batch_size", ArgKind::Integer(1, 100), "5", "Routers between pauses.");
const PAUSE: Arg = or("batch_pause_seconds", ArgKind::Integer(0, 600), "30", "Between two batches.");
const ARGS: &[Arg] = &[PLAN_ID, BATCH, PAUSE, TOKEN];

const JOB: &[Out] = &[
    out("plan_id", OutKind::Text),
    out("job_id", OutKind::Text),
    out("status", OutKind::Text),
    out("changed", OutKind::Changed),
    out("total_devices", OutKind::Integer),
    out("successful", OutKind::Integer),
    out("failed", OutKind::Integer),
    out("untouched", OutKind::Integer),
    out(
        "results",
        OutKind::Objects(&[
            out("device_id", OutKind::Text),
            out("status", OutKind::Text),
            out("changed", OutKind::Changed),
            maybe("error", OutKind::Text),
            maybe("snapshot_before", OutKind::Text),
            maybe("snapshot_after", OutKind::Text),
            maybe("execution_time_ms", OutKind::Integer),
        ]),
    ),
];

pub const TOOLS: &[RouterTool] = &[
    applied("routeros.apply_routing_plan", "", "Apply a routing plan"),
    applied("routeros.apply_firewall_plan", "", "Apply a firewall plan"),
    applied("routeros.apply_dhcp_plan", "", "Apply a DHCP plan"),
    applied("routeros.apply_bridge_plan", "", "Apply a bridge plan"),
    applied("routeros.apply_wireless_plan", "", "Apply a wireless plan"),
    RouterTool {
        listed: true,
        ..applied("routeros.config_apply_dns_ntp_rollout", "config/apply-dns-ntp-rollout", "Apply a DNS and NTP plan")
    },
    applied("routeros.config_apply_address_list_sync", "config/apply-address-list-sync", "Apply an address list plan"),
    RouterTool {
        description: "Take an applied plan back on the routers where it was done.\n\nUse when: what a plan did turns out to be wrong.\n\nReturns: the job with each router's result.\n\nNote: a person approves the changes that take it back; they are confirmed or taken back like those of any plan.",
        args: &[
            PLAN_ID,
            need("reason", ArgKind::Text(1, 500), "Why: shown to the person who approves."),
            BATCH,
            PAUSE,
            TOKEN,
        ],
        run: Run::Asked(rollback_subject, rollback),
        ..applied("routeros.config_rollback_plan", "", "Take a plan back")
    },
];
