//! The privileged half believes the image, the site and its own folder, and nobody else.

use super::Machine;
use contract::{config::BoardChoice, meta::Mode};
use std::{fs, os::unix::fs::MetadataExt, os::unix::fs::PermissionsExt};

const OWN: &str = "/var/lib/raspi-mcp-agent/conf.d/50-own.toml";

#[test]
fn the_servers_state_and_environment_are_not_looked_at() {
    let pi = Machine::new()
        .site("[policy]\nsystem.reboot = \"deny\"\n")
        .state("rubbish, and not even TOML")
        .variable("RASPI_MCP__POLICY__SYSTEM__REBOOT", "allow")
        .variable("RASPI_MCP__NONSENSE", "1");
    let settings = pi.agent_starts();
    assert_eq!(settings.policy["system.reboot"], Mode::Deny);
    assert!(!settings.is_restricted());
}

#[test]
fn its_own_folder_says_more_than_the_site() {
    let pi = Machine::new().site("board = \"linux\"\n").file(OWN, "board = \"raspberry-pi\"\n");
    assert_eq!(pi.agent_starts().board, BoardChoice::RaspberryPi);
    assert_eq!(pi.starts().board, BoardChoice::Linux, "the server half does not read it");
}

#[test]
fn its_own_folder_moves_none_of_the_places_and_rubbish_there_restricts() {
    for key in ["state_dir", "runtime_dir", "agent_state_dir", "agent_socket"] {
        let pi = Machine::new().file(OWN, format!("[places]\n{key} = \"/tmp/other\"\n"));
        let settings = pi.agent_starts();
        assert_eq!(settings.restricted.len(), 1, "{key}");
        assert!(
            settings.restricted[0].ends_with(
                "50-own.toml:2:1: the server does not read this file, and both halves have to agree on the places; set them \
                 in the site configuration"
            ),
            "{:?}",
            settings.restricted
        );
        assert_eq!(settings.places, pi.starts().places, "{key}");
    }
    assert!(Machine::new().file(OWN, "nonsense").agent_starts().is_restricted());
}

#[test]
fn a_section_of_a_release_to_come_leaves_what_updates_the_device() {
    use ::agent::policy::AgentPolicy;
    use contract::meta::Mode;
    let enable = "[tools]\nenable = [\"manage\", \"system\"]\n";
    let known = "[policy]\n\"system.reboot\" = \"allow\"\n";
    let of = |text: &str| {
        let settings = Machine::new().site(enable).file(OWN, text).agent_starts();
        assert!(settings.is_restricted(), "{text}");
        AgentPolicy::of(&settings, false)
    };
    let policy = of(&format!("{known}[voice]\nlanguage = \"en\"\n"));
    assert_eq!(policy.check("system.reboot").unwrap(), Mode::Allow);
    for tool in ["manage.update_server", "manage.apply_os_updates", "manage.rollback", "manage.mark_good"] {
        assert_eq!(policy.check(tool).unwrap(), Mode::Ask, "{tool}");
    }
    for tool in ["system.shutdown", "system.set_hostname"] {
        let refused = policy.check(tool).unwrap_err();
        assert!(refused.message.contains("voice.language"), "{tool}: {refused}");
    }
    // With a mistyped word in [policy] none of that section counts, and it may have been a no.
    let policy = of(&format!("{known}\"manage.rollbak\" = \"deny\"\n"));
    assert!(policy.check("system.reboot").unwrap_err().message.contains("manage.rollbak"));
    // What the owner closed, or did not open, stays so.
    let closed = of("[tools]\ndisable = [\"system.reboot\"]\n[voice]\nlanguage = \"en\"\n");
    assert!(closed.check("system.reboot").unwrap_err().message.contains("switches"));
    assert!(of("nonsense").check("manage.rollback").unwrap_err().message.contains("does not understand"));
}

#[test]
fn image_site_file_and_flags_give_both_halves_the_same_places() {
    let places = "[places]\nagent_socket = \"/run/other/agent.sock\"\nstate_dir = \"/srv/state\"\n";
    let in_a_file = || {
        let mut pi = Machine::new().file("/srv/raspi-mcp.toml", places);
        pi.sources.file = Some(pi.path("/srv/raspi-mcp.toml"));
        pi
    };
    let by_flags = || {
        Machine::new().flag("--set", "places.agent_socket", "/run/other/agent.sock").flag(
            "--set",
            "places.state_dir",
            "/srv/state",
        )
    };
    for pi in [Machine::new().image(places), Machine::new().site(places), in_a_file(), by_flags()] {
        let (server, agent) = (pi.starts(), pi.agent_starts());
        assert_eq!(server.places.agent_socket, std::path::Path::new("/run/other/agent.sock"));
        assert_eq!(server.places.differences(&agent.places), Vec::<String>::new());
    }
}

#[test]
fn a_place_in_the_environment_is_the_servers_alone_and_known_for_one() {
    for (variable, key) in [
        ("RASPI_MCP__PLACES__AGENT_SOCKET", "places.agent_socket"),
        ("RASPI_MCP__PLACES__STATE_DIR", "places.state_dir"),
        ("RASPI_MCP__places__runtime_dir", "places.runtime_dir"),
    ] {
        let pi = Machine::new().variable(variable, "/tmp/other");
        assert_eq!(pi.starts().places.differences(&pi.agent_starts().places).len(), 1, "{variable}");
        assert_eq!(contract::config::place_of(variable).as_deref(), Some(key));
    }
    assert_eq!(contract::config::place_of("RASPI_MCP__LOG__LEVEL"), None);
    assert_eq!(contract::config::place_of("PLACES__STATE_DIR"), None);
    // And where only the server has it, the two differ by that key.
    let pi = Machine::new().variable("RASPI_MCP__PLACES__AGENT_SOCKET", "/tmp/other.sock");
    let told = pi.starts().places;
    let told =
        told.differences(&contract::config::PlaceSettings { agent_socket: pi.path("/run/agent.sock"), ..told.clone() });
    assert!(
        told.len() == 1 && told[0].starts_with("places.agent_socket is /tmp/other.sock for the server and "),
        "{told:?}"
    );
}

#[test]
fn a_file_that_others_can_write_is_refused() {
    let mut pi = Machine::new().site("board = \"linux\"\n");
    let site = pi.path("/etc/raspi-mcp/10-site.toml");
    let me = fs::metadata(&site).expect("the file").uid();
    pi.sources.places.policy_owner = Some(me);
    fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).expect("chmod");
    pi.agent_starts();

    fs::set_permissions(&site, fs::Permissions::from_mode(0o664)).expect("chmod");
    let answer = |owner: u32, mode: &str| {
        format!(
            "/etc/raspi-mcp/10-site.toml: belongs to user {me} with mode {mode}; the privileged half believes only files of \
             user {owner} that nobody else can write: chown and chmod go-w it"
        )
    };
    assert_eq!(pi.agent_refuses(), [answer(me, "664")]);
    pi.starts();

    fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).expect("chmod");
    pi.sources.places.policy_owner = Some(me + 1);
    assert_eq!(pi.agent_refuses(), [answer(me + 1, "644")]);
}
