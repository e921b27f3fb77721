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

/// The roots of one call, in search order: configured roots before grants, and an outer granted folder before those
/// inside it.
pub fn reach(cx: &Context, want: FileAccess) -> Vec<Arc<FolderRoot>> {
    let policy = cx.services.policy.held();
    let tool = format!("files.{}", want.name());
    let paths = policy.grants(&tool, Some(&cx.caller.principal)).flat_map(|grant| &grant.paths);
    let mut granted: Vec<_> = paths.map(|path| Arc::new(FileRoot::granted_folder(path, want.is_change()))).collect();
    base::sort::sort_by_key(&mut granted, |root| root.resolved.components().count());
    cx.services.files.iter().cloned().chain(granted).collect()
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
