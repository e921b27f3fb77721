//! Rules between keys, whose values are each valid alone.

use super::{
    draft::SettingsDraft,
    fault::ConfigError,
    sections::{agents, approval, camera, exec, files, gpio, notifications, routeros, update},
    settings::{AgentChoice, BoardChoice, Settings},
    words::is_loopback,
};
use crate::meta::Mode;
use std::path::Path;

/// The violated rules, each at the place of the key that violates it.
pub fn check(draft: &SettingsDraft, settings: &Settings) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    // Reported at the last of the assignments.
    let mut broken = |keys: &[&str], message: String| faults.push(ConfigError::new(draft.latest(keys), message));
    let approval = &settings.approval;
    if approval.wait_seconds > approval.expire_seconds {
        broken(
            &["approval.wait_seconds", "approval.expire_seconds"],
            format!(
                "approval.wait_seconds ({}) is longer than approval.expire_seconds ({}): nobody can answer that long",
                approval.wait_seconds, approval.expire_seconds
            ),
        );
    }
    if settings.agent == AgentChoice::Inprocess
        && matches!(settings.board, BoardChoice::RaspberryPi | BoardChoice::Linux)
    {
        broken(
            &["agent", "board"],
            "agent = \"inprocess\" is only for a simulated board: use agent = \"socket\", or board = \"simulated\""
                .into(),
        );
    }
    network(settings, &mut broken);
    for message in settings.fleet.faults() {
        broken(&["fleet.servers"], message);
    }
    for (index, token) in settings.access.tokens.iter().enumerate() {
        if let Some(same) = settings.access.tokens[..index].iter().find(|other| other.sha256 == token.sha256) {
            broken(
                &["access.tokens"],
                format!("the tokens {} and {} are the same secret; make each its own", same.name, token.name),
            );
        }
    }
    for (key, path) in [("socket.path", &settings.socket.path), ("places.agent_socket", &settings.places.agent_socket)]
    {
        if too_long(path) {
            broken(
                &[key, "places.runtime_dir"],
                format!(
                    "{key} would be {}, which is too long for a socket (107 bytes); set a shorter one",
                    path.display()
                ),
            );
        }
    }
    if settings.socket.path == settings.places.agent_socket {
        broken(
            &["places.agent_socket", "socket.path"],
            "socket.path and places.agent_socket are the same file; each half needs its own".into(),
        );
    }
    // The agent's folder holds its policy and keys; the server may write its own folder.
    if settings.places.state_dir.starts_with(&settings.places.agent_state_dir) {
        broken(
            &["places.agent_state_dir", "places.state_dir"],
            "places.state_dir lies in places.agent_state_dir; the server must not write where the agent keeps its keys"
                .into(),
        );
    }
    for tool in ["tools.run", "tools.run_read"] {
        if settings.policy.get(tool) == Some(&Mode::Ask) {
            broken(
                &[&format!("policy.{tool}")],
                format!(
                    "policy.\"{tool}\" cannot be \"ask\": a call through it is judged as the tool that it names; set \"ask\" for \
                     that tool, or \"deny\" to switch {tool} off"
                ),
            );
        }
    }
    for message in files::overlaps(settings, draft.configuration()) {
        broken(&["files.roots"], message);
    }
    for message in files::wrong_grants(settings, draft.configuration()) {
        broken(&["tools.allow"], message);
    }
    let used = [
        ("gpio.allow", &settings.gpio.allow),
        ("gpio.safe_low", &settings.gpio.safe_low),
        ("gpio.safe_high", &settings.gpio.safe_high),
    ];
    for message in approval::faults(&settings.approval, &used) {
        broken(&["approval.button_pin", "approval.led_pin"], message);
    }
    for message in gpio::faults(&settings.gpio) {
        broken(&["gpio.safe_low", "gpio.safe_high", "gpio.pwm"], message);
    }
    for message in exec::faults(settings) {
        broken(&["exec.cwd_roots", "exec.user", "exec.commands"], message);
    }
    let of_agents = agents::faults(settings).into_iter().map(|message| ("agents", message));
    let of_routers = routeros::faults(settings).into_iter().map(|message| ("routeros", message));
    let others = camera::faults(settings).into_iter().chain(update::faults(settings));
    for (key, message) in others.chain(notifications::faults(settings)).chain(of_agents).chain(of_routers) {
        broken(&[key], message);
    }
    faults
}

/// The requirements of a listener that is reachable from other machines.
fn network(settings: &Settings, broken: &mut impl FnMut(&[&str], String)) {
    let (http, access) = (&settings.http, &settings.access);
    // Without an owner, only the claim is served, and it needs the code.
    let knows_callers = !access.tokens.is_empty() || settings.jwt.is_on() || settings.unclaimed;
    if http.enabled && !is_loopback(http.listen.ip()) {
        let listen = http.listen;
        if !settings.tls.enabled {
            broken(
                &["http.listen", "tls.enabled"],
                format!(
                    "http.listen = \"{listen}\" reaches beyond this machine, which needs TLS: run \"raspi-mcp tls init\" and set \
                     tls.enabled = true, or listen on 127.0.0.1 and come through an SSH tunnel"
                ),
            );
        }
        if !knows_callers {
            broken(
                &["http.listen", "access.tokens", "jwt.issuer"],
                format!(
                    "http.listen = \"{listen}\" reaches beyond this machine, and nobody could be known there: \
                     \"raspi-mcp token new\" makes a token and its lines for this configuration"
                ),
            );
        }
    }
    if http.enabled && access.require_token && !knows_callers {
        broken(
            &["access.require_token", "access.tokens", "jwt.issuer"],
            "access.require_token = true, and there is no token to bring: \"raspi-mcp token new\" makes one".into(),
        );
    }
    if settings.jwt.is_on() && (settings.jwt.audience.is_empty() || settings.jwt.role_claim.is_empty()) {
        broken(
            &["jwt.issuer", "jwt.audience", "jwt.role_claim"],
            "jwt.issuer needs jwt.audience and jwt.role_claim beside it: a token made for another server must not count here"
                .into(),
        );
    }
}

/// `sun_path` has 108 bytes, the last of them zero (unix(7)).
fn too_long(path: &Path) -> bool {
    path.as_os_str().len() > 107
}
