//! The empty arguments of tools without parameters.

use schemars::JsonSchema;
use serde::Deserialize;

/// `{}`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}
