//! The folders that a call may reach: the configured roots, and those that a grant opens to its tool and caller.

use super::place::FileAccess;
use crate::registry::context::Context;
use base::os::roots::FolderRoot;
use contract::config::FileRoot;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// A root, as callers see it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RootOut {
    /// Of a granted folder, its path.
    name: String,
    /// Full path of the folder.
    path: String,
    writable: bool,
    /// The largest file that is read or written there.
    max_bytes: u64,
}

/// The roots of one call, in search order: the configured ones, where they count for the caller, before grants, and an outer
/// granted folder before those inside it.
pub fn reach(cx: &Context, want: FileAccess) -> Vec<Arc<FolderRoot>> {
    let reach = cx.reach(&format!("files.{}", want.name()));
    let granted = reach.paths().map(|path| Arc::new(FileRoot::granted_folder(path, want.is_change())));
    let mut granted: Vec<_> = granted.collect();
    base::sort::sort_by_key(&mut granted, |root| root.resolved.components().count());
    let listed = cx.services.files.iter().filter(|_| reach.listed);
    listed.cloned().chain(granted).collect()
}

/// All folders that any tool of `files.*` may reach for this caller.
pub fn roots(cx: &Context) -> Vec<RootOut> {
    let mut all: Vec<RootOut> = Vec::new();
    for want in [FileAccess::List, FileAccess::Read, FileAccess::Write, FileAccess::Delete] {
        for root in reach(cx, want) {
            let (path, writable) = (root.path.display().to_string(), want == FileAccess::Write && root.writable);
            match all.iter_mut().find(|shown| shown.path == path) {
                Some(shown) => shown.writable |= writable,
                None => {
                    all.push(RootOut { name: root.name.clone(), path, writable, max_bytes: root.max_bytes });
                }
            }
        }
    }
    all
}
