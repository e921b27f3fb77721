//! Fixtures that tell every listening client of a change.

use super::answer::{Answer, NoArgs, Reply, client, fixture};
use crate::registry::context::{Change, Context};

fixture!(Tools, "test_trigger_tool_change", "Tells whoever listens that the tool list changed.", interactive, tools);
fixture!(
    Prompts,
    "test_trigger_prompt_change",
    "Tells whoever listens that the prompt list changed.",
    interactive,
    prompts
);

async fn tools(cx: &Context, _args: NoArgs) -> Reply {
    client(cx)?.announce(Change::Tools).await;
    Ok(Answer::text("Tool list change triggered"))
}

async fn prompts(cx: &Context, _args: NoArgs) -> Reply {
    client(cx)?.announce(Change::Prompts).await;
    Ok(Answer::text("Prompt list change triggered"))
}
