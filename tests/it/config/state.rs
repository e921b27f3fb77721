//! What the server wrote itself may narrow, never widen; what it does not understand is set aside.

use super::Machine;
use contract::meta::{Mode, Role};

const STATE: &str = "/var/lib/raspi-mcp/conf.d/50-state.toml";

/// A site, a state fragment, and why that fragment is set aside.
fn set_aside(site: &str, state: &str, answer: &str) {
    let reasons = Machine::new().site(site).state(state).restricted();
    assert_eq!(reasons, [format!("set aside: {STATE}:{answer}")], "to {state}");
}

#[test]
fn it_may_narrow() {
    let pi = Machine::new().site("[tools]\nenable = [\"gpio\", \"system\"]\ndisable = [\"exec\"]\n").state(
        "tool_names = \"dotted\"\n[limits]\nwrites_per_minute = 6\n[tools]\nenable = [\"gpio\"]\ndisable = [\"camera\"]\n\
         [policy]\n\"gpio.write_pin\" = \"ask\"\n[http]\nenabled = false\n",
    );
    let settings = pi.starts();
    assert_eq!(settings.restricted, [] as [String; 0]);
    assert_eq!(settings.limits.writes_per_minute, 6);
    assert!(settings.tools.enable.iter().eq(["gpio"]));
    assert!(settings.tools.disable.iter().eq(["camera", "exec"]), "what is off stays off");
    assert_eq!(settings.policy["gpio.write_pin"], Mode::Ask);
    assert!(!settings.http.enabled);
}

#[test]
fn it_may_not_widen() {
    set_aside(
        "",
        "[limits]\nwrites_per_minute = 61\n",
        "2:1: limits.writes_per_minute is 60; a state fragment may only lower it, not set 61",
    );
    set_aside(
        "[tools]\nenable = [\"gpio\"]\n",
        "[tools]\nenable = [\"gpio\", \"exec\"]\n",
        "2:1: tools.enable does not have \"exec\" by /etc/raspi-mcp/10-site.toml:2:1; a state fragment may only take names away",
    );
    set_aside(
        "",
        "[policy]\nsystem.reboot = \"allow\"\n",
        "2:8: policy.system.reboot is \"ask\"; a state fragment may only make it stricter, not \"allow\"",
    );
    set_aside(
        "[policy]\nsystem.reboot = \"deny\"\n",
        "[policy]\nsystem.reboot = \"ask\"\n",
        "2:8: policy.system.reboot is \"deny\" by /etc/raspi-mcp/10-site.toml:2:8; a state fragment may only make it stricter, \
         not \"ask\"",
    );
    set_aside(
        "[socket]\nenabled = false\n",
        "[socket]\nenabled = true\n",
        "2:1: a state fragment may only switch socket.enabled off; set it in /etc/raspi-mcp",
    );
}

#[test]
fn it_may_not_say_who_is_who_or_where_things_are() {
    for (key, value) in [
        ("access.stdio_role", "\"admin\""),
        ("access.admin_group", "\"users\""),
        ("agent", "\"inprocess\""),
        ("board", "\"simulated\""),
        ("environment", "\"lab\""),
        ("compat", "[\"dbus-mcp\"]"),
        ("places.agent_socket", "\"/tmp/mine.sock\""),
        ("socket.path", "\"/tmp/mine.sock\""),
        ("audit.max_bytes", "1048576"),
        ("http.listen", "\"127.0.0.1:1\""),
        ("http.allowed_hosts", "[\"evil.example\"]"),
        ("tls.enabled", "true"),
        ("tls.key", "\"/tmp/key.pem\""),
        ("jwt.issuer", "\"https://evil.example\""),
        ("jwt.keys_file", "\"/tmp/jwks.json\""),
        ("approval.elicitation_clients", "[\"friend\"]"),
    ] {
        let pi = Machine::new().state(&format!("{key} = {value}\n"));
        let column = key.find('.').map_or(1, |dot| dot + 2);
        let answer =
            format!("set aside: {STATE}:1:{column}: a state fragment may not set {key}; set it in /etc/raspi-mcp");
        assert_eq!(pi.restricted(), [answer]);
    }
}

#[test]
fn a_fragment_counts_as_a_whole_and_the_others_still_count() {
    let pi = Machine::new()
        .file("/var/lib/raspi-mcp/conf.d/10.toml", "[limits]\nmax_depth = 32\n")
        .file("/var/lib/raspi-mcp/conf.d/20.toml", "[limits]\nmax_depth = 16\nfrom_a_newer_version = 1\n")
        .file("/var/lib/raspi-mcp/conf.d/30.toml", "[limits]\nmax_streams = 3\n");
    let settings = pi.starts();
    assert!(settings.is_restricted());
    assert_eq!((settings.limits.max_depth, settings.limits.max_streams), (32, 3));
    assert!(pi.path("/var/lib/raspi-mcp/conf.d/20.toml").exists(), "it stays on disk");
    assert!(pi.restricted()[0].starts_with("set aside: /var/lib/raspi-mcp/conf.d/20.toml:3:1: unknown key"));
}

#[test]
fn narrower_values_that_do_not_go_together_are_set_aside() {
    set_aside(
        "[approval]\nwait_seconds = 60\n",
        "[approval]\nexpire_seconds = 30\n",
        "2:1: approval.wait_seconds (60) is longer than approval.expire_seconds (30): nobody can answer that long",
    );
}

#[test]
fn a_flag_mends_what_the_site_got_wrong_without_blaming_the_state() {
    let pi = Machine::new()
        .site("[approval]\nwait_seconds = 60\nexpire_seconds = 30\n")
        .state("[limits]\nmax_depth = 9\n")
        .flag("--wait", "approval.wait_seconds", "10");
    let settings = pi.starts();
    assert_eq!((settings.restricted.len(), settings.limits.max_depth), (0, 9));
}

#[test]
fn broken_state_never_keeps_the_server_from_starting() {
    let pi = Machine::new().file(STATE, b"\x00\xff = [[[");
    assert_eq!(pi.restricted(), [format!("set aside: {STATE}: is not UTF-8 from byte 1 on")]);
    assert_eq!(pi.starts().access.stdio_role, Role::ReadOnly);
    let pi = Machine::new().file("/var/lib/raspi-mcp/conf.d", "a file, not a folder");
    assert_eq!(pi.starts().restricted.len(), 1);
}

#[test]
fn the_summary_says_that_and_why() {
    let summary = Machine::new().state("board = \"linux\"\n").starts().summary();
    assert_eq!(summary["restricted"].as_array().map(Vec::len), Some(1));
    assert_eq!(summary["limits"]["max_concurrent_requests"], 10);
}
