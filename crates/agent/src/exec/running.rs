//! The running commands.

use super::output::LiveOutput;
use base::error::ToolError;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// The running commands by id.
#[derive(Default)]
pub(crate) struct Commands(Mutex<HashMap<String, Handle>>);

#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) live: Arc<LiveOutput>,
    pub(crate) stop: CancellationToken,
}

/// A slot among the running commands. Dropping it frees the slot.
pub(crate) struct RunningCommand<'a> {
    commands: &'a Commands,
    id: &'a str,
    pub(crate) handle: Handle,
}

impl Commands {
    pub(crate) fn start<'a>(&'a self, id: &'a str, most: usize) -> Result<RunningCommand<'a>, ToolError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= most {
            return Err(ToolError::exhausted(format!("{most} commands run already"))
                .with("limit", most)
                .hint("wait for one to end and call again"));
        }
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) || all.contains_key(id) {
            return Err(ToolError::invalid("a command's id is 32 hexadecimal digits, and its own").with("id", id));
        }
        let handle = Handle { live: Arc::default(), stop: CancellationToken::new() };
        all.insert(id.to_owned(), handle.clone());
        Ok(RunningCommand { commands: self, id, handle })
    }

    pub(crate) fn find(&self, id: &str) -> Result<Handle, ToolError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).cloned().ok_or_else(|| ToolError::not_found("no such command runs").with("id", id))
    }
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.handle.live.end();
        self.commands.0.lock().unwrap_or_else(PoisonError::into_inner).remove(self.id);
    }
}
