//! Server and agent, and the services of the machine that they use.

use super::{Finding, Subject};
use base::os::Root;
use contract::config::{AgentChoice, SAME_PLACES, Settings};

/// Where unit files are, in order of precedence (systemd.unit(5)).
const UNIT_FOLDERS: [&str; 4] =
    ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
/// Socket of the service's agent, relative to the root.
const SERVICE_SOCKET: &str = "run/raspi-mcp-agent/agent.sock";
const UNITS: [&str; 2] = ["raspi-mcp.service", "raspi-mcp-agent.service"];
/// Sockets of services that server and agent use but can do without, and what for.
const SOCKETS: [(&str, &str, &str); 2] = [
    ("d-bus", "run/dbus/system_bus_socket", "units, logins and network are read over it"),
    ("journal", "run/systemd/journal/socket", "the log goes to standard error instead"),
];

pub(super) fn check(subject: &Subject, settings: &Settings, simulated: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    if subject.account.is_service && subject.root.has("run/systemd/system") {
        findings.extend(UNITS.map(|unit| installed(&subject.root, unit)));
    } else if subject.account.is_service {
        let mend = "let this machine's init start both: raspi-mcp agent as root, raspi-mcp serve as user raspi-mcp";
        findings.push(Finding::note("unit", "systemd does not run here, so there are no units to look for", mend));
    }
    findings.push(server(subject, settings));
    findings.push(agent(subject, settings, simulated));
    findings.extend(halted(subject));
    findings.extend(agents(subject));
    findings.extend(places(subject, settings));
    for (about, path, for_what) in SOCKETS {
        findings.push(socket(subject, simulated, about, path, for_what));
    }
    findings
}

/// A machine on which the service was never installed: neither its user nor its units are there, and nothing answers.
pub(super) fn not_installed(subject: &Subject) -> Option<Finding> {
    let unit = |unit: &&str| UNIT_FOLDERS.iter().any(|folder| subject.root.has(&format!("{folder}/{unit}")));
    let found = subject.account.uid.is_some() || subject.agent.is_ok() || subject.server.is_ok();
    (subject.account.is_service && !found && !UNITS.iter().any(unit)).then(|| {
        let mend = "install the package or the image; for a server of your own, run doctor as its user and not as root";
        Finding::note("service", "raspi-mcp is not installed as a service on this machine", mend)
    })
}

/// Tools of agents that are off until the owner accepts them.
fn agents(subject: &Subject) -> Vec<Finding> {
    let off = subject.agent.as_ref().map(|status| status.agents_off.as_slice()).unwrap_or_default();
    let finding = |(name, state): &(String, agent::ToolState)| {
        let agent = name.split('.').next().unwrap_or_default();
        let says = format!("{name} is off: it is {}", state.word());
        Finding::note("agents", says, format!("look at it and accept it: raspi-mcp agents accept {agent}"))
    };
    off.iter().map(finding).collect()
}

fn installed(root: &Root, unit: &str) -> Finding {
    let about = "unit";
    let Some(folder) = UNIT_FOLDERS.iter().find(|folder| root.has(&format!("{folder}/{unit}"))) else {
        let mend = format!("install dist/systemd/{unit}, then: systemctl enable --now {unit}");
        return Finding::wrong(about, format!("{unit} is not installed"), mend);
    };
    // A dangling link under this root counts too.
    let enabled =
        UNIT_FOLDERS.iter().any(|folder| root.link(&format!("{folder}/multi-user.target.wants/{unit}")).is_ok());
    if !enabled {
        let says = format!("{unit} does not start with the machine");
        return Finding::wrong(about, says, format!("systemctl enable {unit}"));
    }
    Finding::ok(about, format!("/{folder}/{unit}, starts with the machine"))
}

