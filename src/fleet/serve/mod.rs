//! The fleet of an owner's folder, as the tools of `raspi-mcp fleet serve` reach it (docs/fleet.md, "For an assistant").
//!
//! Statuses are kept up to date by one task; each rollout has a controller of its own. The folder is read again when a device is
//! signed or revoked.

mod alarm;
mod call;
mod device;
mod follow;
mod plans;
mod port;
mod rollouts;
mod shares;

pub use alarm::{FleetNews, SilentDevices};

use super::console::{
    Console, FleetFolder,
    watch::{FleetWatch, SharedBook},
};
use crate::fleet_port::{FleetPort, ServedFleet, callers::FleetCallers};
use base::{clock::Wall, error::ToolError};
use rollouts::Rollouts;
use shares::DeviceShares;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What is served.
#[derive(Clone, Debug)]
pub struct ServedFolder {
    /// The folder of the fleet.
    pub dir: PathBuf,
    /// A device is silent when its last status is older than this, in ms.
    pub silent_after_ms: i64,
}

impl ServedFolder {
    /// Where the server keeps its configuration and state.
    pub fn state(&self) -> PathBuf {
        self.dir.join("serve")
    }
}

/// A fleet that is connected.
pub struct FleetServer {
    fleet: Arc<BrokerFleet>,
    watch: FleetWatch,
}

/// The port of the tools.
struct BrokerFleet {
    served: ServedFolder,
    view: Mutex<View>,
    rollouts: Rollouts,
    shares: DeviceShares,
}

/// The folder as it was read last, and the statuses of its devices.
#[derive(Clone)]
struct View {
    console: Arc<Console>,
    book: SharedBook,
}

impl FleetServer {
    /// Connects, and reads all statuses. `folder` and `callers` are what is in the folder. Controllers run on `tasks` until `stop`.
    ///
    /// # Errors
    /// `invalid_argument` for a folder that cannot be used; `unavailable` when the broker does not answer.
    pub async fn start(
        served: ServedFolder,
        folder: FleetFolder,
        callers: FleetCallers,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<(Self, ServedFleet), ToolError> {
        let console = Arc::new(Console::connect(folder, Wall::system()).await?);
        let watch = FleetWatch::start(Arc::clone(&console), served.silent_after_ms).await?;
        let view = Mutex::new(View { console, book: watch.book().clone() });
        let rollouts = Rollouts::new(served.dir.clone(), tasks, stop);
        let fleet = Arc::new(BrokerFleet { served, view, rollouts, shares: DeviceShares::default() });
        let port: Arc<dyn FleetPort> = Arc::<BrokerFleet>::clone(&fleet);
        Ok((Self { fleet, watch }, ServedFleet { port, callers }))
    }
}

impl BrokerFleet {
    fn view(&self) -> View {
        // It is replaced as a whole.
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, view: View) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }
}
