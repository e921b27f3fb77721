//! `service.validate_unit_file`: validates a service's file on this machine (docs/contract/service.md).

use super::{service_name, validate};
use crate::registry::{context::Context, tool::Tool};
use base::{
    error::ToolError,
    os::systemd::name::{LONGEST, PATTERN},
};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// With or without ".service".
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "service_name")]
    service_name: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    service_name: String,
    /// Whether there are no errors.
    valid: bool,
    /// What is likely not meant so, or cannot be seen from here.
    warnings: Vec<String>,
    /// What keeps it from starting.
    errors: Vec<String>,
    /// Whether it is valid and says when it would start by itself.
    can_enable: bool,
    /// The files that were read: the unit's and its drop-ins.
    files: Vec<String>,
    /// Whether systemd-analyze verify spoke; what it said is in errors and warnings, after "verify: ".
    verify: validate::VerifyStatus,
}

pub struct ValidateUnitFile;

impl Tool for ValidateUnitFile {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.validate_unit_file",
        title: "Check a service's file",
        description: "Check the unit file of a service.\n\nUse when: it does not start, or before it is enabled.\n\nReturns: errors and warnings, with those of systemd-analyze verify. Nothing of it is run.",
        listing: Listing::Extra,
        estimated_tokens: 150,
        tags: &["service", "systemd", "diagnosis"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let report = validate::report(cx, &args.service_name).await?;
        Ok(Out {
            service_name: args.service_name,
            valid: report.errors.is_empty(),
            warnings: report.warnings,
            errors: report.errors,
            can_enable: report.can_enable,
            files: report.files,
            verify: report.verify,
        })
    }
}
