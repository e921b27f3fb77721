//! `/metrics`: this server, its process and its machine, for Prometheus.
//!
//! Every caller that may call tools may read it: it shows no more than `manage.get_server_status`, the health snapshot and
//! the other reads of `system.*`, and leaves the machine out where policy does not let `system:health` run. Names that begin with `node_` are those of node_exporter.
//! Numbers that cannot be read are omitted, never 0.

use super::App;
use crate::{
    metrics::{
        RefusalReason, node,
        text::{CONTENT_TYPE, MetricType, MetricsText},
    },
    registry::listing::TOOLING_VERSION,
    services::Services,
};
use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
    response::IntoResponse,
};
use base::os::{file_systems, own};
use hw::temperature;

/// Where it is.
pub const PATH: &str = "/metrics";

/// The page.
pub async fn page(app: &App) -> Response<Body> {
    let services = &app.server.pipeline.services;
    let mut text = MetricsText::default();
    calls(app, &mut text);
    http(app, &mut text);
    audit(services, &mut text);
    process(services, &mut text);
    // The machine's numbers are what the health snapshot reads.
    if services.policy.get().shows(PATH, "system:health") {
        machine(services, &mut text).await;
    }
    ([(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE))], text.done()).into_response()
}

fn calls(app: &App, text: &mut MetricsText) {
    let counted: Vec<_> = app.server.metrics.called_tools().collect();
    text.family("raspi_mcp_calls_total", MetricType::Counter, "Tool calls that ended, by tool and outcome.");
    for tool in &counted {
        for (outcome, count) in tool.outcomes() {
            text.sample("raspi_mcp_calls_total", &[("tool", tool.name), ("outcome", outcome)], count);
        }
    }
    text.family("raspi_mcp_call_duration_seconds", MetricType::Histogram, "How long tool calls took, waits included.");
    for tool in &counted {
        for (bound_us, count) in tool.within() {
            let bound = (bound_us as f64 / 1e6).to_string();
            text.sample("raspi_mcp_call_duration_seconds_bucket", &[("tool", tool.name), ("le", &bound)], count);
        }
        let calls = tool.calls();
        text.sample("raspi_mcp_call_duration_seconds_bucket", &[("tool", tool.name), ("le", "+Inf")], calls);
        text.sample("raspi_mcp_call_duration_seconds_sum", &[("tool", tool.name)], tool.total().as_secs_f64());
        text.sample("raspi_mcp_call_duration_seconds_count", &[("tool", tool.name)], calls);
    }
    let load = app.server.pipeline.load();
    text.single("raspi_mcp_calls_running", MetricType::Gauge, "Tool calls that run now.", load.running);
    text.single(
        "raspi_mcp_calls_waiting",
        MetricType::Gauge,
        "Tool calls that wait for a place to run in.",
        load.waiting,
    );
    text.single("raspi_mcp_streams_running", MetricType::Gauge, "Approvals, long waits and streams.", load.streams);
}

fn http(app: &App, text: &mut MetricsText) {
    let sessions = app.mcp.sessions.count();
    text.single("raspi_mcp_http_sessions", MetricType::Gauge, "Open MCP sessions over HTTP.", sessions);
    let subscriptions = app.server.subscriptions.count();
    text.single(
        "raspi_mcp_subscriptions",
        MetricType::Gauge,
        "Subscriptions to resources and to the log.",
        subscriptions,
    );
    let help = "HTTP requests turned away before there was a call, by reason.";
    text.family("raspi_mcp_http_refused_total", MetricType::Counter, help);
    for reason in RefusalReason::ALL {
        let count = app.server.metrics.refusals(reason);
        text.sample("raspi_mcp_http_refused_total", &[("reason", reason.name())], count);
    }
}

fn audit(services: &Services, text: &mut MetricsText) {
    let backlog = services.audit.backlog();
    let ok = u8::from(services.audit.check().is_ok());
    text.single(
        "raspi_mcp_audit_ok",
        MetricType::Gauge,
        "1 while calls can be recorded; without that no write is done.",
        ok,
    );
    text.single("raspi_mcp_audit_waiting", MetricType::Gauge, "Reads that wait to be recorded.", backlog.records);
    text.single("raspi_mcp_audit_lost", MetricType::Gauge, "Reads not recorded since the last success.", backlog.lost);
}

fn process(services: &Services, text: &mut MetricsText) {
    let labels = [("version", TOOLING_VERSION), ("commit", option_env!("RASPI_MCP_BUILD").unwrap_or(""))];
    text.family("raspi_mcp_build_info", MetricType::Gauge, "Always 1; the labels say which build this is.");
    text.sample("raspi_mcp_build_info", &labels, 1);
    let started = services.started.unix_timestamp_nanos() as f64 / 1e9;
    text.single("process_start_time_seconds", MetricType::Gauge, "When the server started, in Unix time.", started);
    let used = own::cpu_time().as_secs_f64();
    text.single("process_cpu_seconds_total", MetricType::Counter, "Processor time used.", used);
    if let Ok(own) = own::read(&services.machine.root) {
        text.single("process_resident_memory_bytes", MetricType::Gauge, "Resident memory.", own.resident);
        text.single("process_open_fds", MetricType::Gauge, "Open file descriptors.", own.descriptors);
        text.single("process_threads", MetricType::Gauge, "Threads.", own.threads);
    }
}

/// Under our names and under those of node_exporter; the labels are the same.
fn disks(services: &Services, text: &mut MetricsText) {
    let Ok(found) = file_systems::read(&services.machine.root) else { return };
    let families: [(&str, &str, node::Figure); 3] = [
        ("raspi_mcp_filesystem_size_bytes", "Size of a file system on a device of this machine.", |space, _| {
            space.total
        }),
        ("raspi_mcp_filesystem_used_bytes", "Used of it, root's reserve not counted.", |space, _| space.used),
        ("raspi_mcp_filesystem_avail_bytes", "Free in it for others than root.", |space, _| space.free),
    ];
    for (family, help, value) in families.into_iter().chain(node::FILE_SYSTEM) {
        text.family(family, MetricType::Gauge, help);
        for (about, space) in &found.file_systems {
            let Some(Ok(space)) = space else { continue };
            let mount_point = about.mount_point.to_string_lossy();
            let labels =
                [("device", about.device.as_str()), ("fstype", about.kind.as_str()), ("mountpoint", &mount_point)];
            text.sample(family, &labels, value(space, about.read_only));
        }
    }
}

async fn machine(services: &Services, text: &mut MetricsText) {
    let machine = &services.machine;
    let simulated = u8::from(machine.board.is_simulated());
    text.single("raspi_mcp_board_simulated", MetricType::Gauge, "1 when the board's numbers are made up.", simulated);
    if let Ok(Some(reading)) = temperature::read(&machine.root, &machine.board, &machine.firmware).await {
        text.single("raspi_mcp_cpu_temperature_celsius", MetricType::Gauge, "Of the processor.", reading.celsius);
    }
    disks(services, text);
    node::machine(&machine.root, text);
    let Ok(Some(word)) = machine.firmware.throttled().await else { return };
    text.family("raspi_mcp_throttled", MetricType::Gauge, "1 while the firmware holds the board back, by reason.");
    for (reason, now) in [
        ("under_voltage", word.under_voltage()),
        ("freq_capped", word.freq_capped()),
        ("throttled", word.throttled()),
        ("soft_temperature_limit", word.soft_temperature_limit()),
    ] {
        text.sample("raspi_mcp_throttled", &[("reason", reason)], u8::from(now));
    }
}
