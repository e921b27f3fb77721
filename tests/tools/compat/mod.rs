//! Names of other servers: what each one's arguments become, what its answers look like, and that every call is that of the
//! tool behind the name.

mod before_a_machine;
mod changes;
mod commands;
mod errors;
mod files;
mod listing;

use crate::support::{pi, served::Answer};
use base::error::ToolError;
use contract::schema::Checker;
use raspi_mcp::registry::{
    compat::{self, Alias},
    tool::ToolOutput,
};
use serde_json::{Value, json, value::to_raw_value};

fn alias(name: &str) -> &'static Alias {
    compat::find(name).unwrap_or_else(|| panic!("{name} is no name of another server"))
}

/// The text of an answer.
fn text(answer: &Answer) -> &str {
    answer.result()["content"][0]["text"].as_str().unwrap()
}

/// A call by `name` on a machine of the test's own, as the pipeline makes it: the text, and the data, which fit the schema.
async fn named(pi: &pi::Pi, name: &str, mut args: Value) -> Result<(String, Value), Value> {
    let alias = alias(name);
    let kept = alias.translate(&pi.services, &mut args).map_err(|error| error.payload())?;
    let answer = pi.call(alias.tool, args).await.result()?;
    let output = ToolOutput { json: to_raw_value(&answer).unwrap(), content: Vec::new(), whole: None, blob: None };
    let shown = alias.answer(&kept, Ok::<_, ToolError>(output)).unwrap();
    let whole = shown.whole.unwrap();
    let data: Value = serde_json::from_str(shown.json.get()).unwrap();
    assert_eq!(whole["structuredContent"], data);
    let mut descriptor = json!({"_meta": {}, "annotations": {}});
    alias.dress(&mut descriptor);
    if !descriptor["outputSchema"].is_null() {
        Checker::new(&descriptor["outputSchema"]).unwrap().check(&data).map_err(|fault| fault.refusal(&data)).unwrap();
    }
    Ok((whole["content"][0]["text"].as_str().unwrap().to_owned(), data))
}

/// What the arguments of a name become.
fn becomes(pi: &pi::Pi, name: &str, mut args: Value) -> Value {
    alias(name).translate(&pi.services, &mut args).unwrap();
    args
}
