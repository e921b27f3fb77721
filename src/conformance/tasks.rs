//! Fixtures that become tasks (2026-07-28, extension `io.modelcontextprotocol/tasks`).

use super::{
    answer::{Answer, NoArgs, Reply, client, fixture, lacking},
    input::{name_question, question, response},
};
use crate::{
    error::ToolError,
    registry::context::{Context, TaskEnd, Work},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GreetArgs {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowArgs {
    /// How long it takes. One second unless given.
    seconds: Option<f64>,
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteArgs {
    filename: Option<String>,
}

fixture!(Greet(GreetArgs), "greet", "Greets; never as a task.", interactive: false, greet);
fixture!(
    SlowCompute(SlowArgs),
    "slow_compute",
    "Takes its time, and can be cancelled.",
    interactive: true,
    slow_compute
);
fixture!(FailingJob, "failing_job", "A task whose result is an error.", interactive, failing_job);
fixture!(ProtocolErrorJob, "protocol_error_job", "Fails without a result.", interactive, protocol_error_job);
fixture!(
    ConfirmDelete(DeleteArgs),
    "confirm_delete",
    "A task that asks one question; it deletes nothing.",
    interactive: true,
    confirm_delete
);
fixture!(MultiInput, "multi_input", "A task that asks two questions at once.", interactive, multi_input);
fixture!(ToolWithTask, "test_tool_with_task", "Asks for a name, then becomes a task.", interactive, with_task);

/// JSON-RPC "Internal error".
const INTERNAL_ERROR: i32 = -32603;

async fn greet(_cx: &Context, args: GreetArgs) -> Reply {
    Ok(Answer::text(format!("Hello, {}!", args.name)))
}

async fn slow_compute(cx: &Context, args: SlowArgs) -> Reply {
    let seconds = args.seconds.unwrap_or(1.0);
    let takes = Duration::try_from_secs_f64(seconds)
        .map_err(|error| ToolError::invalid(format!("seconds: {error}")).with("parameter", "seconds"))?;
    let done =
        Answer::text(format!("slow_compute({}) done after {seconds}s", args.label.as_deref().unwrap_or("compute")));
    let client = client(cx)?;
    if !client.takes_tasks() {
        tokio::time::sleep(takes).await;
        return Ok(done);
    }
    let work: Work = Box::new(move |task| {
        Box::pin(async move {
            tokio::select! {
                () = task.cancelled() => Err(TaskEnd::Cancelled),
                () = tokio::time::sleep(takes) => Ok(done.0),
            }
        })
    });
    client.start_task(work).map(Answer)
}

async fn failing_job(cx: &Context, _args: NoArgs) -> Reply {
    let work: Work = Box::new(|_task| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut failed = Answer::text("failing_job: intentional tool execution error").0;
            failed["isError"] = json!(true);
            Ok(failed)
        })
    });
    as_task(cx, work)
}

async fn protocol_error_job(cx: &Context, _args: NoArgs) -> Reply {
    let failure = ToolError::internal("protocol_error_job: intentional protocol-level failure")
        .protocol(INTERNAL_ERROR, json!({ "intentional": true }));
    let client = client(cx)?;
    if !client.takes_tasks() {
        return Err(failure);
    }
    let work: Work = Box::new(|_task| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Err(TaskEnd::Failed(failure))
        })
    });
    client.start_task(work).map(Answer)
}

async fn confirm_delete(cx: &Context, args: DeleteArgs) -> Reply {
    let filename = args.filename.unwrap_or_else(|| "file.txt".into());
    let work: Work = Box::new(move |task| {
        Box::pin(async move {
            let ask = question(&format!("Delete {filename}?"), "confirm", "boolean");
            let confirmed = task.ask("confirm", ask).await?["content"]["confirm"].as_bool().unwrap_or(false);
            Ok(Answer::text(format!("confirm_delete({filename}): confirmed = {confirmed}")).0)
        })
    });
    as_task(cx, work)
}

async fn multi_input(cx: &Context, _args: NoArgs) -> Reply {
    let work: Work = Box::new(|task| {
        Box::pin(async move {
            let (first, second) = tokio::join!(
                task.ask("input-a", question("Provide value A", "value", "string")),
                task.ask("input-b", question("Provide value B", "value", "string")),
            );
            let (first, second) = (first?, second?);
            let value = |response: &Value| response["content"]["value"].as_str().unwrap_or("(none)").to_owned();
            Ok(Answer::text(format!("multi_input: a = {}, b = {}", value(&first), value(&second))).0)
        })
    });
    as_task(cx, work)
}

async fn with_task(cx: &Context, _args: NoArgs) -> Reply {
    require_tasks(cx)?;
    let Some(response) = response(cx, "user_name")? else {
        return Ok(Answer::input_required(json!({ "user_name": name_question() }), None));
    };
    let name = response.get("content").and_then(|content| content["name"].as_str()).unwrap_or("friend").to_owned();
    let work: Work = Box::new(move |_task| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(Answer::text(format!("Hello, {name}! (async)")).0)
        })
    });
    as_task(cx, work)
}

/// What only a task can do.
fn as_task(cx: &Context, work: Work) -> Reply {
    require_tasks(cx)?;
    client(cx)?.start_task(work).map(Answer)
}

fn require_tasks(cx: &Context) -> Result<(), ToolError> {
    if client(cx)?.takes_tasks() {
        return Ok(());
    }
    Err(lacking("tasks", json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })))
}
