//! `system.list_packages`: what is installed (docs/contract/system.md).

use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        bounded, empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::{
    error::ToolError,
    os::{
        blocking,
        packages::{self, Package, Source},
    },
};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only those whose name has this in it.
    #[serde(default, deserialize_with = "bounded::<_, 0, 100>")]
    #[schemars(length(max = 100))]
    name: String,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By name.
    packages: Vec<Shown>,
    /// Who keeps the list; image: what this appliance was made with.
    source: Source,
    pagination: Pagination,
    /// What could not be read of the list, which is then not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Shown {
    name: String,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    architecture: Option<String>,
    /// installed, config-files (removed, its configuration left), half-installed, ...
    state: String,
}

/// Why nothing in the list fits.
fn why_none(name: &str) -> String {
    empty::narrowed("packages", &[("name", !name.is_empty())])
}

pub struct ListPackages;

impl Tool for ListPackages {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.list_packages",
        title: "Installed packages",
        description: "The software packages of this machine.\n\nUse when: you ask whether something is installed, or in which version.\n\nReturns: name, version, architecture, state; from dpkg, opkg or the appliance's image.",
        listing: Listing::Extra,
        estimated_tokens: 3000,
        paginated: true,
        tags: &["system", "packages", "software"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (root, name) = (cx.services.machine.root.clone(), args.name.clone());
        let list = blocking::run("system", move |stop| packages::read(&root, &name, stop)).await?.ok_or_else(|| {
            ToolError::missing("this machine has no list of packages: neither dpkg's, nor opkg's, nor an appliance's")
                .hint("system.get_basic_info names its operating system")
        })?;
        let (page, pagination) = Pagination::of(list.packages, args.limit, args.offset);
        let none = || (pagination.total_count == 0).then(|| why_none(&args.name));
        Ok(Out {
            note: empty::beyond(&pagination).or_else(none),
            source: list.source,
            faults: list.faults.into_iter().map(|fault| format!("/{}: {fault}", list.file)).collect(),
            pagination,
            packages: page.into_iter().map(Shown::from).collect(),
        })
    }
}

impl From<Package> for Shown {
    fn from(of: Package) -> Self {
        Self { name: of.name, version: of.version, architecture: of.architecture, state: of.state }
    }
}
