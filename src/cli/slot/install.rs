//! `raspi-mcp slot install`: passes a bundle from a stick, a file or an address to the agent.

use super::{agreed, authorization, progress::InstallProgress};
use crate::{
    cli::{exit::Failure, say::outln},
    terminal::printable,
};
use agent::{
    AgentLink, UpdateTool,
    operations::update::{GetUpdateStatus, InstallRequest, RebootIntoRequest, RebootIntoUpdate},
};
use base::{
    clock::Wall,
    error::ToolError,
    os::{Root, clock},
};
use contract::config::Settings;
use std::path::{Path, PathBuf};
use update::{FileLocation, status::RestartPlan};
use update_client::fetch::{BundleSource, DownloadLimits, HttpClient};
use update_client::upload::{Bundle, Upload};

const TOOL: UpdateTool = UpdateTool::UpdateServer;

pub async fn run(agent: &AgentLink, settings: &Settings, bundle: &str, reboot: bool, yes: bool) -> Result<(), Failure> {
    let place = FileLocation::parse(&whole(bundle)?)?;
    let spool = spool(&place, settings);
    let status = agent.get::<GetUpdateStatus>().await?;
    let synchronised = status.simulated || clock::synchronized(&Root::system()) == Some(true);
    let limits = DownloadLimits::of(&settings.update, Root::system(), Wall::system(), status.time_floor);
    let http = HttpClient::for_place(DownloadLimits { synchronised, ..limits }, &place)?;
    let bundle = Bundle::open(BundleSource::new(http, vec![place]), |_, _| Ok(())).await?;
    if status.is_armed(&bundle.digest()) {
        outln!("{} is written and armed already", printable(&bundle.manifest().version));
        return restart(agent, reboot, yes).await;
    }
    let judged = agent.judge_bundle(TOOL, bundle.head()).await?;
    outln!(
        "{} would go into slot {}: {} bytes of images",
        printable(&judged.version),
        judged.target,
        judged.total_bytes
    );
    for note in &judged.notes {
        outln!("note: {}", printable(note));
    }
    if !agreed(yes, "write it?")? {
        return Ok(());
    }
    let progress = InstallProgress::default();
    let plan = if reboot { RestartPlan::Soon } else { RestartPlan::Waits };
    let request = InstallRequest { tool: TOOL, authorization: Some(authorization()), restart: plan };
    let upload = Upload { agent, request, spool, progress: &progress };
    let armed = upload.install(&bundle).await;
    drop(progress);
    let armed = armed?;
    outln!("{} is written into slot {}, read back and armed", printable(&armed.version), armed.target);
    restart(agent, reboot, yes).await
}

/// Restarts into the armed slot, if requested.
async fn restart(agent: &AgentLink, reboot: bool, yes: bool) -> Result<(), Failure> {
    if !reboot && (yes || !agreed(false, "restart into it now?")?) {
        outln!(
            "it is tried at the next restart: by `raspi-mcp slot install --reboot` of it, `manage.update_server` or `system.reboot`"
        );
        return Ok(());
    }
    let request = RebootIntoRequest { tool: TOOL, delay_seconds: 0, authorization: authorization() };
    match agent.call::<RebootIntoUpdate>(request).await {
        Ok(_) => outln!("the machine restarts; `raspi-mcp slot status` tells how it went"),
        // The agent keeps the plan.
        Err(error) if error.details.contains_key("restarts_by_itself") => outln!("{}", printable(&error.advice())),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Where missing blocks are stored until all are downloaded, before the target's head is zeroed. A local file needs no
/// spool: if its stick is removed meanwhile, the old system stays, and the installation can be repeated. The folder is
/// the agent's, because the server could not open files that root creates.
fn spool(place: &FileLocation, settings: &Settings) -> Option<(PathBuf, u64)> {
    match place {
        FileLocation::File(_) => None,
        FileLocation::Web(_) => {
            Some((settings.places.agent_state_dir.join("console"), settings.update.spool_reserve_bytes))
        }
    }
}

/// The absolute path of a local file; an address unchanged.
fn whole(bundle: &str) -> Result<String, ToolError> {
    if bundle.starts_with('/') || bundle.contains("://") {
        return Ok(bundle.to_owned());
    }
    let path = std::fs::canonicalize(Path::new(bundle))
        .map_err(|error| ToolError::not_found(format!("{bundle} cannot be read: {error}")).with("path", bundle))?;
    path.into_os_string()
        .into_string()
        .map_err(|_| ToolError::invalid("the path of the bundle is no UTF-8").hint("give it another name"))
}
