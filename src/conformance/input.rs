//! Fixtures that answer with what they need to know first (2026-07-28, "input required"), in one round.

use super::answer::{Answer, NoArgs, Reply, client, fixture};
use crate::{error::ToolError, registry::context::Context};
use serde_json::{Map, Value, json};

fixture!(
    Streaming,
    "test_streaming_elicitation",
    "Asks for a value in its result, never beside it.",
    interactive,
    streaming
);
fixture!(
    Elicitation,
    "test_input_required_result_elicitation",
    "Needs an answer of the user.",
    interactive,
    elicitation
);
fixture!(Sampling, "test_input_required_result_sampling", "Needs an answer of the model.", interactive, sampling);
fixture!(Roots, "test_input_required_result_list_roots", "Needs the client's roots.", interactive, roots);
fixture!(
    Capabilities,
    "test_input_required_result_capabilities",
    "Asks only for what the client can give.",
    interactive,
    capabilities
);

/// A question to the user, with one answer to fill in.
pub fn question(message: &str, field: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": { field: { "type": kind } }, "required": [field] },
    } })
}

/// A question to the model.
pub fn prompt(text: &str) -> Value {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

pub fn list_roots() -> Value {
    json!({ "method": "roots/list" })
}

pub fn name_question() -> Value {
    question("What is your name?", "name", "string")
}

/// The client's response under `key`. Anything but an object is as good as none: it is asked for again.
///
/// # Errors
/// `failed_precondition` without a conversation.
pub fn response<'a>(cx: &'a Context, key: &str) -> Result<Option<&'a Map<String, Value>>, ToolError> {
    Ok(client(cx)?.input_responses().and_then(|responses| responses.get(key)).and_then(Value::as_object))
}

async fn streaming(cx: &Context, _args: NoArgs) -> Reply {
    let Some(response) = response(cx, "streaming_elicitation")? else {
        let ask = question("Provide a value", "value", "string");
        return Ok(Answer::input_required(json!({ "streaming_elicitation": ask }), None));
    };
    Ok(Answer::text(format!("Value: {}", answered(response, "value"))))
}

async fn elicitation(cx: &Context, _args: NoArgs) -> Reply {
    let Some(response) = response(cx, "user_name")? else {
        return Ok(Answer::input_required(json!({ "user_name": name_question() }), None));
    };
    Ok(Answer::text(format!("Hello, {}!", answered(response, "name"))))
}

async fn sampling(cx: &Context, _args: NoArgs) -> Reply {
    let Some(response) = response(cx, "capital_question")? else {
        let ask = prompt("What is the capital of France?");
        return Ok(Answer::input_required(json!({ "capital_question": ask }), None));
    };
    Ok(Answer::text(format!("Sampling response: {}", answered(response, "text"))))
}

async fn roots(cx: &Context, _args: NoArgs) -> Reply {
    let Some(response) = response(cx, "client_roots")? else {
        return Ok(Answer::input_required(json!({ "client_roots": list_roots() }), None));
    };
    let roots = response.get("roots").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let uris: Vec<_> = roots.iter().filter_map(|root| root["uri"].as_str()).collect();
    Ok(Answer::text(format!("Client roots: [{}]", uris.join(", "))))
}

async fn capabilities(cx: &Context, _args: NoArgs) -> Reply {
    let client = client(cx)?;
    if client.input_responses().is_some() {
        return Ok(Answer::text("Capability-aware flow complete"));
    }
    let able = |what: &str| !client.capabilities()[what].is_null();
    let mut requests = Map::new();
    if able("elicitation") {
        requests.insert("user_name".into(), name_question());
    }
    if able("sampling") {
        requests.insert("greeting".into(), prompt("Generate a greeting"));
    }
    if able("roots") {
        requests.insert("client_roots".into(), list_roots());
    }
    if requests.is_empty() {
        return Ok(Answer::text("The client declared nothing that could be asked for"));
    }
    Ok(Answer::input_required(Value::Object(requests), None))
}

fn answered<'a>(response: &'a Map<String, Value>, field: &str) -> &'a str {
    response.get("content").and_then(|content| content[field].as_str()).unwrap_or("(no answer)")
}
