//! `raspi-mcp slot install`: a bundle from a stick, a file or an address, handed to the agent.

use super::{agreed, bar::Bar, warrant};
use crate::{
    agent::{
        AgentLink,
        deeds::update::{InstallRequest, RebootIntoRequest, UpdateTool},
    },
    cli::{approve::printable, exit::Failure, say::outln},
    clock::Wall,
    config::Settings,
    error::ToolError,
    os::{
        Root,
        clock::{self, Zone},
    },
    update::fetch::{Line, Place, Source},
    updating::carry::{Bundle, Carry},
};
use std::path::{Path, PathBuf};

const TOOL: UpdateTool = UpdateTool::UpdateServer;

pub async fn run(agent: &AgentLink, settings: &Settings, bundle: &str, reboot: bool, yes: bool) -> Result<(), Failure> {
    let place = Place::parse(&whole(bundle)?)?;
    let spool = spool(&place, settings);
    let zone = clock::zone(&Root::system()).unwrap_or_else(|_| Zone::utc());
    let floor = agent.update_status().await?.time_floor;
    let line = Line::new(settings.update.limits(zone, Wall::system(), floor))?;
    let bundle = Bundle::open(Source::new(line, vec![place]), |_, _| Ok(())).await?;
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
    let bar = Bar::default();
    let request = InstallRequest { tool: TOOL, warrant: Some(warrant()) };
    let carry = Carry { agent, request, spool, told: &bar };
    let armed = carry.install(&bundle).await;
    bar.end();
    let armed = armed?;
    outln!("{} is written into slot {}, read back and armed", printable(&armed.version), armed.target);
    if reboot || !yes && agreed(false, "restart into it now?")? {
        agent.reboot_into_update(RebootIntoRequest { tool: TOOL, delay_seconds: 0, warrant: warrant() }).await?;
        outln!("the machine restarts; `raspi-mcp slot status` tells how it went");
    } else {
        outln!("it is tried at the next `raspi-mcp slot install --reboot` of it, or `manage.update_server`");
    }
    Ok(())
}

/// Where blocks wait until all are here (rule 6 of docs/update.md). A file is here already: a stick that is pulled out while it is read leaves
/// the old system, and a new start goes on. The folder is the agent's, not the server's: what root makes there the server could not open.
fn spool(place: &Place, settings: &Settings) -> Option<(PathBuf, u64)> {
    match place {
        Place::File(_) => None,
        Place::Web(_) => Some((settings.places.agent_state_dir.join("console"), settings.update.spool_reserve_bytes)),
    }
}

/// The full path of a file that is here; an address as it is.
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
