//! Fixtures whose input schemas are what is tested.

use super::answer::{Answer, Reply, fixture};
use crate::registry::context::Context;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// Every part of JSON Schema 2020-12 that must come back as it is.
#[derive(Deserialize)]
pub struct AnySchema {
    name: Option<String>,
}

impl JsonSchema for AnySchema {
    fn schema_name() -> Cow<'static, str> {
        "AnySchema".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "address",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
            "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
            "if": { "required": ["address"] },
            "then": { "properties": { "address": { "required": ["street"] } } },
            "else": { "required": ["name"] },
            "additionalProperties": false,
        })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderArgs {
    /// Also sent as header `Mcp-Param-Value`.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

fixture!(
    JsonSchema202012(AnySchema),
    "json_schema_2020_12_tool",
    "Has an input schema with features of JSON Schema 2020-12.",
    interactive: false,
    greet
);
// Interactive because rmcp compares header and argument, and the front door's own path does not.
fixture!(
    CustomHeader(HeaderArgs),
    "test_custom_header",
    "Echoes a parameter that a header repeats.",
    interactive: true,
    echo
);

async fn greet(_cx: &Context, args: AnySchema) -> Reply {
    Ok(Answer::text(format!("Hello, {}!", args.name.as_deref().unwrap_or("world"))))
}

async fn echo(_cx: &Context, args: HeaderArgs) -> Reply {
    Ok(Answer::text(args.value))
}
