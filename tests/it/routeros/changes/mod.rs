//! What tools change at routers: writes to one, plans for many, and every way in which that may end early.

mod beside;
mod cuts;
mod ends;
mod kills;
mod many;
mod neighbours;
mod plans;
mod refusals;
mod rollback;
mod tested;
mod writes;

pub use super::{Judge, call};

use super::pinned;
use base::error::ToolError;
use contract::meta::Environment;
use raspi_mcp::routeros::{
    Device,
    routers::{Routers, Standing},
    service::RouterService,
};
use routeros_simulator::{Profile, Router, server::Listener};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc};
use tempfile::TempDir;

/// Routers `r01`, `r02`, ..., and a process that knows them.
pub struct Fleet {
    pub routers: Vec<Router>,
    pub listeners: Vec<Listener>,
    pub service: Arc<RouterService>,
    pub judge: Arc<Judge>,
    pub folder: TempDir,
    standing: Standing,
}

pub fn id(at: usize) -> String {
    format!("r{:02}", at + 1)
}

impl Fleet {
    pub async fn new(count: usize, profile: Profile) -> Self {
        Self::in_environment(count, profile, Environment::Lab).await
    }

    /// Open for everything, and tested.
    pub async fn in_environment(count: usize, profile: Profile, environment: Environment) -> Self {
        let standing = Standing { environment, tags: BTreeMap::new(), allow_advanced: true, allow_professional: true };
        let fleet = Self::with(count, profile, standing).await;
        for at in 0..count {
            fleet.service.work.files.keep_test(&id(at), profile.version()).unwrap();
        }
        fleet
    }

    pub async fn with(count: usize, profile: Profile, standing: Standing) -> Self {
        let (mut routers, mut listeners) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let router = Router::new(profile);
            listeners.push(Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap());
            routers.push(router);
        }
        let (folder, judge) = (tempfile::tempdir().unwrap(), Arc::<Judge>::default());
        let service = Arc::new(process(&devices(&listeners, &standing), folder.path(), Arc::clone(&judge)));
        Self { routers, listeners, service, judge, folder, standing }
    }

    /// What another process needs to know to be the same.
    pub fn configured(&self) -> Vec<(Device, Standing)> {
        devices(&self.listeners, &self.standing)
    }

    /// As if the process had ended, and another one began.
    pub fn restart(&mut self) {
        self.service = Arc::new(process(&self.configured(), self.folder.path(), Arc::clone(&self.judge)));
    }

    /// The owner says something else of its routers.
    pub fn with_standing(&mut self, standing: Standing) {
        self.standing = standing;
        self.restart();
    }

    pub fn ids(&self) -> Value {
        (0..self.routers.len()).map(id).collect()
    }

    /// Calls a tool by its name without the namespace.
    pub async fn call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        self.service.call(call(tool, args)).await
    }

    /// Plans for all routers, with a timer of 5 s.
    pub async fn plan(&self, tool: &str, mut args: Value) -> Result<Value, ToolError> {
        args["device_ids"] = self.ids();
        args["timer_seconds"] = json!(5);
        self.call(tool, args).await
    }

    /// Applies what was planned, without pauses.
    pub async fn apply(&self, plan: &Value) -> Result<Value, ToolError> {
        let tool = plan["next_tool"].as_str().unwrap().strip_prefix("routeros.").unwrap().to_owned();
        self.call(&tool, json!({ "plan_id": plan["plan_id"], "batch_pause_seconds": 0 })).await
    }

    /// How many writes were done at each router.
    pub fn writes(&self) -> Vec<u64> {
        self.routers.iter().map(Router::writes).collect()
    }
}

pub fn process(devices: &[(Device, Standing)], folder: &Path, judge: Arc<Judge>) -> RouterService {
    RouterService::new(Routers::new(devices.to_vec()).unwrap(), folder.to_owned(), judge)
}

fn devices(listeners: &[Listener], standing: &Standing) -> Vec<(Device, Standing)> {
    let device = |(at, listener): (usize, &Listener)| Device { id: id(at), ..pinned(listener) };
    listeners.iter().enumerate().map(device).map(|device| (device, standing.clone())).collect()
}

/// Without the lines that say when it was made, and without the scheduler's section.
pub fn export(router: &Router) -> String {
    let mut is_shown = true;
    let text = router.export();
    let kept = text.lines().filter(|line| {
        if line.starts_with('/') {
            is_shown = *line != "/system scheduler";
        }
        is_shown && !line.starts_with('#')
    });
    kept.fold(String::new(), |text, line| text + line + "\n")
}

/// The statuses of a job's routers, in order.
pub fn statuses(job: &Value) -> Vec<&str> {
    job["results"].as_array().unwrap().iter().map(|result| result["status"].as_str().unwrap()).collect()
}
