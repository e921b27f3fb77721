//! Work below a root: on a thread that may wait for its file system, which may never answer (a network, a program of
//! FUSE). Nothing else waits with it: not the server's thread, and not changes on other devices (decision 530).

use super::place::RootedPath;
use crate::registry::context::Context;
use base::{
    error::ToolError,
    os::blocking::{self, StopSignal},
};
use std::sync::Arc;

/// Runs `work` at `place` on such a thread.
///
/// # Errors
/// Those of `work`; `unavailable` while earlier calls still wait for the root's file system.
pub async fn visiting<T: Send + 'static>(
    cx: &Context,
    place: RootedPath,
    work: impl FnOnce(&RootedPath, &StopSignal) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let services = Arc::clone(&cx.services);
    blocking::run("files", move |stop| {
        let _visit = services.files.visit(&place.root, stop).ok_or_else(|| stuck(&place))?;
        work(&place, stop)
    })
    .await
}

/// The same for a change: one at a time of each device.
///
/// # Errors
/// Those of [`visiting`] and of opening the root.
pub async fn changing<T: Send + 'static>(
    cx: &Context,
    place: RootedPath,
    work: impl FnOnce(&RootedPath, &StopSignal) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let device = |place: &RootedPath, _: &StopSignal| place.open()?.device().map_err(|fault| place.fault(fault));
    let device = visiting(cx, place.clone(), device).await?;
    let turn = blocking::unless_told("files", cx.services.files.turn(device)).await?;
    visiting(cx, place, move |place, stop| {
        let _turn = turn;
        work(place, stop)
    })
    .await
}

fn stuck(place: &RootedPath) -> ToolError {
    let path = place.root.path.display();
    ToolError::unavailable(format!("the file system of {path} does not answer: earlier calls still wait for it"))
        .with("resource", path.to_string())
        .hint("look at what is mounted there and at the server or program behind it; umount -f or -l ends the waiting")
}
