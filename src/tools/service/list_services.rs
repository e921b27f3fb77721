//! `service.list_services`: the installed and loaded services with their states (docs/contract/service.md).

use super::{running::ServiceUsage, simulated};
use crate::{
    registry::{context::Context, tool::Tool},
    services::Services,
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use agent::units::Unit;
use base::{
    error::ToolError,
    os::{
        glob::Glob,
        systemd::{
            enabled::{FileStates, is_enabled},
            list::{self, ActiveState, ListedService},
            name::LONGEST,
            properties,
        },
    },
};
use contract::meta::Meta;
use futures::future::try_join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Names with * and ?; case does not count.
    #[schemars(with = "Option<String>", length(min = 1, max = LONGEST))]
    #[serde(default, deserialize_with = "pattern")]
    name: Option<String>,
    /// In these states.
    #[schemars(length(min = 1, max = 8))]
    #[serde(default, deserialize_with = "states")]
    status: Option<Vec<ActiveState>>,
    /// Whether they start at boot.
    enabled: Option<bool>,
    /// Add pid, memory, CPU, uptime and restarts.
    #[serde(default)]
    detail: bool,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let pattern = Option::<String>::deserialize(deserializer)?;
    match pattern.as_ref().map(|pattern| pattern.chars().count()) {
        Some(length) if !(1..=LONGEST).contains(&length) => {
            Err(D::Error::custom(format!("{length} characters where 1 to {LONGEST} are allowed")))
        }
        _ => Ok(pattern),
    }
}

fn states<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<ActiveState>>, D::Error> {
    let states = Option::<Vec<ActiveState>>::deserialize(deserializer)?;
    match states.as_ref().map(Vec::len) {
        Some(count) if !(1..=8).contains(&count) => {
            Err(D::Error::custom(format!("{count} states where 1 to 8 are allowed")))
        }
        _ => Ok(states),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By name.
    services: Vec<Summary>,
    pagination: Pagination,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Summary {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    status: ActiveState,
    /// More exactly: running, exited, dead, failed, auto-restart, ...
    sub_status: String,
    /// Whether it starts at boot; of an instance, whether its template does.
    enabled: bool,
    /// enabled, disabled, static, masked, ... (systemctl is-enabled); absent without a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit_file_state: Option<String>,
    #[serde(flatten)]
    running: ServiceUsage,
}

/// A service before the caller's filters.
struct Known {
    service: ListedService,
    unit_file_state: Option<String>,
    /// Of a simulated service, all there is; of a real one, asked of systemd for the page that is shown.
    usage: Option<ServiceUsage>,
}

/// All services, sorted by name.
async fn all(services: &Services) -> Result<Vec<Known>, ToolError> {
    if let Some(units) = simulated::services(services).await? {
        return Ok(units.into_iter().map(Known::simulated).collect());
    }
    let (all, files) = of_systemd(services).await?;
    let known = |service: ListedService| {
        let unit_file_state = files.state(&service.name).map(str::to_owned);
        Known { service, unit_file_state, usage: None }
    };
    Ok(all.into_iter().map(known).collect())
}

impl Known {
    fn simulated(unit: Unit) -> Self {
        let usage = Some(ServiceUsage::of_process(unit.pid));
        let service = ListedService {
            description: simulated::description(&unit),
            name: unit.id,
            status: unit.status,
            sub_status: unit.sub_status,
        };
        Self { service, unit_file_state: unit.unit_file_state, usage }
    }

    fn is_enabled(&self) -> bool {
        self.unit_file_state.as_deref().is_some_and(is_enabled)
    }
}

/// Loaded services, and installed ones that are not loaded, sorted by name.
async fn of_systemd(services: &Services) -> Result<(Vec<ListedService>, Arc<FileStates>), ToolError> {
    // Sequential on the first call, so that no change is missed between the subscription and reading the states.
    let files = services.machine.systemd.enabled.files(&services.machine.bus).await?;
    let mut all = list::loaded(&services.machine.bus).await?;
    let loaded: std::collections::HashSet<&str> = all.iter().map(|service| service.name.as_str()).collect();
    let more: Vec<ListedService> = files
        .services()
        .filter(|(name, _)| !loaded.contains(name))
        .map(|(name, _)| ListedService {
            name: name.into(),
            description: String::new(),
            status: ActiveState::Inactive,
            sub_status: "dead".into(),
        })
        .collect();
    all.extend(more);
    base::sort::sort_by(&mut all, |a, b| a.name.cmp(&b.name));
    Ok((all, files))
}

/// The names of all services, for completions.
///
/// # Errors
/// As the tool.
pub async fn names(services: &Services) -> Result<Vec<String>, ToolError> {
    Ok(all(services).await?.into_iter().map(|known| known.service.name).collect())
}

pub struct ListServices;

impl Tool for ListServices {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.list_services",
        title: "Services",
        description: "Services of this machine and how they are.\n\nUse when: you look for one, or for what failed (status [\"failed\"]).\n\nReturns: name, status, whether it starts at boot.",
        estimated_tokens: 4500,
        paginated: true,
        tags: &["service", "systemd", "status"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let all = all(&cx.services).await?;
        if all.iter().any(|known| known.usage.is_some()) {
            cx.notes.simulated();
        }
        let pattern = args.name.map(|pattern| Glob::of_bytes(&pattern.to_lowercase()));
        let wanted = |known: &Known| {
            let name = known.service.name.to_lowercase();
            let stem = name.strip_suffix(".service").unwrap_or(&name);
            pattern.as_ref().is_none_or(|pattern| pattern.fits(&name) || pattern.fits(stem))
                && args.status.as_ref().is_none_or(|states| states.contains(&known.service.status))
                && args.enabled.is_none_or(|enabled| enabled == known.is_enabled())
        };
        let installed = all.len();
        let (page, pagination) = Pagination::of(all.into_iter().filter(wanted).collect(), args.limit, args.offset);
        let services = try_join_all(page.into_iter().map(|known| summary(cx, known, args.detail))).await?;
        let note = empty::filtered(&pagination, installed, "services");
        Ok(Out { services, pagination, note })
    }
}

async fn summary(cx: &Context, known: Known, detail: bool) -> Result<Summary, ToolError> {
    let enabled = known.is_enabled();
    let Known { service, unit_file_state, usage } = known;
    let running = match usage {
        _ if !detail || !service.status.is_up() => ServiceUsage::default(),
        Some(usage) => usage,
        None => {
            let answer = properties::of_unit(&cx.services.machine.bus, &service.name).await?;
            ServiceUsage::of(cx, &service.name, &answer.read()?)
        }
    };
    Ok(Summary {
        enabled,
        unit_file_state,
        name: service.name,
        description: service.description,
        status: service.status,
        sub_status: service.sub_status,
        running,
    })
}
