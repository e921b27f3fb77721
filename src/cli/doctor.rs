//! `raspi-mcp doctor`

use super::say::{out, outln};
use super::{
    bundle::files,
    exit::{Exit, Failure},
    running::{PATIENCE, Running},
    sources,
};
use crate::{
    doctor::{self, DoctorReport, Finding, ServerAccount, Severity, Subject, update::Preflight},
    registry::Registry,
};
use agent::{
    AgentLink, Client,
    operations::{status::GetStatus, update::GetUpdateStatus},
};
use base::{
    error::ToolError,
    os::{Root, groups},
};
use contract::config::{self, BoardChoice, Places, SERVER_USER, Settings, Sources};
use hw::{
    board::Board,
    devices::DeviceFile,
    firmware::{Firmware, Throttled},
};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};
use update::bundle::Manifest;

#[derive(clap::Args)]
pub struct Args {
    /// Show every setting and its source, not only those that differ from the default
    #[arg(long)]
    all: bool,
    /// Check only whether an update could succeed now: slots, space, keys, power, wear, boot loader, time
    #[arg(long)]
    update: bool,
    /// With --update: also check whether this release would understand the configuration. FILE is a bundle or its head; it is not verified
    #[arg(long, value_name = "FILE", requires = "update")]
    bundle: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let sources = sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    if args.update {
        return preflight(args, &sources);
    }
    let report = doctor::examine(&super::runtime()?.block_on(look(sources, Root::system())));
    if args.json {
        let text = serde_json::to_string_pretty(&report);
        outln!("{}", text.map_err(|error| Failure::new(Exit::Failed, format!("the report: {error}")))?);
    } else {
        out!("{}", told(&report, args.all));
    }
    match report.wrong {
        0 => Ok(()),
        // Already reported.
        _ => Err(Failure::new(Exit::Failed, "")),
    }
}

/// `raspi-mcp doctor --update`
fn preflight(args: &Args, sources: &Sources) -> Result<(), Failure> {
    let root = Root::system();
    let settings = config::explain(sources);
    let fallback = Settings::default_for(&sources.places);
    let socket = settings.as_ref().map_or(&fallback, |(settings, _)| settings).places.agent_socket.clone();
    let socket = super::sources::reach(&socket, |places| places.agent_socket.clone());
    let link = AgentLink::Socket(Client::new(&socket));
    let (status, throttled) = super::runtime()?.block_on(async {
        // Takes longer than a status query, because the whole record on the card is read.
        let status = tokio::time::timeout(PATIENCE * 6, link.get::<GetUpdateStatus>()).await;
        let status = status.unwrap_or_else(|_| Err(ToolError::timeout("the agent", PATIENCE * 6)));
        (status, firmware(&root).await)
    });
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let release = args.bundle.as_deref().map(|path| manifest(path).map_err(|failure| failure.message));
    let image_dir = sources.places.image_dir.clone();
    let shared_dir = config::is_shared(sources).then(|| sources.places.site_dir.clone());
    let preflight = Preflight { root, settings, status, throttled, now, release, image_dir, shared_dir };
    let findings = doctor::update::preflight(&preflight);
    if args.json {
        let text = serde_json::to_string_pretty(&findings);
        outln!("{}", text.map_err(|error| Failure::new(Exit::Failed, format!("the report: {error}")))?);
    } else {
        out!("{}", listed(&findings));
    }
    match findings.iter().any(|finding| finding.state == Severity::Wrong) {
        false => Ok(()),
        // Already reported.
        true => Err(Failure::new(Exit::Failed, "")),
    }
}

/// The manifest of a bundle.
fn manifest(path: &Path) -> Result<Manifest, Failure> {
    let envelope = files::head(path, &mut files::open(path)?)?;
    Manifest::parse(&envelope.manifest).map_err(|fault| files::refused(path, fault))
}

/// The firmware's power flags, if this user may read them: from the kernel's file, on a Raspberry Pi.
async fn firmware(root: &Root) -> Option<Throttled> {
    let board = Board::detect(BoardChoice::Auto, root).ok().filter(|board| !board.is_simulated())?;
    Firmware::new(root, &board, None).throttled().await.ok().flatten()
}

