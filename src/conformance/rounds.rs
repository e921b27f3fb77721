//! Fixtures that carry a state from round to round (2026-07-28, `requestState`).

use super::{
    answer::{Answer, NoArgs, Reply, client, fixture},
    input::{list_roots, name_question, prompt, question, response},
};
use crate::{access::sealed, error::ToolError, registry::context::Context};
use serde_json::{Value, json};

fixture!(
    RequestState,
    "test_input_required_result_request_state",
    "Needs a confirmation, and its own state back.",
    interactive,
    confirm
);
fixture!(
    TamperedState,
    "test_input_required_result_tampered_state",
    "Refuses a state that was changed.",
    interactive,
    confirm
);
fixture!(
    MultipleInputs,
    "test_input_required_result_multiple_inputs",
    "Needs three things in one round.",
    interactive,
    multiple
);
fixture!(
    MultiRound,
    "test_input_required_result_multi_round",
    "Needs two rounds, with another state each.",
    interactive,
    multi_round
);

/// The state of the round before, if there was one.
fn state_of(cx: &Context) -> Result<Option<Value>, ToolError> {
    client(cx)?.request_state().map(sealed::open).transpose()
}

async fn confirm(cx: &Context, _args: NoArgs) -> Reply {
    if state_of(cx)?.is_some() {
        return Ok(Answer::text("Confirmed: state-ok"));
    }
    let sealed = sealed::seal(&json!({ "stage": "confirm" }))?;
    let ask = question("Please confirm", "ok", "boolean");
    Ok(Answer::input_required(json!({ "confirm": ask }), Some(sealed)))
}

async fn multiple(cx: &Context, _args: NoArgs) -> Reply {
    let state = state_of(cx)?;
    let mut complete = state.is_some();
    for key in ["user_name", "greeting", "client_roots"] {
        complete &= response(cx, key)?.is_some();
    }
    if complete {
        return Ok(Answer::text("All inputs received"));
    }
    let requests = json!({
        "user_name": name_question(),
        "greeting": prompt("Generate a greeting"),
        "client_roots": list_roots(),
    });
    Ok(Answer::input_required(requests, Some(sealed::seal(&json!({ "stage": "gather" }))?)))
}

async fn multi_round(cx: &Context, _args: NoArgs) -> Reply {
    let done = state_of(cx)?.and_then(|state| state["round"].as_u64()).unwrap_or(0);
    let requests = match done {
        0 => json!({ "step1": question("Step 1: What is your name?", "name", "string") }),
        1 => json!({ "step2": question("Step 2: What is your favorite color?", "color", "string") }),
        _ => return Ok(Answer::text("Multi-round flow complete")),
    };
    Ok(Answer::input_required(requests, Some(sealed::seal(&json!({ "round": done + 1 }))?)))
}
