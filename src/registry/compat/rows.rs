//! The names of dbus-mcp, a row each.

use super::{Alias, Render, Translate, answers, arguments};
use std::sync::OnceLock;

const SERVICE: &[(&str, &str)] = &[("service", "service_name")];
const LOGS: &[(&str, &str)] = &[("service", "unit"), ("lines", "limit")];
const PROCESSES: &[(&str, &str)] = &[("user", "filter/username"), ("name", "filter/name_pattern")];
const TIMEOUT: &[(&str, &str)] = &[("timeout", "timeout_ms")];

pub static DBUS_MCP: [Alias; 16] = [
    row("systemd_status", "service.get_status", SERVICE, arguments::same, answers::status),
    row("systemd_start", "service.control_service", SERVICE, arguments::start, answers::controlled),
    row("systemd_stop", "service.control_service", SERVICE, arguments::stop, answers::controlled),
    row("systemd_restart", "service.restart", SERVICE, arguments::same, answers::restarted),
    row("systemd_logs", "logs.query_journal", LOGS, arguments::logs, answers::logs),
    row("systemd_logs_stream", "logs.query_journal", LOGS, arguments::stream, answers::streamed),
    row("file_read", "files.read", &[], arguments::same, answers::content),
    row("file_write", "files.write", &[], arguments::write, answers::written),
    row("file_list", "files.list", &[], arguments::many, answers::data),
    row("file_delete", "files.delete", &[], arguments::same, answers::deleted),
    row("network_interfaces", "system.get_detailed_network_info", &[], arguments::for_the_answer, answers::interfaces),
    row("network_connections", "network.list_connections", &[], arguments::many, answers::data),
    row("network_connect", "network.activate_connection", &[], arguments::same, answers::connected),
    row("process_list", "process.list_processes", PROCESSES, arguments::processes, answers::data),
    row("process_kill", "process.send_signal", &[], arguments::same, answers::signalled),
    row("exec_command", "exec.run", TIMEOUT, arguments::command, answers::ended),
];

const fn row(
    name: &'static str,
    tool: &'static str,
    renamed: &'static [(&'static str, &'static str)],
    translate: Translate,
    render: Render,
) -> Alias {
    Alias { name, tool, renamed, translate, render, checker: OnceLock::new() }
}
