//! Errors of calls by a name of dbus-mcp: its words for arguments, and its number as `details.dbus_mcp_code`. The code is that
//! of this server.

use super::Alias;
use base::error::{ErrorCode, ToolError};

/// Of `tools/call`, for a name that no tool has.
pub const UNKNOWN_TOOL: i32 = -32004;

/// dbus-mcp's number for an error of `alias`.
fn number(alias: &Alias, code: ErrorCode) -> i32 {
    match code {
        ErrorCode::InvalidArgument => -32602,
        ErrorCode::Unauthenticated | ErrorCode::PermissionDenied => -32203,
        ErrorCode::NotFound if alias.tool.starts_with("service.") => -32201,
        // These two ask the bus, and no other half of this server.
        ErrorCode::Unavailable | ErrorCode::CapabilityMissing
            if matches!(alias.name, "systemd_status" | "network_connections") =>
        {
            -32200
        }
        ErrorCode::Internal => -32603,
        _ => -32005,
    }
}

pub fn translated(alias: &Alias, mut error: ToolError) -> ToolError {
    for (theirs, ours) in alias.renamed {
        let (pointer, dotted) = (format!("/{ours}"), ours.replace('/', "."));
        for (field, own, other) in
            [("path", &pointer, format!("/{theirs}")), ("parameter", &dotted, (*theirs).to_owned())]
        {
            if error.details.get(field).is_some_and(|named| named == own.as_str()) {
                error.details.insert(field.into(), other.into());
            }
        }
        // A name with an underscore is no word of a sentence.
        if ours.contains('_') {
            error.message = error.message.replace(&dotted, theirs);
            error.hint = error.hint.take().map(|hint| hint.replace(&dotted, theirs));
        }
    }
    if error.details.get("roots").is_some() && error.code == ErrorCode::PermissionDenied {
        error.message.push_str("; the owner sets them as files.roots");
    }
    let number = number(alias, error.code);
    error.with("dbus_mcp_code", number)
}
