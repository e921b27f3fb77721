//! `raspi-mcp call`: calls one tool of a running server, for people and for scripts.

mod held;
mod people;
mod progress;
mod table;
mod unit;

use super::say::{errln, out, outln};
use super::{
    bar::Bar,
    exit::{Exit, Failure},
    sources,
    target::Target,
};
use crate::terminal::{is_terminal, printable};
use base::error::{ErrorCode, ToolError};
use progress::CallProgress;
use serde_json::{Map, Value};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    what: WhatToCall,
    #[command(flatten)]
    target: Target,
}

/// The call, whichever device it is for.
#[derive(clap::Args)]
pub struct WhatToCall {
    /// The tool, e.g. system.get_basic_info
    tool: String,
    /// One argument. The value is read as JSON or, if that fails, as a string. May be repeated
    #[arg(long = "arg", short = 'a', value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    args: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let target = &args.target;
    args.what.run(|tool, arguments| {
        // It goes away before the result is printed.
        let progress = CallProgress { bar: Bar::default(), target };
        target.call_with(sources, tool, &arguments, &mut |news| progress.show(news))
    })
}

impl WhatToCall {
    /// Prints the answer of `call`, a whole JSON-RPC message, to this tool with these arguments.
    ///
    /// # Errors
    /// For arguments that are none, and what the device refuses.
    pub fn run(&self, call: impl FnOnce(&str, Value) -> Result<Value, Failure>) -> Result<(), Failure> {
        let arguments = arguments(self)?;
        let answer = call(&self.tool, arguments.clone())?;
        print(&self.tool, &answer, self.json)?;
        // On standard error: standard output is for results.
        if let Some(note) = held::note(&self.tool, &arguments, &answer["result"]["structuredContent"]) {
            errln!("{note}");
        }
        Ok(())
    }
}

fn arguments(args: &WhatToCall) -> Result<Value, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    if let Some(text) = &args.args {
        return match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Value::Object(map)),
            Ok(_) => Err(usage("--args must be a JSON object".into())),
            Err(error) => Err(usage(format!("--args is not JSON: {error}"))),
        };
    }
    let mut map = Map::new();
    for argument in &args.arguments {
        let (name, value) =
            argument.split_once('=').ok_or_else(|| usage(format!("--arg {argument}: write NAME=VALUE")))?;
        map.insert(name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned())));
    }
    Ok(Value::Object(map))
}

fn print(tool: &str, answer: &Value, as_json: bool) -> Result<(), Failure> {
    if let Some(error) = answer.get("error") {
        let message = printable(error["message"].as_str().unwrap_or("the server refused"));
        let code = error["data"]["error_code"].as_str().and_then(ErrorCode::from_symbol);
        let hint = hint(&error["data"]);
        return Err(Failure::new(code.map_or(Exit::Usage, Exit::from), format!("{message}{hint}")));
    }
    let result = &answer["result"];
    if result["isError"] == true {
        let data = ToolError::in_result(result);
        if as_json {
            outln!("{data:#}");
        }
        let code = data["error_code"].as_str().and_then(ErrorCode::from_symbol);
        let exit = code.map_or(Exit::Failed, Exit::from);
        let message = printable(data["message"].as_str().unwrap_or("the call failed"));
        return Err(Failure::new(exit, format!("{message}{}", hint(data))));
    }
    let data = &result["structuredContent"];
    if as_json {
        outln!("{data:#}");
        return Ok(());
    }
    out!("{}", people::text(tool, data, is_terminal()));
    if result["_meta"]["simulated"] == true {
        outln!("(simulated board)");
    }
    Ok(())
}

/// What to do next, on its own line.
fn hint(data: &Value) -> String {
    data["hint"].as_str().map(|hint| format!("\n  {}", printable(hint))).unwrap_or_default()
}