/// Findings for people, worst first.
fn listed(findings: &[Finding]) -> String {
    let mut text = String::new();
    for state in [Severity::Wrong, Severity::Note, Severity::Ok] {
        for finding in findings.iter().filter(|finding| finding.state == state) {
            let mark = match state {
                Severity::Wrong => "WRONG",
                Severity::Note => "note",
                Severity::Ok => "ok",
            };
            let _ = writeln!(text, "{mark:<6} {:<14} {}", finding.about, finding.says);
            if let Some(mend) = &finding.mend {
                let _ = writeln!(text, "{:<6} {:<14}   -> {mend}", "", "");
            }
        }
    }
    text
}

async fn look(sources: Sources, root: Root) -> Subject {
    let settings = config::explain(&sources);
    let fallback = Settings::default_for(&sources.places);
    let known = settings.as_ref().map_or(&fallback, |(settings, _)| settings);
    let agent = ask_agent(&known.places.agent_socket).await;
    let (server, server_places, webhooks, outside) = match Running::ask(&known.socket.path).await {
        Ok(running) => (Ok(running.version.clone()), running.places(), running.webhooks(), running.outside()),
        Err(error) => (Err(error), None, Vec::new(), None),
    };
    let is_root = rustix::process::geteuid().is_root();
    Subject {
        // The agent's environment differs from this command's.
        agent_settings: (is_root && sources.places.policy_owner.is_some())
            .then(|| config::load_agent(&Sources { env: Vec::new(), ..sources.clone() })),
        account: account(&sources.places, &root),
        settings,
        agent,
        server,
        server_places,
        webhooks,
        outside,
        places: sources.places,
        root,
    }
}

/// The service's account if the places are the system's; otherwise the current user's.
fn account(places: &Places, root: &Root) -> ServerAccount {
    if places.policy_owner.is_some() {
        return ServerAccount { name: SERVER_USER.into(), uid: groups::user_id(root, SERVER_USER), is_service: true };
    }
    let uid = rustix::process::geteuid().as_raw();
    let name = groups::user_name(root, uid).unwrap_or_else(|| format!("user {uid}"));
    ServerAccount { name, uid: Some(uid), is_service: false }
}

async fn ask_agent(socket: &Path) -> Result<agent::AgentStatus, ToolError> {
    let link = AgentLink::Socket(Client::new(socket));
    tokio::time::timeout(PATIENCE, link.get::<GetStatus>())
        .await
        .unwrap_or_else(|_| Err(ToolError::timeout("the agent", PATIENCE)))
}

/// The report for people, worst findings first.
pub fn told(report: &DoctorReport, all: bool) -> String {
    let mut text = format!("raspi-mcp {}", report.version);
    if let Some(board) = &report.board {
        let _ = write!(text, " on {board}");
    }
    let whose = if report.service { "the service, user" } else { "the server of" };
    let _ = writeln!(text, "; about {whose} {}\n", report.account);
    text.push_str(&listed(&report.findings));
    text.push_str("\ndevices\n");
    let kinds = &report.devices;
    for (kind, devices) in
        [("gpio", &kinds.gpio), ("i2c", &kinds.i2c), ("spi", &kinds.spi), ("video", &kinds.video), ("pwm", &kinds.pwm)]
    {
        let described: Vec<String> = devices.iter().map(DeviceFile::described).collect();
        let _ =
            writeln!(text, "  {kind:<6} {}", if described.is_empty() { "none".into() } else { described.join(", ") });
    }
    let _ =
        writeln!(text, "\nsettings{}", if all { "" } else { " that differ from the default; --all shows the rest" });
    for setting in report.settings.iter().filter(|setting| all || setting.from != "default") {
        let _ = writeln!(text, "  {} = {}  ({})", setting.key, setting.value, setting.from);
    }
    let count = |number: usize, one: &str, more: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {more}"),
    };
    let wrong = count(report.wrong, "thing is wrong", "things are wrong");
    let _ = writeln!(text, "\n{wrong}, {} worth knowing", count(report.notes, "thing is", "things are"));
    text
}
