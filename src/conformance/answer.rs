//! Answers of fixtures: whole MCP results, made of content blocks.

use crate::{
    error::ToolError,
    registry::context::{Context, Peer},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result of `tools/call`, as it goes out.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Answer(pub Value);

pub type Reply = Result<Answer, ToolError>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}

impl Answer {
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks(json!([{ "type": "text", "text": text.into() }]))
    }

    pub fn blocks(content: Value) -> Self {
        Self(json!({ "content": content }))
    }

    /// Asks for more input (2026-07-28): `requests` by key, and what the client is to hand back with its responses.
    pub fn input_required(requests: Value, state: Option<String>) -> Self {
        let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
        if let Some(state) = state {
            result["requestState"] = json!(state);
        }
        Self(result)
    }
}

/// The client's end of the conversation.
///
/// # Errors
/// `failed_precondition` where there is no conversation, as on `/api/mcp`.
pub fn client(cx: &Context) -> Result<&dyn Peer, ToolError> {
    cx.peer.as_deref().ok_or_else(|| {
        ToolError::precondition("this fixture converses with its caller, and this way of calling cannot")
            .hint("call it over /mcp, stdio, the unix socket or /ws with tools/call")
    })
}

/// MCP 2026-07-28: the client has not declared what the request needs.
const MISSING_CLIENT_CAPABILITY: i32 = -32021;

/// The refusal of a client that lacks `what`; `required` is how it would declare it.
pub fn lacking(what: &str, required: Value) -> ToolError {
    ToolError::missing(format!("Missing required client capability: {what}"))
        .protocol(MISSING_CLIENT_CAPABILITY, json!({ "requiredCapabilities": required }))
        .hint("call from a client that declares it")
}

/// A tool whose answer is a whole result.
macro_rules! fixture {
    ($type:ident, $name:literal, $description:literal, $call:expr) => {
        fixture!($type($crate::conformance::answer::NoArgs), $name, $description, interactive: false, $call);
    };
    ($type:ident, $name:literal, $description:literal, interactive, $call:expr) => {
        fixture!($type($crate::conformance::answer::NoArgs), $name, $description, interactive: true, $call);
    };
    ($type:ident($args:ty), $name:literal, $description:literal, interactive: $interactive:literal, $call:expr) => {
        #[doc = $description]
        pub struct $type;

        impl $crate::registry::tool::Tool for $type {
            type Args = $args;
            type Out = $crate::conformance::answer::Answer;
            const META: $crate::registry::meta::Meta = $crate::registry::meta::Meta {
                name: $name,
                title: $name,
                description: $description,
                interactive: $interactive,
                tags: &["conformance"],
                ..$crate::registry::meta::Meta::READ
            };

            async fn call(
                cx: &$crate::registry::context::Context,
                args: Self::Args,
            ) -> $crate::conformance::answer::Reply {
                ($call)(cx, args).await
            }

            fn whole(out: &Self::Out) -> Option<serde_json::Value> {
                Some(out.0.clone())
            }
        }
    };
}
pub(super) use fixture;
