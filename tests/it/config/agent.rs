//! The privileged half believes the image, the site and its own folder, and nobody else.

use super::Machine;
use raspi_mcp::{config::BoardChoice, registry::meta::Mode};
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
fn its_own_folder_cannot_move_itself_and_rubbish_there_restricts() {
    let pi = Machine::new().file(OWN, "[places]\nagent_state_dir = \"/tmp\"\n");
    let reasons = pi.agent_starts().restricted;
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].ends_with(
        "50-own.toml:2:1: this file lies in places.agent_state_dir and cannot move it; set it in the site configuration"
    ));
    assert!(Machine::new().file(OWN, "nonsense").agent_starts().is_restricted());
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
