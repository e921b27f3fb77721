//! What a command reads, where it is written down: its length and hash.

use base::canonical;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What stands for the bytes a command reads, where they themselves would not be read.
pub fn digest(bytes: &[u8]) -> Value {
    json!({ "bytes": bytes.len(), "sha256": canonical::hex(&Sha256::digest(bytes)) })
}

/// What the audit has of a call's arguments: of what the command reads, only length and hash. A person is shown it whole.
pub fn without_input(args: &Value) -> Value {
    let mut args = args.clone();
    if let Some(text) = args.get("stdin").and_then(Value::as_str).map(str::to_owned) {
        args["stdin"] = digest(text.as_bytes());
    }
    args
}
