//! The part of RouterOS' script language that rollbacks and requests use: commands with arguments, `[find ...]`, `:do` with
//! `on-error`, `:log`, `:put`. Everything else is a syntax error here, so that no test takes it for run.

mod parse;
mod run;

pub use parse::{Command, Expression, Piece, Statement, parse};

use crate::state::State;

/// Runs a script with the rights of `policy`, such as `read,write`. Returns what it put out.
///
/// # Errors
/// A syntax error, before anything was done, or the first error that no `on-error` caught.
pub(crate) fn run(state: &mut State, text: &str, policy: &str) -> Result<String, String> {
    let statements = parse(text)?;
    let mut running = run::Running { state, policy, output: String::new() };
    running.block(&statements)?;
    Ok(running.output)
}
