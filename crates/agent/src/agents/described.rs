//! The descriptors of accepted tools, kept over a restart: a program that starts at its first call could not describe itself before.

use crate::files::replace;
use base::error::ToolError;
use contract::config::{AgentType, sections::agents::AgentKind};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What tools say about themselves, by type and tool.
pub(super) type Descriptors = BTreeMap<String, BTreeMap<String, Value>>;

/// The file beside `agents.json`. That keeps its form, which a release before this one reads after a rollback.
pub(super) fn file(folder: &Path) -> PathBuf {
    folder.join("agents-described.json")
}

/// Of what a file has, the tools that are declared and do not come with the configuration.
pub(super) fn declared(mut kept: Descriptors, agents: &[AgentType]) -> Descriptors {
    kept.retain(|name, tools| {
        let found = agents.iter().find(|agent| agent.name == *name && agent.kind != AgentKind::Command);
        found.is_some_and(|agent| {
            tools.retain(|tool, _| agent.tools.contains_key(tool));
            !tools.is_empty()
        })
    });
    kept
}

/// # Errors
/// `unavailable` when it cannot be written.
pub(super) fn write(path: &Path, descriptors: &Descriptors) -> Result<(), ToolError> {
    let text = serde_json::to_vec(descriptors).map_err(|error| ToolError::internal(error.to_string()))?;
    replace(path, &text)
}
