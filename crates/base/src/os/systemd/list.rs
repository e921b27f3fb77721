//! All loaded services with their states: one message, filtered by systemd.

use super::MANAGER;
use crate::{
    error::ToolError,
    os::bus::{DBus, refusal},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zbus::ObjectPath;

// As systemd has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ActiveState {
    Active,
    Reloading,
    Inactive,
    Failed,
    Activating,
    Deactivating,
    Maintenance,
    Refreshing,
}

impl ActiveState {
    /// Maps systemd's word. One that this version does not know counts as `maintenance`: neither active nor inactive.
    pub fn of(word: &str) -> Self {
        match word {
            "active" => Self::Active,
            "reloading" => Self::Reloading,
            "inactive" => Self::Inactive,
            "failed" => Self::Failed,
            "activating" => Self::Activating,
            "deactivating" => Self::Deactivating,
            "refreshing" => Self::Refreshing,
            _ => Self::Maintenance,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Reloading => "reloading",
            Self::Inactive => "inactive",
            Self::Failed => "failed",
            Self::Activating => "activating",
            Self::Deactivating => "deactivating",
            Self::Maintenance => "maintenance",
            Self::Refreshing => "refreshing",
        }
    }

    /// Neither `inactive` nor `failed`: a part of it may be running.
    pub fn is_up(self) -> bool {
        !matches!(self, Self::Inactive | Self::Failed)
    }
}

/// One service of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedService {
    pub name: String,
    pub description: String,
    pub status: ActiveState,
    /// The state specific to the kind of unit: running, exited, dead, auto-restart, ...
    pub sub_status: String,
}

type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str, ObjectPath<'a>, u32, &'a str, ObjectPath<'a>);

/// The loaded services, unsorted. Names that are only referenced and have no file are skipped.
///
/// # Errors
/// As [`DBus::call`].
pub async fn loaded(bus: &DBus) -> Result<Vec<ListedService>, ToolError> {
    units(bus, &[], &["*.service"], |(name, description, load, active, sub, ..)| {
        let status = ActiveState::of(active);
        (load != "not-found" || status.is_up()).then(|| ListedService {
            name: name.into(),
            description: description.into(),
            status,
            sub_status: sub.into(),
        })
    })
    .await
}

/// Collects `of` for each unit in one of `states` with a name that matches one of `patterns`; empty lists match all.
///
/// # Errors
/// As [`DBus::call`].
pub(super) async fn units<T, All: FromIterator<T>>(
    bus: &DBus,
    states: &[&str],
    patterns: &[&str],
    of: impl FnMut(Row<'_>) -> Option<T>,
) -> Result<All, ToolError> {
    let method = "ListUnitsByPatterns";
    let answer = bus.call(MANAGER, method, &(states, patterns)).await?;
    let body = answer.body();
    let rows: Vec<Row<'_>> = body.deserialize().map_err(|error| refusal(super::SERVICE, method, &error))?;
    Ok(rows.into_iter().filter_map(of).collect())
}
