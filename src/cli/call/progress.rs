//! What a call reports before it is answered, on standard error: standard output has the result only.

use crate::{cli::say::errln, terminal::printable};
use serde_json::Value;
use std::io::{IsTerminal, stderr};

/// Prints one `notifications/progress`. That a person is waited for is always said, with the command that answers; other
/// steps are for a person who watches.
pub fn show(message: &Value) {
    let params = &message["params"];
    let Some(text) = params["message"].as_str().filter(|_| message["method"] == "notifications/progress") else {
        return;
    };
    let is_approval = params["_meta"]["phase"] == "approval";
    if !is_approval && !stderr().is_terminal() {
        return;
    }
    let share = match (params["progress"].as_f64(), params["total"].as_f64()) {
        (Some(done), Some(total)) if total > 0.0 => format!("{:3.0} %  ", (100.0 * done / total).clamp(0.0, 100.0)),
        _ => String::new(),
    };
    errln!("{share}{}", printable(text));
}
