//! Completions: possible values of a prompt's argument or of a parameter in a resource's address.

use super::{super::fault::fault as plain, McpRequest, fault};
use crate::{
    prompts::Prompt,
    resources::{RESOURCES, Resource},
    tools::service,
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use contract::values::Pin;
use rmcp::{
    ErrorData,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
};

/// The argument and the part of an address that name a router.
const DEVICE_ID: &str = "device_id";

/// Values that begin with the typed text, then those that contain it.
///
/// # Errors
/// -32602 for an unknown prompt, template or argument.
pub async fn complete(asked: &McpRequest, params: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let argument = params.argument.name.as_str();
    let values = match &params.r#ref {
        Reference::Prompt(prompt) => of_prompt(asked, &prompt.name, argument),
        Reference::Resource(template) => of_resource(asked, &template.uri, argument).await,
        other => Err(ToolError::invalid(format!("{} cannot be completed here", other.reference_type()))),
    };
    let fitting = fitting(values.map_err(|error| fault(&error))?, &params.argument.value);
    let total = fitting.len();
    let shown: Vec<String> = fitting.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let more = shown.len() < total;
    CompletionInfo::with_pagination(shown, u32::try_from(total).ok(), more)
        .map(CompleteResult::new)
        .map_err(|why| plain(rmcp::model::ErrorCode::INTERNAL_ERROR, format!("the completions do not fit MCP: {why}")))
}

fn of_prompt(asked: &McpRequest, name: &str, argument: &str) -> Result<Vec<String>, ToolError> {
    let argument = Prompt::find(&asked.server.pipeline.services, name)?.argument(argument)?;
    if argument.name == DEVICE_ID {
        return Ok(routers(asked));
    }
    Ok(owned(argument.suggestions))
}

/// The routers that this caller may use.
fn routers(asked: &McpRequest) -> Vec<String> {
    let services = &asked.server.pipeline.services;
    let devices = services.routers();
    let scope = services.tokens.devices_of(&asked.caller.principal);
    devices.into_iter().filter(|device| scope.as_ref().is_none_or(|scope| scope.contains(device))).collect()
}

/// `uri` is a template or the plain address of a resource.
async fn of_resource(asked: &McpRequest, uri: &str, parameter: &str) -> Result<Vec<String>, ToolError> {
    let is_meant = |known: &&Resource| known.uri == uri || known.template().is_some_and(|template| template == uri);
    let resource = RESOURCES.iter().find(is_meant).ok_or_else(|| {
        let shown: String = uri.chars().take(128).collect();
        ToolError::invalid(format!("Unknown resource template: {shown}"))
            .with("uri", shown)
            .hint("resources/templates/list names them all")
    })?;
    let names: Vec<&str> = resource.parameters.iter().map(|known| known.name).chain(resource.variable()).collect();
    if !names.contains(&parameter) {
        let shown: String = parameter.chars().take(128).collect();
        return Err(ToolError::invalid(format!("{} has no parameter {shown}", resource.uri))
            .with("parameter", shown)
            .hint(format!("it takes: {}", names.join(", "))));
    }
    let services = &asked.server.pipeline.services;
    Ok(match parameter {
        "level" => owned(&["error", "warn", "info", "debug"]),
        "outcome" => {
            ["ok"].into_iter().chain(ErrorCode::ALL.iter().map(|code| code.symbol())).map(str::to_owned).collect()
        }
        // Only tools that this caller's role may use: it has no records of others.
        "tool" => {
            let entries = asked.server.pipeline.registry.entries();
            entries
                .filter(|entry| entry.meta().role <= asked.caller.role)
                .map(|entry| entry.name().to_owned())
                .collect()
        }
        DEVICE_ID => routers(asked),
        "limit" => owned(&["10", "20", "50", "100"]),
        // Only for callers that may read the resource. Empty without systemd.
        "name" if resource.admit(&asked.server.pipeline, &asked.caller).is_ok() => {
            service::names(services).await.unwrap_or_default()
        }
        "pin" => {
            let pins = Pin::all().filter(|pin| services.gpio.rules.allows(*pin));
            pins.map(|pin| pin.bcm().to_string()).collect()
        }
        "path" if resource.admit(&asked.server.pipeline, &asked.caller).is_ok() => {
            let indexing = services.indexing.clone();
            blocking::run("vector", move |_| Ok(indexing.pages())).await?
        }
        _ => Vec::new(),
    })
}

fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn fitting(values: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (mut first, rest): (Vec<_>, Vec<_>) = values.into_iter().partition(|value| value.starts_with(&typed));
    first.extend(rest.into_iter().filter(|value| value.contains(&typed)));
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_the_typed_text_comes_first() {
        let values = || owned(&["network", "not", "tone", "a"]);
        assert_eq!(fitting(values(), "Net"), ["network"]);
        assert_eq!(fitting(values(), "t"), ["tone", "network", "not"]);
        assert_eq!(fitting(values(), ""), values());
        assert!(fitting(values(), "x").is_empty());
    }
}
