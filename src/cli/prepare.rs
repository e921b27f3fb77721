//! `raspi-mcp prepare`

use super::{
    exit::{Exit, Failure},
    say::{errln, outln},
    sources,
};
use crate::{process_setup, registry::Registry};
use agent::BootableCard;
use appliance::{
    Folder,
    prepare::{PrepareResult, PrepareSite, prepare},
};
use base::{
    error::ToolError,
    os::{Root, doors, groups},
};
use contract::config::{self, Places, SERVER_USER, Settings, Sources};
use std::{fs, process::Command, sync::Arc, time::Duration};
use update::disk::{Disk, Layout, RealDisk};

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let sources = sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let settings = settings(&sources);
    // The agent caches the record in memory: nothing else may write it while it runs.
    if doors::is_served(&settings.places.agent_socket) {
        let why = "the agent runs: this is for the machine's start, before it; restart the machine";
        return Err(Failure::new(Exit::Refused, why));
    }
    let machine = process_setup::machine(&settings).map_err(|why| Failure::new(Exit::Config, why))?;
    let (simulated, system) = (machine.board.is_simulated(), Root::system());
    let root = if simulated { simulated_root(&settings)? } else { system.clone() };
    let disk = disk(&settings, simulated)?;
    let folder = Folder::at(&sources.places.identity_dir);
    let site = PrepareSite {
        disk: &*disk,
        root: &root,
        folder: &folder,
        group: groups::user_ids(&system, SERVER_USER).map(|(_, group)| group).filter(|_| !simulated),
        product: &settings.update.product,
        approver: agent::approvers::check,
        window: Duration::from_secs(60 * u64::from(settings.claim.window_minutes)),
        open_backup: appliance::backup::open,
        site_dir: &sources.places.site_dir,
        agent_dir: &settings.places.agent_state_dir,
    };
    let PrepareResult { claimed, notes, faults, restart } = prepare(&site)?;
    notes.iter().for_each(|note| outln!("{note}"));
    faults.iter().for_each(|fault| errln!("raspi-mcp: {fault}"));
    if restart {
        return restarted(simulated);
    }
    outln!("{}: {}", folder.path().display(), if claimed { "this machine has an owner" } else { "unclaimed" });
    Ok(())
}

/// The settings of the image and the site; if invalid, those of the image; otherwise the defaults. The identity must
/// not depend on a file that people edit: server and agent report its faults when they start.
fn settings(sources: &Sources) -> Settings {
    let image = || {
        let nowhere = sources.places.identity_dir.join("no-site");
        let places = Places { site_dir: nowhere, ..sources.places.clone() };
        config::load_agent(&Sources { places, file: None, ..sources.clone() })
    };
    config::load_agent(sources).or_else(|_| image()).unwrap_or_else(|_| Settings::default_for(&sources.places))
}

fn disk(settings: &Settings, simulated: bool) -> Result<Arc<dyn Disk>, ToolError> {
    if simulated {
        return Ok(BootableCard::simulated(&settings.places.agent_state_dir.join("card"))?.disk);
    }
    let disk = RealDisk::new(Root::system(), Layout::of(&settings.update.layout)?);
    disk.card()?;
    Ok(Arc::new(disk))
}

/// Stands for `/` on a simulated board, so that the name and network of the real machine stay unchanged.
fn simulated_root(settings: &Settings) -> Result<Root, ToolError> {
    let folder = settings.places.agent_state_dir.join("machine");
    let kernel = folder.join("proc/sys/kernel");
    let made = fs::create_dir_all(&kernel).and_then(|()| fs::create_dir_all(folder.join("data")));
    let made = made.and_then(|()| fs::OpenOptions::new().append(true).create(true).open(kernel.join("hostname")));
    made.map_err(|error| ToolError::unavailable(format!("{} cannot be made: {error}", folder.display())))?;
    Ok(Root::at(folder))
}

/// Restarts after a reset: nothing may continue with the remaining state.
fn restarted(simulated: bool) -> Result<(), Failure> {
    if simulated {
        outln!("a real machine restarts now");
        return Ok(());
    }
    let failed = |why: String| Failure::new(Exit::Failed, format!("the machine has to be restarted: {why}"));
    let asked = Command::new("systemctl").args(["--no-block", "reboot"]).status();
    match asked {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("systemctl ended with {status}"))),
        Err(error) => Err(failed(error.to_string())),
    }
}