fn server(subject: &Subject, settings: &Settings) -> Finding {
    let about = "server";
    let socket = settings.socket.path.display();
    let start = if subject.account.is_service { "systemctl start raspi-mcp" } else { "raspi-mcp serve" };
    match &subject.server {
        Ok(version) if version == env!("CARGO_PKG_VERSION") => Finding::ok(about, format!("answers on {socket}")),
        Ok(version) => Finding::wrong(
            about,
            format!("the server that runs is {version}, this program {}", env!("CARGO_PKG_VERSION")),
            "restart it: systemctl restart raspi-mcp",
        ),
        Err(_) if !settings.socket.enabled => Finding::note(
            about,
            "its unix socket is off (socket.enabled), so it was not asked",
            "nothing, if that is meant",
        ),
        Err(error) if subject.account.is_service => Finding::wrong(about, error.message.clone(), start),
        Err(error) => Finding::note(about, error.message.clone(), start),
    }
}

fn agent(subject: &Subject, settings: &Settings, simulated: bool) -> Finding {
    let about = "agent";
    match &subject.agent {
        Ok(status) if status.version != env!("CARGO_PKG_VERSION") => Finding::wrong(
            about,
            format!("the agent that runs is {}, this program {}", status.version, env!("CARGO_PKG_VERSION")),
            "both come from one package: systemctl restart raspi-mcp-agent raspi-mcp",
        ),
        Ok(status) => match status.faults.first() {
            Some(fault) => Finding::wrong(about, fault.clone(), "look at: journalctl -u raspi-mcp-agent"),
            None => Finding::ok(about, format!("answers on {}", settings.places.agent_socket.display())),
        },
        Err(_) if simulated && !subject.account.is_service && settings.agent != AgentChoice::Socket => {
            Finding::ok(about, "runs inside the server, since the board is simulated; no server runs now")
        }
        Err(error) if !subject.account.is_service && subject.root.has(SERVICE_SOCKET) => Finding::wrong(
            about,
            error.message.clone(),
            format!(
                "the agent on /{SERVICE_SOCKET} works for the service alone; start one of yours, or use the service"
            ),
        ),
        Err(error) => {
            let mend = error.hint.clone().unwrap_or_else(|| "systemctl start raspi-mcp-agent".into());
            Finding::wrong(about, error.message.clone(), mend)
        }
    }
}

/// A halt is meant, but whoever wonders why nothing works has to hear of it.
fn halted(subject: &Subject) -> Option<Finding> {
    let halted = subject.agent.as_ref().ok()?.halted.as_ref()?;
    let says = format!("this machine is halted {}: every change is refused", halted.story());
    Some(Finding::wrong("halt", says, "raspi-mcp halt --lift, as root or as an approver"))
}

/// Whether server and agent use the same places: as reported by the running processes, otherwise by their
/// configuration.
fn places(subject: &Subject, settings: &Settings) -> Option<Finding> {
    let server = subject.server_places.as_ref().unwrap_or(&settings.places);
    let said = subject.agent.as_ref().ok().and_then(|status| status.places.as_ref());
    let read = || subject.agent_settings.as_ref()?.as_ref().ok().map(|settings| &settings.places);
    let differences = server.differences(said.or_else(read)?);
    (!differences.is_empty()).then(|| Finding::wrong("places", differences.join("; "), SAME_PLACES))
}

/// A service that server and agent use but can do without.
fn socket(subject: &Subject, simulated: bool, about: &'static str, path: &str, for_what: &str) -> Finding {
    if subject.root.has(path) {
        return Finding::ok(about, format!("/{path}"));
    }
    let (says, mend) =
        (format!("no /{path}: {for_what}"), "start it; a container or an image without systemd has none");
    // A service under systemd has both; a missing one is an error.
    if subject.account.is_service && subject.root.has("run/systemd/system") {
        return Finding::wrong(about, says, mend);
    }
    // Somebody's own server on a PC.
    if simulated && !subject.account.is_service {
        return Finding::ok(about, says);
    }
    Finding::note(about, says, mend)
}
