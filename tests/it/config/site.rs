//! What a person got wrong in /etc: said where, with what was expected and the nearest key.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

/// What there is at the top level, in the order of the documentation.
const TOP: &str = "at the top level there are board, agent, tool_names, environment, compat, agents, routeros, then the sections http, tls, socket, dbus, limits, \
                   access, jwt, tools, policy, approval, halt, service, places, audit, metrics, log, files, process, exec, gpio, i2c, spi, serial, camera, update, \
                   notifications, claim, fleet";

/// One line of configuration and the answer to it, without the file's name.
fn refused(text: &str, answer: &str) {
    assert_eq!(Machine::new().site(text).refuses(), [format!("{SITE}:{answer}")], "to {text}");
}

#[test]
fn nothing_at_all_is_a_good_configuration() {
    let settings = Machine::new().starts();
    assert_eq!(settings.limits.reads_per_minute, 600);
    assert_eq!(settings.http.listen.to_string(), "127.0.0.1:8765");
    assert!(!settings.is_restricted());
}

#[test]
fn a_misspelt_key_is_answered_with_the_nearest() {
    refused(
        "board = \"auto\"\n[limits]\nreads_per_minut = 5\n",
        r#"3:1: unknown key "limits.reads_per_minut"; did you mean "limits.reads_per_minute"?"#,
    );
    refused("baord = \"auto\"\n", r#"1:1: unknown key "baord"; did you mean "board"?"#);
    refused("[limit]\nmax_depth = 9\n", r#"2:1: unknown key "limit.max_depth"; did you mean "limits.max_depth"?"#);
}

#[test]
fn an_unknown_key_far_from_all_is_answered_with_what_there_is() {
    refused(
        "[log]\ncolour_of_the_sky = 1\n",
        r#"2:1: unknown key "log.colour_of_the_sky"; [log] has level, target, ring_lines"#,
    );
    refused("[zzzzzzzzzz]\n", &format!("1:2: unknown key \"zzzzzzzzzz\"; {TOP}"));
}

#[test]
fn a_bad_value_is_answered_with_what_was_expected() {
    refused(
        "[limits]\nreads_per_minute = \"many\"\n",
        r#"2:20: limits.reads_per_minute must be a whole number from 1 to 1000000, not "many""#,
    );
    refused(
        "[limits]\nmax_request_bytes = 1023\n",
        "2:21: limits.max_request_bytes must be a whole number of bytes from 1024 (1 KiB) to 16777216 (16 MiB), not 1023",
    );
    refused(
        "[approval]\nexpire_seconds = 99999999999999999999\n",
        "2:18: approval.expire_seconds must be a whole number of seconds from 30 to 3600, not 99999999999999999999",
    );
    refused(
        "board = \"rasberry-pi\"\n",
        "1:9: board must be \"auto\", \"raspberry-pi\", \"linux\" or \"simulated\", not \"rasberry-pi\"; did you mean \"raspberry-pi\"?",
    );
    refused("http = 5\n", "1:1: http is a section, not a value; write [http] and its keys below it");
    refused("[http]\nenabled = 1\n", "2:11: http.enabled must be true or false, not 1");
    refused(
        "[places]\nstate_dir = \"var\"\n",
        r#"2:13: places.state_dir must be a full path without "..", like "/var/lib/raspi-mcp", not "var""#,
    );
    refused(
        "[http]\nallowed_hosts = [\"pi.local\", \"http://pi.local/\"]\n",
        "2:30: http.allowed_hosts must be a list of host names like \"pi.local\" or \"pi.local:8765\"; \"http://pi.local/\" is none",
    );
}

#[test]
fn compat_is_a_list_of_the_servers_that_are_known() {
    use contract::config::DBUS_MCP;
    assert!(!Machine::new().starts().has_dbus_mcp());
    assert!(Machine::new().site("compat = [\"dbus-mcp\"]\n").starts().has_dbus_mcp());
    assert!(Machine::new().site("compat = [\"dbus-mcp\"]\n").agent_starts().has_dbus_mcp(), "both halves read it");
    assert!(Machine::new().variable("RASPI_MCP__COMPAT", DBUS_MCP).starts().has_dbus_mcp());
    refused(
        "compat = [\"dbus_mcp\"]\n",
        r#"1:11: compat must be a list of "dbus-mcp"; "dbus_mcp" is none; did you mean "dbus-mcp"?"#,
    );
    refused("compat = \"dbus-mcp\"\n", r#"1:10: compat must be a list of "dbus-mcp", not "dbus-mcp""#);
}

#[test]
fn namespaces_and_tools_are_known_by_name() {
    refused(
        "[tools]\nenable = [\"gpoi\"]\n",
        "2:11: tools.enable must be a list of namespaces out of system, metrics, network, service, process, gpio, i2c, spi, onewire, serial, \
         camera, logs, manage, files, exec, sensors, fleet, vector, agents, routeros; \"gpoi\" is none; did you mean \"gpio\"?",
    );
    refused(
        "[policy]\n\"system.rebot\" = \"deny\"\n",
        r#"2:1: unknown tool "system.rebot" in policy; did you mean "system.reboot"?"#,
    );
    refused(
        "[policy]\n\"system.reboot\" = \"never\"\n",
        r#"2:19: policy.system.reboot must be "allow", "ask" or "deny", not "never""#,
    );
}

#[test]
fn a_tool_in_policy_needs_no_quotes() {
    use contract::meta::Mode;
    let settings = Machine::new().site("[policy]\nsystem.reboot = \"deny\"\n\"gpio.write_pin\" = \"ask\"\n").starts();
    assert_eq!(settings.policy.get("system.reboot"), Some(&Mode::Deny));
    assert_eq!(settings.policy.get("gpio.write_pin"), Some(&Mode::Ask));
}

#[test]
fn all_faults_of_all_files_come_at_once() {
    let pi = Machine::new()
        .image("colour = 1\n")
        .site("[log]\nlevel = 7\nring_lines = 3\n")
        .file("/etc/raspi-mcp/20-more.toml", "board = maybe\nagent =\n")
        .variable("RASPI_MCP__LOG__LEVEL", "loud")
        .flag("--http", "http.listen", "here");
    assert_eq!(
        pi.refuses(),
        [
            &format!("/usr/lib/raspi-mcp/conf.d/00-image.toml:1:1: unknown key \"colour\"; {TOP}"),
            "/etc/raspi-mcp/10-site.toml:2:9: log.level must be \"error\", \"warn\", \"info\", \"debug\" or \"trace\", not 7",
            "/etc/raspi-mcp/10-site.toml:3:14: log.ring_lines must be a whole number from 10 to 100000, not 3",
            "/etc/raspi-mcp/20-more.toml:1:9: not TOML: string values must be quoted, expected literal string",
            "/etc/raspi-mcp/20-more.toml:2:8: not TOML: string values must be quoted, expected literal string",
            "RASPI_MCP__LOG__LEVEL: log.level must be \"error\", \"warn\", \"info\", \"debug\" or \"trace\", not \"loud\"",
            "--http: http.listen must be an address and port like \"127.0.0.1:8765\", not \"here\"",
        ]
    );
}

#[test]
fn a_key_given_twice_is_not_toml() {
    refused("board = \"auto\"\nboard = \"linux\"\n", "2:1: not TOML: duplicate key");
}

#[test]
fn values_that_do_not_go_together_are_refused_at_the_key() {
    refused(
        "[approval]\nexpire_seconds = 30\nwait_seconds = 40\n",
        "3:1: approval.wait_seconds (40) is longer than approval.expire_seconds (30): nobody can answer that long",
    );
    refused(
        "board = \"raspberry-pi\"\nagent = \"inprocess\"\n",
        "2:1: agent = \"inprocess\" is only for a simulated board: use agent = \"socket\", or board = \"simulated\"",
    );
    refused(
        "[policy]\n\"gpio.write_pin\" = \"ask\"\n\"tools.run\" = \"ask\"\n",
        "3:1: policy.\"tools.run\" cannot be \"ask\": a call through it is judged as the tool that it names; set \"ask\" for that \
         tool, or \"deny\" to switch tools.run off",
    );
    let long = format!("/{}", "x".repeat(110));
    refused(
        &format!("[places]\nruntime_dir = \"{long}\"\n"),
        &format!(
            "2:1: socket.path would be {long}/mcp.sock, which is too long for a socket (107 bytes); set a shorter one"
        ),
    );
}

#[test]
fn files_are_bounded() {
    refused_file(vec![b'#'; 1024 * 1024 + 1], "is larger than 1 MiB; it may not be");
    refused_file(b"board = \"\xff\"\n".to_vec(), "is not UTF-8 from byte 9 on");
    assert!(!Machine::new().file(SITE, vec![b'#'; 1024 * 1024]).starts().is_restricted());

    let many = |count: usize| {
        (0..count).fold(Machine::new(), |pi, index| pi.file(&format!("/etc/raspi-mcp/{index:03}.toml"), ""))
    };
    many(64).starts();
    assert_eq!(many(65).refuses(), ["/etc/raspi-mcp: holds 65 fragments; at most 64 are read, so merge some"]);
}

fn refused_file(bytes: Vec<u8>, answer: &str) {
    assert_eq!(Machine::new().file(SITE, bytes).refuses(), [format!("{SITE}: {answer}")]);
}

#[test]
fn what_is_no_fragment_is_left_alone() {
    let pi = Machine::new()
        .file("/etc/raspi-mcp/.10-site.toml.swp", "rubbish")
        .file("/etc/raspi-mcp/.#10-site.toml", "rubbish")
        .file("/etc/raspi-mcp/README", "rubbish");
    pi.starts();
    std::fs::create_dir(pi.path("/etc/raspi-mcp/dir.toml")).expect("a folder");
    assert_eq!(pi.refuses(), ["/etc/raspi-mcp/dir.toml: is not a regular file; it has to be one"]);
}
