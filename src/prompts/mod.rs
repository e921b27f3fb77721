//! Prompts: instructions that a person selects by name, written for this machine and this caller.
//!
//! A prompt grants nothing: it names the tools to use, and the resources it shows are read as the caller.

mod diagnose;
pub mod routeros;
mod safe_reboot;

use crate::{
    registry::{Registry, names::Naming, pipeline::Pipeline},
    services::Services,
};
use base::error::ToolError;
use contract::access::caller::Caller;
use serde_json::{Map, Value};

/// One prompt.
pub struct Prompt {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub arguments: &'static [Argument],
    write: fn(&Scene<'_>) -> Result<Vec<PromptPart>, ToolError>,
}

/// An argument of a prompt. Always text, as MCP defines it.
pub struct Argument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
    /// Longest value, in characters.
    longest: usize,
    /// Values to suggest.
    pub suggestions: &'static [&'static str],
    /// Only suggested values are accepted.
    closed: bool,
}

/// One message of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    /// The contents of the resource at this address, as text.
    Resource(&'static str),
}

/// The prompts of every server, in the order they are listed.
pub static PROMPTS: &[&Prompt] = &[&diagnose::PROMPT, &safe_reboot::PROMPT];

/// The context for which a prompt is written.
pub struct Scene<'a> {
    pub services: &'a Services,
    pub registry: &'a Registry,
    pub caller: &'a Caller,
    /// How this client spells the names of tools.
    pub naming: Naming,
    given: &'a Map<String, Value>,
}

/// The prompts of this server: [`PROMPTS`], and those about routers if it has some.
pub fn all(services: &Services) -> impl Iterator<Item = &'static Prompt> {
    let of_routers: &'static [Prompt] = if services.routers().is_empty() { &[] } else { &routeros::PROMPTS };
    PROMPTS.iter().copied().chain(of_routers)
}

impl Prompt {
    /// The prompt named `name`.
    ///
    /// # Errors
    /// `invalid_argument`, as MCP requires, listing the existing ones.
    pub fn find(services: &Services, name: &str) -> Result<&'static Self, ToolError> {
        all(services).find(|prompt| prompt.name == name).ok_or_else(|| {
            let known: Vec<&str> = all(services).map(|prompt| prompt.name).collect();
            let shown: String = name.chars().take(128).collect();
            ToolError::invalid(format!("Unknown prompt: {shown}"))
                .with("name", shown)
                .hint(format!("there are: {}", known.join(", ")))
        })
    }

    /// Renders the prompt.
    ///
    /// # Errors
    /// `invalid_argument` naming the argument that is missing, unknown, too long or invalid.
    pub fn write(
        &self,
        pipeline: &Pipeline,
        caller: &Caller,
        naming: Naming,
        given: &Map<String, Value>,
    ) -> Result<Vec<PromptPart>, ToolError> {
        for (name, value) in given {
            self.argument(name)?.check(value)?;
        }
        let missing = self.arguments.iter().find(|argument| argument.required && !given.contains_key(argument.name));
        if let Some(argument) = missing {
            return Err(argument.refusal(format!("{} needs the argument {}", self.name, argument.name)));
        }
        let Pipeline { services, registry, .. } = pipeline;
        (self.write)(&Scene { services, registry, caller, naming, given })
    }

    /// # Errors
    /// `invalid_argument` listing the existing arguments.
    pub fn argument(&self, name: &str) -> Result<&'static Argument, ToolError> {
        self.arguments.iter().find(|argument| argument.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.arguments.iter().map(|argument| argument.name).collect();
            let shown: String = name.chars().take(128).collect();
            ToolError::invalid(format!("{} has no argument {shown}", self.name))
                .with("argument", shown)
                .hint(format!("it takes: {}", known.join(", ")))
        })
    }
}

impl Argument {
    fn check(&self, value: &Value) -> Result<(), ToolError> {
        let Some(text) = value.as_str() else {
            return Err(self.refusal(format!("{} must be a string", self.name)));
        };
        if text.chars().count() > self.longest {
            return Err(self.refusal(format!("{} may have {} characters", self.name, self.longest)));
        }
        if self.closed && !self.suggestions.contains(&text) {
            return Err(self.refusal(format!("{} must be one of: {}", self.name, self.suggestions.join(", "))));
        }
        Ok(())
    }

    fn refusal(&self, message: String) -> ToolError {
        ToolError::invalid(message).with("argument", self.name).hint(self.description)
    }
}

impl Scene<'_> {
    /// An argument that was given and is not blank.
    fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// A tool's name as this client spells it.
    fn tool(&self, name: &str) -> String {
        self.naming.spell(name)
    }

    /// Why this caller cannot use a tool; `None` if it can.
    fn refusal(&self, name: &str) -> Option<ToolError> {
        match self.registry.resolve(name) {
            Ok((entry, _)) => self.services.policy.get().admit(&entry.meta(), self.caller).err(),
            Err(_) => Some(ToolError::not_found(format!("this server has no {name}"))),
        }
    }
}
