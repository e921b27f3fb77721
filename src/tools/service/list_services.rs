//! `service.list_services`: the installed and loaded services with their states (docs/contract/service.md).

use super::running::ServiceUsage;
use crate::{
    registry::{context::Context, tool::Tool},
    services::Services,
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
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

/// Loaded services, and installed ones that are not loaded, sorted by name.
async fn all(services: &Services) -> Result<(Vec<ListedService>, Arc<FileStates>), ToolError> {
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
    Ok(all(services).await?.0.into_iter().map(|service| service.name).collect())
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
        let (all, files) = all(&cx.services).await?;
        let pattern = args.name.map(|pattern| Glob::of_bytes(&pattern.to_lowercase()));
        let is_on = |name: &str| files.state(name).is_some_and(is_enabled);
        let wanted = |service: &ListedService| {
            let name = service.name.to_lowercase();
            let stem = name.strip_suffix(".service").unwrap_or(&name);
            pattern.as_ref().is_none_or(|pattern| pattern.fits(&name) || pattern.fits(stem))
                && args.status.as_ref().is_none_or(|states| states.contains(&service.status))
                && args.enabled.is_none_or(|enabled| enabled == is_on(&service.name))
        };
        let installed = all.len();
        let (page, pagination) = Pagination::of(all.into_iter().filter(wanted).collect(), args.limit, args.offset);
        let running = try_join_all(page.iter().map(|service| running(cx, service, args.detail))).await?;
        let services = page.into_iter().zip(running).map(|(service, running)| Summary {
            enabled: is_on(&service.name),
            unit_file_state: files.state(&service.name).map(str::to_owned),
            name: service.name,
            description: service.description,
            status: service.status,
            sub_status: service.sub_status,
            running,
        });
        let note = empty::filtered(&pagination, installed, "services");
        Ok(Out { services: services.collect(), pagination, note })
    }
}

async fn running(cx: &Context, service: &ListedService, detail: bool) -> Result<ServiceUsage, ToolError> {
    if !detail || !service.status.is_up() {
        return Ok(ServiceUsage::default());
    }
    let answer = properties::of_unit(&cx.services.machine.bus, &service.name).await?;
    Ok(ServiceUsage::of(cx, &service.name, &answer.read()?))
}
