//! This machine's network, through NetworkManager.

use super::{ActivationPlan, ConnectionProfile, Network, NetworkCheckpoint, named};
use base::{
    error::ToolError,
    os::{
        bus::DBus,
        network_manager::{
            Objects,
            activation::{self, device},
            profile,
        },
    },
};
use futures::future::BoxFuture;
use std::time::Duration;

/// Active profiles in an answer, at most: as many as a machine has interfaces, usually fewer than five.
const MOST_ACTIVE: usize = 32;

/// NetworkManager, over D-Bus.
pub struct RealNetwork {
    pub bus: DBus,
}

impl Network for RealNetwork {
    fn plan<'a>(
        &'a self,
        wanted: &'a str,
        interface: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ActivationPlan, ToolError>> {
        Box::pin(async move {
            let objects = Objects::read(&self.bus).await?;
            let all = profile::all(&self.bus, &objects).await?;
            let found = named(&all, wanted, |each| (&each.uuid, &each.name))?;
            if let Some(interface) = interface {
                device(&objects, interface)?;
                if let Some(only) = found.interface.as_deref().filter(|only| *only != interface) {
                    return Err(ToolError::invalid(format!("{} is for {only} alone", found.name))
                        .with("parameter", "device")
                        .with("provided_value", interface)
                        .hint("leave device out"));
                }
            }
            let before = profile::active(&objects);
            Ok(ActivationPlan {
                profile: ConnectionProfile {
                    uuid: found.uuid.clone(),
                    name: found.name.clone(),
                    interfaces: Vec::new(),
                },
                path: found.path.clone(),
                device: interface.map(str::to_owned),
                before: before
                    .into_iter()
                    .take(MOST_ACTIVE)
                    .map(|active| ConnectionProfile {
                        uuid: active.uuid,
                        name: active.name,
                        interfaces: active.interfaces,
                    })
                    .collect(),
            })
        })
    }

    fn checkpoint(&self, timeout: Duration) -> BoxFuture<'_, Result<NetworkCheckpoint, ToolError>> {
        Box::pin(activation::checkpoint(&self.bus, timeout))
    }

    fn activate<'a>(&'a self, plan: &'a ActivationPlan) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            let objects = Objects::read(&self.bus).await?;
            activation::activate(&self.bus, &objects, &plan.path, plan.device.as_deref()).await
        })
    }

    fn revert_in<'a>(&'a self, to: &'a NetworkCheckpoint, timeout: Duration) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(activation::revert_in(&self.bus, to, timeout))
    }

    fn stands<'a>(&'a self, checkpoint: &'a NetworkCheckpoint) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(activation::stands(&self.bus, checkpoint))
    }

    fn end<'a>(&'a self, checkpoint: &'a NetworkCheckpoint, keep: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            match keep {
                true => activation::keep(&self.bus, checkpoint).await,
                false => activation::revert(&self.bus, checkpoint).await,
            }
        })
    }
}
