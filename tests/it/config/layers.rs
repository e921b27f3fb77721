//! Who wins: image, site, state, environment, flags, each over the one before.

use super::Machine;
use contract::config::{BoardChoice, LogLevel};
use std::net::SocketAddr;

#[test]
fn each_source_wins_over_the_ones_before() {
    let pi = Machine::new().image("[log]\nlevel = \"error\"\n");
    assert_eq!(pi.starts().log.level, LogLevel::Error);
    let pi = pi.site("[log]\nlevel = \"warn\"\n");
    assert_eq!(pi.starts().log.level, LogLevel::Warn);
    let pi = pi.state("[log]\nlevel = \"info\"\n");
    assert_eq!(pi.starts().log.level, LogLevel::Info);
    let pi = pi.variable("RASPI_MCP__LOG__LEVEL", "debug");
    assert_eq!(pi.starts().log.level, LogLevel::Debug);
    let pi = pi.flag("--log-level", "log.level", "trace");
    assert_eq!(pi.starts().log.level, LogLevel::Trace);
}

#[test]
fn files_count_in_the_order_of_their_names() {
    let pi = Machine::new()
        .file("/etc/raspi-mcp/20-later.toml", "[log]\nring_lines = 20\n")
        .file("/etc/raspi-mcp/10-first.toml", "[log]\nring_lines = 10\nlevel = \"warn\"\n");
    let log = pi.starts().log;
    assert_eq!((log.ring_lines, log.level), (20, LogLevel::Warn));
}

#[test]
fn variables_set_top_level_keys_lists_flags_and_policy() {
    let settings = Machine::new()
        .variable("RASPI_MCP__BOARD", "simulated")
        .variable("RASPI_MCP__TOOLS__ENABLE", "gpio, system")
        .variable("RASPI_MCP__SOCKET__ENABLED", "false")
        .variable("RASPI_MCP__LIMITS__MAX_REQUEST_BYTES", "2_048")
        .variable("RASPI_MCP__POLICY__SYSTEM__REBOOT", "deny")
        .variable("RASPI_MCPLIKE", "not ours")
        .starts();
    assert_eq!(settings.board, BoardChoice::Simulated);
    assert!(settings.tools.enable.iter().eq(["gpio", "system"]));
    assert!(!settings.socket.enabled);
    assert_eq!(settings.limits.max_request_bytes, 2048);
    assert_eq!(serde_json::to_value(&settings.policy).expect("JSON"), serde_json::json!({ "system.reboot": "deny" }));
}

#[test]
fn a_misspelt_variable_is_answered_as_a_variable() {
    let pi = Machine::new()
        .variable("RASPI_MCP__LIMITS__MAX_DEBTH", "9")
        .variable("RASPI_MCP__POLICY__SYSTEM__REBOTT", "ask")
        .variable("RASPI_MCP__POLICY", "ask")
        .variable("RASPI_MCP__ACCESS__TOKENS", "secret");
    assert_eq!(
        pi.refuses(),
        [
            "RASPI_MCP__LIMITS__MAX_DEBTH: unknown key \"limits.max_debth\"; did you mean RASPI_MCP__LIMITS__MAX_DEPTH?",
            "RASPI_MCP__POLICY__SYSTEM__REBOTT: unknown tool \"system.rebott\" in policy; did you mean \
             RASPI_MCP__POLICY__SYSTEM__REBOOT?",
            "RASPI_MCP__POLICY: unknown key \"policy\"; it is set for one tool at a time, as policy.<tool>",
            "RASPI_MCP__ACCESS__TOKENS: access.tokens can only be set in a file, where others cannot read it",
        ]
    );
}

#[test]
fn a_flag_is_named_as_it_was_typed() {
    let pi = Machine::new().flag("--role", "access.stdio_role", "root");
    assert_eq!(
        pi.refuses(),
        ["--role: access.stdio_role must be \"read_only\", \"ops_rw\" or \"admin\", not \"root\""]
    );
    let pi = Machine::new().flag("--http", "http.listen", "127.0.0.1:0");
    assert_eq!(pi.starts().http.listen, SocketAddr::from(([127, 0, 0, 1], 0)));
}

#[test]
fn a_file_given_by_name_takes_the_place_of_the_site() {
    let mut pi = Machine::new()
        .image("[log]\nring_lines = 50\n")
        .site("nonsense")
        .file("/home/me/mine.toml", "board = \"linux\"\n");
    pi.sources.file = Some(pi.path("/home/me/mine.toml"));
    let settings = pi.starts();
    assert_eq!((settings.board, settings.log.ring_lines), (BoardChoice::Linux, 50));

    pi.sources.file = Some(pi.path("/home/me/gone.toml"));
    assert_eq!(pi.refuses(), ["/home/me/gone.toml: cannot read this file: No such file or directory (os error 2)"]);
}

#[test]
fn folders_move_what_lies_in_them() {
    let pi = Machine::new();
    let elsewhere = pi.path("/data");
    let pi = pi
        .file("/data/conf.d/50.toml", "[limits]\nmax_depth = 9\n")
        .site(&format!("[places]\nruntime_dir = \"/run/elsewhere\"\nstate_dir = \"{}\"\n", elsewhere.display()));
    let settings = pi.starts();
    assert_eq!(settings.socket.path.to_str(), Some("/run/elsewhere/mcp.sock"));
    assert_eq!(settings.limits.max_depth, 9);
}
