//! The card and boot chain that updates work on: this machine's, or those of a simulated one.

use crate::AgentSettings;
use base::{error::ToolError, os::Root};
use contract::config::sections::update::Flow;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use update::{
    Slot,
    boot::{BootFlow, FlowSetting, of_machine},
    disk::{Access, Area, Disk, FolderDisk, Layout, RealDisk},
    simulated,
};

/// Sizes of a simulated machine's areas, in bytes: sparse, and quick to hash.
const BOOT: u64 = 256 << 10;
const ROOT: u64 = 4 << 20;
/// Content of both slots of a simulated machine before its first update.
const FACTORY: &str = "factory";
/// Hardware name that a bundle for a simulated machine lists.
const SIMULATED: &str = "raspi-mcp,simulated";

/// The card and its boot chain.
#[derive(Clone)]
pub struct BootableCard {
    pub disk: Arc<dyn Disk>,
    pub flow: Arc<dyn BootFlow>,
    /// The layout's name.
    pub layout: String,
    /// Device-tree compatibles of the board.
    pub hardware: Vec<String>,
    /// The simulated board, where there is one: it restarts in this process only.
    pub board: Option<Arc<simulated::RestartableBoard>>,
}

impl BootableCard {
    /// The card of the machine that the settings describe.
    ///
    /// # Errors
    /// `capability_missing` without two slots; otherwise why they cannot be used.
    pub fn of(settings: &AgentSettings) -> Result<Self, ToolError> {
        if settings.simulated { Self::simulated(&settings.state_dir.join("card")) } else { Self::real(settings) }
    }

    /// A simulated machine's card, in a folder of sparse files that is created if missing.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn simulated(folder: &Path) -> Result<Self, ToolError> {
        let layout = Layout::shipped()?;
        let fresh = !folder.exists();
        let disk = FolderDisk::create(folder, simulated::areas(BOOT, ROOT)).map_err(|error| {
            ToolError::unavailable(format!("the simulated card {} cannot be made: {error}", folder.display()))
                .hint("check the space on and the permissions of the agent's state directory")
        })?;
        if fresh {
            let root = format!("the root of the simulated machine, as the {FACTORY} made it\n");
            simulated::factory(&disk, &layout, &simulated::boot_image(BOOT as usize, FACTORY)?, root.as_bytes())?;
        }
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let start = base::clock::millis(time::OffsetDateTime::now_utc());
        let count = AtomicU32::new(0);
        let ids = Box::new(move || format!("simulated-{start}-{}", count.fetch_add(1, Ordering::Relaxed) + 1));
        let board = simulated::RestartableBoard::power_on(
            Arc::clone(&disk),
            layout.clone(),
            simulated::SimulatedBootChain::Tryboot,
            ids,
        );
        let name = layout.name.clone();
        let flow = Arc::new(simulated::SimulatedFlow::new(Arc::clone(&board), layout));
        Ok(Self { disk, flow, layout: name, hardware: vec![SIMULATED.into()], board: Some(board) })
    }

    /// The simulated fault of the system in `slot`: a line `sick: why` in the first 4 KiB of its root, which is text
    /// there.
    pub fn sickness(&self, slot: Slot) -> Option<String> {
        let device = self.disk.open(Area::Root(slot), Access::Read).ok()?;
        let mut head = vec![0; 4096];
        device.read(0, &mut head).ok()?;
        let text = String::from_utf8_lossy(&head).into_owned();
        text.lines().find_map(|line| line.strip_prefix("sick: ")).map(|why| why.trim_end_matches('\0').to_owned())
    }

    fn real(settings: &AgentSettings) -> Result<Self, ToolError> {
        let (root, update) = (&settings.root, &settings.update);
        let file = root.path(&update.layout.display().to_string());
        if !file.exists() {
            return Err(ToolError::missing(format!(
                "this machine has no two slots: there is no layout at {}",
                file.display()
            ))
            .with("path", file.display().to_string())
            .hint("updates need an image with the layout of docs/boot.md; update.layout names its file"));
        }
        let layout = Layout::read(&file)?;
        let disk = RealDisk::new(root.clone(), layout.clone());
        disk.card()?;
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let wanted = match update.flow {
            Flow::Auto => FlowSetting::Auto,
            Flow::Tryboot => FlowSetting::Tryboot,
            Flow::Uboot => FlowSetting::Uboot,
            Flow::Custom => FlowSetting::Custom(update.flow_command.clone()),
        };
        let flow = of_machine(root, &layout, &wanted, Arc::clone(&disk))?;
        Ok(Self { disk, flow: flow.into(), layout: layout.name, hardware: compatibles(root), board: None })
    }
}

/// The board's compatibles, most specific first; without a device tree, a generic machine of its architecture.
fn compatibles(root: &Root) -> Vec<String> {
    let bytes = root.read_bytes("proc/device-tree/compatible").unwrap_or_default();
    let mut found: Vec<String> = bytes
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    if found.is_empty() {
        found.push(format!("generic-{}", std::env::consts::ARCH));
    }
    found
}
