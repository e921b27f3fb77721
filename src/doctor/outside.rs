//! Whether a server that listens on loopback answers from outside all the same, through a tunnel or a proxy.

use super::{Finding, Subject};
use base::os::processes::Proc;
use contract::config::{Settings, is_loopback, is_loopback_host};

/// Programs that make a port of this machine reachable from elsewhere, as the kernel names their processes.
const TUNNELS: &[&str] = &["bore", "cloudflared", "frpc", "localtonet", "ngrok", "pagekite", "rathole", "zrok"];
const TOKEN: &str = "make one for each client: raspi-mcp token make --name NAME --role read_only";

pub(super) fn check(subject: &Subject, settings: &Settings) -> Vec<Finding> {
    let (http, access) = (&settings.http, &settings.access);
    if !http.enabled || !is_loopback(http.listen.ip()) {
        return Vec::new();
    }
    let what = if http.page { "this server, and its page, answers" } else { "this server answers" };
    let mut findings = Vec::new();
    let names: Vec<&str> =
        http.allowed_hosts.iter().map(String::as_str).filter(|host| !is_loopback_host(host)).collect();
    if !names.is_empty() {
        let says = format!(
            "{what} to {} (http.allowed_hosts), so every caller over TCP needs a token, those on this machine too",
            names.join(", ")
        );
        findings.push(if access.tokens.is_empty() && !settings.jwt.is_on() {
            Finding::wrong("outside", format!("{says}, and there is none"), TOKEN)
        } else {
            Finding::note("outside", says, "nothing, if that is meant; otherwise take the names out")
        });
    }
    if let Some(seen) = &subject.outside {
        let says = format!(
            "{what} from outside: {} requests came through a tunnel or a proxy, the last at {}, shown by {}",
            seen.requests, seen.last_at, seen.sign
        );
        findings.push(Finding::note(
            "outside",
            says,
            "nothing, if that is meant: such a request needs a token; otherwise end what forwards to this port",
        ));
    }
    let is_open = !access.require_token && names.is_empty();
    findings.extend(tunnel(subject).filter(|_| is_open).map(|program| {
        let says = format!(
            "{program} runs on this machine: where it forwards bare TCP to port {}, callers look like programs of this machine",
            http.listen.port()
        );
        Finding::note("outside", says, "set access.require_token = true, or do not forward that port")
    }));
    findings
}

/// The first of such programs that runs.
fn tunnel(subject: &Subject) -> Option<String> {
    let running = Proc::open(&subject.root).and_then(|mut all| all.all()).ok()?;
    running.into_iter().map(|process| process.comm).find(|name| TUNNELS.contains(&name.as_str()))
}
