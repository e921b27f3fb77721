//! `serial.write`: sends bytes through an open port (docs/contract/serial.md).

use super::{PORT, begin, permit, port};
use crate::{
    registry::{
        context::Context,
        tool::{Needs, Tool},
    },
    tools::{files::content::from_base64, within},
};
use base::error::ToolError;
use contract::{
    config::PORT_NAME_BYTES,
    meta::{Effect, Listing, Meta},
};
use hw::serial::SerialWrite;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::time::Duration;

/// Most bytes of one write.
const BYTES: usize = 4096;
/// The same in base64, with line breaks.
const LETTERS: usize = 6000;
/// Longest wait and longest break, in milliseconds.
const LONGEST_MS: u32 = 60_000;
const BREAK_MS: u32 = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As serial.list_ports has it: "ttyUSB0".
    #[schemars(length(max = PORT_NAME_BYTES), regex(pattern = PORT))]
    #[serde(deserialize_with = "port")]
    port: String,
    /// What to send. Nothing is added: end a line with "\r" or "\n" yourself.
    #[schemars(length(max = BYTES))]
    #[serde(default, deserialize_with = "short::<_, BYTES>")]
    text: Option<String>,
    /// Bytes to send in place of text, in base64.
    #[schemars(length(max = LETTERS))]
    #[serde(default, deserialize_with = "short::<_, LETTERS>")]
    base64: Option<String>,
    /// Wait until all has left.
    #[serde(default)]
    drain: bool,
    /// First hold the line at break for so long; 0 is no break.
    #[schemars(range(max = BREAK_MS))]
    #[serde(default, deserialize_with = "within::<_, 0, BREAK_MS>")]
    break_ms: u32,
    /// How long the other end may hold the line.
    #[schemars(range(min = 1, max = LONGEST_MS))]
    #[serde(default = "five_seconds", deserialize_with = "within::<_, 1, LONGEST_MS>")]
    timeout_ms: u32,
}

fn five_seconds() -> u32 {
    5000
}
fn short<'de, D: Deserializer<'de>, const MOST: usize>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if text.chars().count() > MOST => {
            Err(D::Error::custom(format!("{} characters where at most {MOST} are allowed", text.chars().count())))
        }
        text => Ok(text),
    }
}

impl Args {
    /// What is to be sent.
    fn bytes(&self) -> Result<Vec<u8>, ToolError> {
        let (bytes, parameter) = match (&self.text, &self.base64) {
            (Some(_), Some(_)) => {
                return Err(ToolError::ignored("base64", "text says what to send").hint("give one of them"));
            }
            (Some(text), None) => (text.as_bytes().to_vec(), "text"),
            (None, Some(letters)) => (from_base64(letters, "base64")?, "base64"),
            (None, None) => (Vec::new(), "text"),
        };
        if bytes.len() > BYTES {
            return Err(ToolError::invalid(format!("{} bytes where at most {BYTES} are allowed", bytes.len()))
                .with("parameter", parameter)
                .hint("send it in several calls"));
        }
        if bytes.is_empty() && self.break_ms == 0 {
            return Err(ToolError::invalid("there is nothing to send: text, base64 or break_ms says what")
                .with("parameter", "text"));
        }
        Ok(bytes)
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    port: String,
    bytes_written: usize,
    /// Whether they have left, and are not in a buffer of this machine.
    drained: bool,
}

pub struct Write;

impl Tool for Write {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "serial.write",
        title: "Write to a serial port",
        description: "Send text or bytes through a serial port that you have open.\n\nUse when: you send a command to a modem, a microcontroller or an instrument.\n\nReturns: how many bytes were sent; read the answer with serial.read.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: true, idempotent: false },
        volatile: true,
        timeout_seconds: 70,
        long: true,
        bulk: &["text", "base64"],
        estimated_tokens: 40,
        tags: &["serial", "uart", "hardware"],
        ..Meta::WRITE
    };
    const NEEDS: Option<Needs> = Some(|services| services.serial.allow().some(true));

    fn check(args: &Args) -> Result<(), ToolError> {
        args.bytes().map(drop)
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, &args.port, "write")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, bytes) = (begin(cx), args.bytes()?);
        let Args { port, drain, break_ms, timeout_ms, .. } = args;
        let bytes_written = bytes.len();
        let millis = |number: u32| Duration::from_millis(number.into());
        let broken = (break_ms > 0).then(|| millis(break_ms));
        let write = SerialWrite { bytes, broken, drain, limit: millis(timeout_ms) };
        // Even a write that fails may have sent some of it.
        cx.notes.changed();
        let written = cx.services.serial.write(Self::META.name, &owner, &port, write).await;
        written.map_err(|fault| fault.told(&port))?;
        Ok(Out { port, bytes_written, drained: drain })
    }
}
