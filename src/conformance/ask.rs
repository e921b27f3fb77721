//! Fixtures that ask the client something in the middle of a call (until 2025-11-25), or need it to be able to.

use super::answer::{Answer, NoArgs, Reply, client, fixture, lacking};
use crate::registry::context::Context;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingArgs {
    /// What to ask the model.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElicitationArgs {
    /// What to show the user.
    message: String,
}

fixture!(Sampling(SamplingArgs), "test_sampling", "Asks the client's model.", interactive: true, sampling);
fixture!(Elicitation(ElicitationArgs), "test_elicitation", "Asks the user.", interactive: true, elicitation);
fixture!(
    Defaults,
    "test_elicitation_sep1034_defaults",
    "Asks the user, with a default for every kind of answer.",
    interactive,
    defaults
);
fixture!(
    Enums,
    "test_elicitation_sep1330_enums",
    "Asks the user to choose, in every form a choice can have.",
    interactive,
    enums
);
fixture!(
    MissingCapability,
    "test_missing_capability",
    "Needs a client that declares sampling.",
    interactive,
    missing_capability
);

async fn sampling(cx: &Context, args: SamplingArgs) -> Reply {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": args.prompt } }]);
    let params = json!({ "messages": messages, "maxTokens": 100 });
    let result = client(cx)?.ask("sampling/createMessage", params).await?;
    let content = &result["content"];
    let text = content["text"].as_str().or_else(|| content[0]["text"].as_str()).unwrap_or("(no text)");
    Ok(Answer::text(format!("LLM response: {text}")))
}

async fn elicitation(cx: &Context, args: ElicitationArgs) -> Reply {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    elicit(cx, "User response", &args.message, schema).await
}

async fn defaults(cx: &Context, _args: NoArgs) -> Reply {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User's name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User's age", "default": 30 },
            "score": { "type": "number", "description": "User's score", "default": 95.5 },
            "status": {
                "type": "string",
                "description": "User's status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "description": "Whether user is verified", "default": true },
        },
    });
    elicit(cx, "Elicitation completed", "Please provide values (all have defaults)", schema).await
}

async fn enums(cx: &Context, _args: NoArgs) -> Reply {
    let titled = |words: [&str; 3]| -> Vec<Value> {
        ["value1", "value2", "value3"]
            .iter()
            .zip(words)
            .map(|(value, title)| json!({ "const": value, "title": title }))
            .collect()
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": {
                "type": "array",
                "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) },
            },
        },
    });
    elicit(cx, "Elicitation completed", "Test enum schema improvements", schema).await
}

async fn elicit(cx: &Context, done: &str, message: &str, schema: Value) -> Reply {
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    let result = client(cx)?.ask("elicitation/create", params).await?;
    let action = result["action"].as_str().unwrap_or("unknown");
    Ok(Answer::text(format!("{done}: action={action}, content={}", result["content"])))
}

async fn missing_capability(cx: &Context, _args: NoArgs) -> Reply {
    if client(cx)?.capabilities()["sampling"].is_null() {
        return Err(lacking("sampling", json!({ "sampling": {} })));
    }
    Ok(Answer::text("Required capability declared"))
}
