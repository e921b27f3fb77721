//! Tools of other servers, by their names: each is a translation onto a tool of this server, whose call it is. Role, policy,
//! approval and audit are those of that tool (docs/compat.md, decision 372).

mod answers;
mod arguments;
mod errors;
mod rows;

pub use errors::UNKNOWN_TOOL;

use super::{entry::Entry, tool::ToolOutput};
use crate::{
    compressed::{self, Compressed},
    services::Services,
};
use base::error::ToolError;
use contract::schema::Checker;
use serde_json::{Map, Value, json, value::to_raw_value};
use std::sync::OnceLock;

/// Fills in what the other server has as defaults, and changes values. Returns the arguments that only the answer depends on.
type Translate = fn(&Services, &mut Map<String, Value>) -> Result<Map<String, Value>, ToolError>;
/// The text and the data of the other server's answer, of this server's answer and what [`Translate`] returned. Without a
/// text, it is the JSON of the data.
type Render = fn(Value, &Map<String, Value>) -> (Option<String>, Value);

/// A name of another server.
pub struct Alias {
    pub name: &'static str,
    /// The tool that runs, by its dotted name.
    pub tool: &'static str,
    /// Arguments that have another name there: that name, and this server's, as a path.
    renamed: &'static [(&'static str, &'static str)],
    translate: Translate,
    render: Render,
    checker: OnceLock<Checker>,
}

/// Descriptions and schemas by name: the length of the JSON, and `dbus_mcp.json` compressed by zstd.
const TEXTS: Compressed = include!(concat!(env!("OUT_DIR"), "/compat.rs"));

/// Every name, in the order of the listing.
pub fn all() -> &'static [Alias] {
    &rows::DBUS_MCP
}

/// What `name` stands for.
pub fn find(name: &str) -> Option<&'static Alias> {
    all().iter().find(|alias| alias.name == name)
}

/// Whether a listing with these names leaves out `tool`, since one of them has its meaning.
pub fn replaces(tool: &str) -> bool {
    matches!(tool, "service.start" | "service.stop") || all().iter().any(|alias| alias.tool == tool)
}

impl Alias {
    /// Its description and schemas.
    fn texts(&self) -> Value {
        let mut texts: Value = serde_json::from_str(&compressed::text(TEXTS)).expect("build.rs read it");
        texts[self.name].take()
    }

    /// Makes the descriptor of its tool the descriptor of this name.
    pub fn dress(&self, descriptor: &mut Value) {
        let mut texts = self.texts();
        descriptor["name"] = json!(self.name);
        descriptor["description"] = texts["description"].take();
        descriptor["inputSchema"] = input(&mut texts);
        let output = texts["output"].take();
        if let Some(fields) = descriptor.as_object_mut() {
            for absent in ["title", "accepts", "outputSchema"] {
                fields.shift_remove(absent);
            }
            if !output.is_null() {
                fields.insert("outputSchema".into(), json!({ "type": "object", "properties": output }));
            }
        }
        if let Some(annotations) = descriptor["annotations"].as_object_mut() {
            annotations.shift_remove("title");
        }
        let meta = &mut descriptor["_meta"];
        meta["name"] = json!(self.tool);
        meta["schemaVersion"] = json!(1);
        meta["version"] = json!("1.0.0");
        meta["supports_dry_run"] = json!(false);
        meta["supports_pagination"] = json!(false);
        if let Some(meta) = meta.as_object_mut() {
            meta.shift_remove("listing");
        }
    }

    /// Makes arguments of this name those of its tool. Returns what [`Alias::answer`] needs of them.
    ///
    /// # Errors
    /// `invalid_argument` in the words of this name. The arguments are as they were then.
    pub fn translate(&self, services: &Services, args: &mut Value) -> Result<Map<String, Value>, ToolError> {
        let checker = self.checker.get_or_init(|| {
            Checker::new(&input(&mut self.texts())).expect("a contract test compiles the schemas of all names")
        });
        checker.without_nulls(args);
        checker.check(args).map_err(|fault| fault.refusal(args))?;
        let Some(args) = args.as_object_mut() else { return Ok(Map::new()) };
        let kept = (self.translate)(services, args)?;
        for (theirs, ours) in self.renamed {
            let Some(value) = args.shift_remove(*theirs) else { continue };
            match ours.split_once('/') {
                None => drop(args.insert((*ours).to_owned(), value)),
                Some((outer, inner)) => args.entry(outer).or_insert_with(|| json!({}))[inner] = value,
            }
        }
        Ok(kept)
    }

    /// The answer of its tool in the form of this name.
    ///
    /// # Errors
    /// The tool's, in the words of this name, with the other server's number as `details.dbus_mcp_code`.
    pub fn answer(
        &self,
        kept: &Map<String, Value>,
        result: Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError> {
        let output = result.map_err(|error| errors::translated(self, error))?;
        let (text, data) = (self.render)(serde_json::from_str(output.json.get()).unwrap_or_default(), kept);
        let json = to_raw_value(&data).map_err(|error| ToolError::internal(error.to_string()))?;
        let text = text.unwrap_or_else(|| json.get().to_owned());
        let whole = json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": data,
            "isError": false,
        });
        Ok(ToolOutput { json, content: Vec::new(), whole: Some(whole), blob: None })
    }
}

/// The schema of the arguments: a closed object.
fn input(texts: &mut Value) -> Value {
    let mut schema = json!({ "type": "object", "properties": texts["properties"].take() });
    if !texts["required"].is_null() {
        schema["required"] = texts["required"].take();
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// The descriptor of `alias`, whose tool is `entry`: what `schemas/compat` has.
pub fn descriptor(alias: &Alias, entry: &Entry) -> Value {
    let mut descriptor = super::listing::descriptor(entry);
    alias.dress(&mut descriptor);
    descriptor
}
