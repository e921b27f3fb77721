//! Failures of a router as errors of tools: our codes, and the words of RouterOS tools in `details.mcp_error_code`.

use crate::client::{root_cause, tls_fault};
use base::{
    error::{ErrorCode, ToolError},
    speech::quoted,
};
use serde_json::Value;

const UNREACHABLE: &str = "DEVICE_UNREACHABLE";

/// Why a request was not answered, as `check_connectivity` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Timeout,
    ConnectionRefused,
    /// The certificate is not the pinned one, or not of the authority.
    Certificate,
    AuthenticationFailed,
    /// The connection broke, or the name has no address.
    Network,
    /// It answered with an error.
    DeviceError,
}

impl Reason {
    pub fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::ConnectionRefused => "connection_refused",
            Self::Certificate => "certificate",
            Self::AuthenticationFailed => "authentication_failed",
            Self::Network => "network",
            Self::DeviceError => "device_error",
        }
    }

    fn next_step(self) -> &'static str {
        match self {
            Self::Timeout => "check that the router has power, and that its firewall lets this machine reach its HTTPS",
            Self::ConnectionRefused => "enable the service www-ssl on the router, and check the port",
            Self::Certificate => "compare the router's certificate with the pin; if the router has a new one, pin that",
            Self::AuthenticationFailed => {
                "check the router's user: it needs a group with the policies read and rest-api; its password may have changed"
            }
            Self::Network => "check the address and the network between this machine and the router",
            Self::DeviceError => "read the message of the router",
        }
    }
}

/// A request that did not get an answer of HTTP.
pub fn unanswered(device: &str, error: &reqwest::Error) -> (Reason, ToolError) {
    let cause = root_cause(error);
    let reason = if tls_fault(error).is_some() {
        Reason::Certificate
    } else if error.is_timeout() {
        Reason::Timeout
    } else if cause.contains("refused") {
        Reason::ConnectionRefused
    } else {
        Reason::Network
    };
    let code = if reason == Reason::Certificate { ErrorCode::VerificationFailed } else { ErrorCode::Unavailable };
    let error = ToolError::new(code, format!("the router {device} does not answer: {cause}"));
    (reason, told(error, device, reason, UNREACHABLE))
}

/// An answer with a status that says no. `body`: RouterOS' `{"error": 400, "message": "...", "detail": "..."}`.
pub fn refused(device: &str, status: u16, body: &Value) -> (Reason, ToolError) {
    let detail = body["detail"].as_str().or(body["message"].as_str()).unwrap_or("no reason");
    let says = format!("the router {device} says: {}", quoted(detail));
    match status {
        401 | 403 => {
            let error = ToolError::precondition(format!("the router {device} does not accept its user or password"));
            (Reason::AuthenticationFailed, told(error, device, Reason::AuthenticationFailed, "DEVICE_AUTH_FAILED"))
        }
        404 => (Reason::DeviceError, told(ToolError::not_found(says), device, Reason::DeviceError, "DEVICE_ERROR")),
        _ if detail.starts_with("no such command") => {
            let error = ToolError::missing(says);
            (
                Reason::DeviceError,
                told(error, device, Reason::DeviceError, "DEVICE_UNSUPPORTED")
                    .hint("this version of RouterOS, or its packages, do not have it"),
            )
        }
        _ if detail.starts_with("not enough permissions") => {
            let error = told(ToolError::denied(says), device, Reason::DeviceError, "FORBIDDEN");
            (Reason::DeviceError, error.hint("give the group of the router's user the policy that this needs"))
        }
        _ => (Reason::DeviceError, told(ToolError::precondition(says), device, Reason::DeviceError, "DEVICE_ERROR")),
    }
}

/// An answer with more than is kept of one.
pub fn too_long(device: &str, menu: &str) -> ToolError {
    let error = ToolError::new(
        ErrorCode::ContentTooLarge,
        format!(
            "the router {device} answered {menu} with more than is kept: 50,000 rows, 500,000 values, 8 MiB of text"
        ),
    );
    told(error, device, Reason::DeviceError, "DEVICE_ERROR")
        .hint("ask for a smaller limit or with a filter; tools make no plans for a menu with more")
}

/// An answer that is not as RouterOS gives it.
pub fn strange(device: &str, what: &str) -> ToolError {
    let error = ToolError::unavailable(format!("the router {device} answered {what}"));
    told(error, device, Reason::DeviceError, "DEVICE_ERROR")
        .hint("is this the address of RouterOS' www-ssl service, version 7.9 or newer?")
}

fn told(error: ToolError, device: &str, reason: Reason, word: &str) -> ToolError {
    error.with("device_id", device).with("reason", reason.word()).with("mcp_error_code", word).hint(reason.next_step())
}
