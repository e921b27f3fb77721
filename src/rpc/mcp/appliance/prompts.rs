//! Prompts as MCP messages.

use super::{McpRequest, fault, resources};
use crate::{
    prompts::{Prompt as Known, PromptPart, all},
    resources::ResourceAddress,
};
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, ResourceContents, Role},
};

pub fn list(asked: &McpRequest) -> Vec<Prompt> {
    all(&asked.server.pipeline.services).map(described).collect()
}

fn described(known: &Known) -> Prompt {
    let arguments = known.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name).with_description(argument.description).with_required(argument.required)
    });
    Prompt::new(known.name, Some(known.description), Some(arguments.collect())).with_title(known.title)
}

/// Renders one prompt. The resources it shows are read as the caller.
///
/// # Errors
/// -32602 for an unknown prompt or invalid arguments.
pub async fn get(asked: &McpRequest, params: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let known = Known::find(&asked.server.pipeline.services, &params.name).map_err(|error| fault(&error))?;
    let client = asked.context.client_info().map(|info| info.name);
    let naming = asked.server.options.naming.settle(client.as_deref());
    let given = params.arguments.clone().unwrap_or_default();
    let parts = known.write(&asked.server.pipeline, &asked.caller, naming, &given).map_err(|error| fault(&error))?;
    let mut messages = Vec::with_capacity(parts.len());
    for part in parts {
        messages.push(match part {
            PromptPart::Text(text) => PromptMessage::new_text(Role::User, text),
            PromptPart::Resource(uri) => written_out(asked, uri).await,
        });
    }
    Ok(GetPromptResult::new(messages).with_description(known.description))
}

/// The resource's contents as text, or a sentence that says why they are missing: the rest of the prompt is still
/// useful. Not an embedded resource: clients that accept only text in prompts refuse the whole prompt (decision 250).
async fn written_out(asked: &McpRequest, uri: &str) -> PromptMessage {
    let contents = match ResourceAddress::parse(uri) {
        Ok(address) => resources::contents(asked, uri, address).await,
        Err(error) => Err(error),
    };
    let text = match contents {
        Ok(ResourceContents::TextResourceContents { text, .. }) => format!("{uri}, read just now:\n{text}"),
        Ok(_) => format!("{uri} is no text: read the resource itself"),
        Err(error) => format!("{uri} cannot be read: {}", error.advice()),
    };
    PromptMessage::new_text(Role::User, text)
}
