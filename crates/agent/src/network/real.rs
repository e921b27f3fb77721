//! This machine's network, through NetworkManager.

use super::{ActivationPlan, ConnectionProfile, Network, NetworkCheckpoint, ProfileChange, WifiScan, named, taken};
use base::{
    error::ToolError,
    os::{
        Root,
        bus::DBus,
        network_manager::{
            Objects,
            activation::{self, device},
            edit,
            flush::flush,
            profile, scan,
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
            let profile =
                ConnectionProfile { uuid: found.uuid.clone(), name: found.name.clone(), interfaces: Vec::new() };
            Ok(ActivationPlan {
                profile,
                path: Some(found.path.clone()),
                device: interface.map(str::to_owned),
                before: before(&objects),
            })
        })
    }

    fn plan_edit<'a>(
        &'a self,
        change: &'a ProfileChange,
        adds: bool,
    ) -> BoxFuture<'a, Result<ActivationPlan, ToolError>> {
        Box::pin(async move {
            let objects = Objects::read(&self.bus).await?;
            let all = profile::all(&self.bus, &objects).await?;
            let interface = change.device.clone();
            if let (Some(interface), true) = (&interface, change.activate) {
                device(&objects, interface)?;
            }
            let name = change.connection.clone();
            if adds {
                if all.iter().any(|each| each.name == name) {
                    return Err(taken(&name));
                }
                let profile = ConnectionProfile { uuid: edit::new_uuid()?, name, interfaces: Vec::new() };
                return Ok(ActivationPlan { profile, path: None, device: interface, before: before(&objects) });
            }
            let found = named(&all, &name, |each| (&each.uuid, &each.name))?;
            edit::fits(&found.kind, change)?;
            let interfaces = found.active.as_ref().map(|active| active.interfaces.clone()).unwrap_or_default();
            Ok(ActivationPlan {
                device: interface.or_else(|| interfaces.first().cloned()),
                profile: ConnectionProfile { uuid: found.uuid.clone(), name: found.name.clone(), interfaces },
                path: Some(found.path.clone()),
                before: before(&objects),
            })
        })
    }

    fn edit<'a>(
        &'a self,
        plan: &'a ActivationPlan,
        change: &'a ProfileChange,
        keep: bool,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let path = match &plan.path {
                None => edit::add(&self.bus, &plan.profile.uuid, change, keep).await?,
                Some(path) => edit::update(&self.bus, path, change, keep).await.map(|()| path.clone())?,
            };
            if keep {
                flush(Root::system()).await?;
            }
            Ok(path)
        })
    }

    fn save<'a>(&'a self, uuid: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            edit::save(&self.bus, uuid).await?;
            flush(Root::system()).await
        })
    }

    fn scan<'a>(&'a self, device: Option<&'a str>, rescan: bool) -> BoxFuture<'a, Result<WifiScan, ToolError>> {
        Box::pin(scan::scan(&self.bus, device, rescan))
    }

    fn checkpoint(&self, timeout: Duration, adds: bool) -> BoxFuture<'_, Result<NetworkCheckpoint, ToolError>> {
        Box::pin(activation::checkpoint(&self.bus, timeout, adds))
    }

    fn activate<'a>(&'a self, plan: &'a ActivationPlan) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        Box::pin(async move {
            let objects = Objects::read(&self.bus).await?;
            activation::activate(&self.bus, &objects, plan.path.as_deref().unwrap_or("/"), plan.device.as_deref()).await
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

/// What is active now.
fn before(objects: &Objects) -> Vec<ConnectionProfile> {
    let active = profile::active(objects).into_iter().take(MOST_ACTIVE);
    active.map(|one| ConnectionProfile { uuid: one.uuid, name: one.name, interfaces: one.interfaces }).collect()
}
