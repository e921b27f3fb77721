//! `fleet.apply_rollout`: begins a rollout that was planned (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::StartedRollout,
    registry::{context::Context, tool::Tool},
};
use base::error::ToolError;
use contract::meta::{Effect, Meta, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};

/// SHA-256 in hexadecimal digits.
const HASH: &str = "^[0-9a-f]{64}$";

/// An example for schemas and documentation.
const EXAMPLE: &str = "5f3cbd0d1a1c9a7e8f9b1b2d3c4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From fleet.plan_rollout: what is begun is what was shown.
    #[schemars(with = "String", regex(pattern = HASH), example = EXAMPLE)]
    #[serde(deserialize_with = "hash")]
    plan_hash: String,
}

fn hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_hash = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_hash { Ok(text) } else { Err(D::Error::custom("not 64 hexadecimal digits in lower case")) }
}

pub struct ApplyRollout;

impl Tool for ApplyRollout {
    type Args = Args;
    type Out = StartedRollout;
    const META: Meta = Meta {
        name: "fleet.apply_rollout",
        title: "Begin a rollout",
        description: "Begin the rollout that fleet.plan_rollout showed.\n\nUse when: the person has seen the plan and wants it.\n\nReturns: that it runs, and its stage.\n\nNote: it goes on by itself, and stops by the plan's conditions.",
        role: Role::Admin,
        effect: Effect::Write { destructive: true, idempotent: true },
        open_world: true,
        estimated_tokens: 80,
        tags: &["fleet", "rollout", "update"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<StartedRollout, ToolError> {
        let started = served(cx)?.port.apply_rollout(&args.plan_hash).await?;
        if !started.already {
            cx.notes.changed();
        }
        Ok(started)
    }
}
