//! `hello`, the first request of a connection: both halves state their protocol.

use super::Operation;
use crate::{context::Context, peer::Callers, wire::PROTOCOL};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

/// What each half states.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Hello")]
pub struct Greeting {
    /// See [`PROTOCOL`].
    pub protocol: u32,
    /// The program's version.
    pub version: String,
}

impl Greeting {
    /// That of this program.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
    }
}

pub struct Hello;

impl Operation for Hello {
    const TAG: &'static str = "hello";
    const ANSWER: &'static str = "hello";
    // The approval page greets as well.
    const CALLERS: Callers = Callers::Carriers;
    type Request = Greeting;
    type Answer = Greeting;

    async fn run(_cx: &Context<'_>, Greeting { protocol, .. }: Greeting) -> Result<Greeting, ToolError> {
        if protocol == PROTOCOL {
            return Ok(Greeting::ours());
        }
        Err(ToolError::new(
            ErrorCode::FailedPrecondition,
            format!("this agent speaks protocol {PROTOCOL}, the caller {protocol}"),
        )
        .with("agent_protocol", PROTOCOL)
        .with("caller_protocol", protocol)
        .with("agent_version", env!("CARGO_PKG_VERSION"))
        .hint("both halves come from one package: restart the one that is still the old version"))
    }
}
