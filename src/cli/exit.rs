//! Exit codes: stable, so that scripts can branch on them.

use base::error::{ErrorCode, ToolError};
use contract::config::Faults;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// The operation was attempted and failed.
    Failed = 1,
    /// The command line is wrong (clap's own code).
    Usage = 2,
    /// The configuration is wrong.
    Config = 3,
    /// The server or the agent does not answer.
    Unreachable = 4,
    /// Refused, or waiting for an approval.
    Refused = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<ErrorCode> for Exit {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Unavailable => Self::Unreachable,
            ErrorCode::PermissionDenied | ErrorCode::Unauthenticated | ErrorCode::FailedPrecondition => Self::Refused,
            ErrorCode::InvalidArgument => Self::Usage,
            _ => Self::Failed,
        }
    }
}

/// Why a command did not succeed.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// For people; empty if it was already reported.
    pub message: String,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self::new(Exit::Config, format!("the configuration is wrong:\n{faults}"))
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        let hint = error.hint.as_ref().map(|hint| format!("\n  {hint}")).unwrap_or_default();
        let exit = if error.details.contains_key("configuration") { Exit::Config } else { error.code.into() };
        Self::new(exit, format!("{}{hint}", error.message))
    }
}
