//! `raspi-mcp pins`: the 40-pin header, drawn.

use super::{
    exit::{Exit, Failure},
    say::{self, errln, out},
    sources,
    target::Target,
};
use crate::{
    pins::{HeaderDrawing, PinEntry, entries, svg, terminal as drawn},
    registry::Registry,
};
use base::{error::ToolError, os::Root};
use hw::{board::Board, gpio::header};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};

#[derive(clap::Args)]
pub struct Args {
    /// Write an SVG picture to standard output
    #[arg(long, conflicts_with = "json")]
    svg: bool,
    /// Print all contacts as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let picture = match asked(args, sources) {
        // No server was named and none runs here: show the board itself.
        Err(failure) if failure.exit == Exit::Unreachable && args.target.is_here() => {
            errln!("raspi-mcp: {}\n  this is what the board itself shows", failure.message);
            looked(sources)?
        }
        asked => asked?,
    };
    let text = if args.json {
        let json = serde_json::to_string_pretty(&picture);
        json.map_err(|error| Failure::new(Exit::Failed, format!("the picture is no JSON: {error}")))? + "\n"
    } else if args.svg {
        svg(&picture)
    } else {
        drawn(&picture, coloured())
    };
    if args.json || args.svg {
        out!("{text}");
    } else {
        // Contains colours; its text was already made printable.
        say::written(io::stdout().lock().write_all(text.as_bytes()));
    }
    Ok(())
}

/// Colours, unless disabled: <https://no-color.org>.
fn coloured() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && io::stdout().is_terminal()
}

/// The picture from the server.
fn asked(args: &Args, sources: &sources::Args) -> Result<HeaderDrawing, Failure> {
    let (pins, simulated) = data(args.target.call(sources, "gpio.list_pins", &json!({ "all": true }))?)?;
    let (board, _) = data(args.target.call(sources, "system.get_basic_info", &json!({}))?)?;
    picture(&pins, board["model"].as_str().unwrap_or("Board without a name"), simulated)
}

/// The picture from reading the board.
fn looked(sources: &sources::Args) -> Result<HeaderDrawing, Failure> {
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let root = Root::system();
    let board =
        Board::detect(settings.board, &root).map_err(|conflict| Failure::new(Exit::Config, conflict.to_string()))?;
    let port = header::open(&root, &board.pins(), &settings.gpio.chip, &Default::default())
        .map_err(|fault| Failure::new(Exit::Failed, format!("the pins cannot be looked at: {fault}")))?;
    let entries = entries(&*port, &(&settings.gpio.allowed(board.is_simulated()) - &settings.approval.pins()));
    let simulated = board.is_simulated();
    Ok(HeaderDrawing::new(board.model, simulated, format!("{}, no server runs", port.name()), &entries))
}

/// The picture from an answer of `gpio.list_pins`.
///
/// # Errors
/// If the answer is invalid.
pub fn picture(pins: &Value, board: &str, simulated: bool) -> Result<HeaderDrawing, Failure> {
    let entries: Vec<PinEntry> = serde_json::from_value(pins["pins"].clone())
        .map_err(|error| Failure::new(Exit::Failed, format!("the server's list of pins is not understood: {error}")))?;
    Ok(HeaderDrawing::new(board, simulated, "as the server sees it", &entries))
}

/// The result of a call and whether it is simulated.
fn data(mut answer: Value) -> Result<(Value, bool), Failure> {
    let result = &mut answer["result"];
    let (simulated, failed) = (result["_meta"]["simulated"] == true, result["isError"] == true);
    let data = if failed { ToolError::in_result(result).clone() } else { result["structuredContent"].take() };
    if failed || data.is_null() {
        let message = data["message"].as_str().or(answer["error"]["message"].as_str()).unwrap_or("the server refused");
        return Err(Failure::new(Exit::Failed, message.to_owned()));
    }
    Ok((data, simulated))
}
