//! `serial.read`: takes what has arrived at an open port (docs/contract/serial.md).

use super::{PORT, begin, port};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{files::content::to_base64, within},
};
use base::error::ToolError;
use contract::{
    config::PORT_NAME_BYTES,
    meta::{Listing, Meta},
};
use hw::serial::{BUFFER_BYTES, Ended, SerialRead};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::time::Duration;

/// Most bytes of one read, and the most that a caller gets without asking for more.
const MOST: u32 = BUFFER_BYTES as u32;
const USUAL: u32 = 4096;
/// Longest wait, in milliseconds.
const LONGEST_MS: u32 = 60_000;
/// Longest delimiter, in bytes.
const DELIMITER: usize = 16;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As serial.list_ports has it: "ttyUSB0".
    #[schemars(length(max = PORT_NAME_BYTES), regex(pattern = PORT))]
    #[serde(deserialize_with = "port")]
    port: String,
    /// Bytes to take at most; the others stay.
    #[schemars(range(min = 1, max = MOST))]
    #[serde(default = "usual", deserialize_with = "within::<_, 1, MOST>")]
    max_bytes: u32,
    /// How long to wait for something.
    #[schemars(range(max = LONGEST_MS))]
    #[serde(default = "a_second", deserialize_with = "within::<_, 0, LONGEST_MS>")]
    timeout_ms: u32,
    /// Wait for this text, such as "\r\n", and take what comes up to it. Without it a short pause ends the read.
    #[schemars(length(min = 1, max = DELIMITER))]
    #[serde(default, deserialize_with = "until")]
    until: Option<String>,
}

fn usual() -> u32 {
    USUAL
}
fn a_second() -> u32 {
    1000
}
fn until<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if !(1..=DELIMITER).contains(&text.chars().count()) => {
            Err(D::Error::custom(format!("{} characters where 1 to {DELIMITER} are allowed", text.chars().count())))
        }
        text => Ok(text),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    port: String,
    bytes_read: usize,
    /// What arrived, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    text: Option<String>,
    /// What arrived, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    base64: Option<String>,
    /// What ended the read.
    ended_by: Ended,
    /// Bytes that wait behind these.
    waiting_bytes: usize,
    /// Bytes lost before these, because nobody read them in time.
    lost_bytes: u64,
    /// What the driver counted since the last read; absent when there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Faults")]
    line_faults: Option<Faults>,
}

/// Faults of a line. Each may have cost a byte.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Faults {
    /// Characters without an end: the other end has another speed, mostly.
    framing: u32,
    /// The hardware's own buffer was full.
    overrun: u32,
    parity: u32,
    breaks: u32,
    /// The kernel's buffer was full.
    buffer_overrun: u32,
}

pub struct Read;

impl Tool for Read {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "serial.read",
        title: "Read from a serial port",
        description: "Take what has arrived at a serial port that you have open.\n\nUse when: you wait for an answer, a line (until) or a measurement.\n\nReturns: text or base64, what ended the read, what was lost.",
        listing: Listing::Extra,
        timeout_seconds: 70,
        long: true,
        estimated_tokens: 200,
        tags: &["serial", "uart", "hardware"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, serial) = (begin(cx), &cx.services.serial);
        let Args { port, max_bytes, timeout_ms, until } = args;
        let until = until.as_ref().map(String::as_bytes);
        let limit = Duration::from_millis(timeout_ms.into());
        let read = serial.read(&owner, &port, max_bytes as usize, until, limit).await;
        let SerialRead { bytes, ended, lost, waiting, faults } = read.map_err(|fault| fault.told(&port))?;
        let [framing, overrun, parity, breaks, buffer_overrun] = faults;
        let bytes_read = bytes.len();
        let (text, base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(other) => (None, Some(to_base64(other.as_bytes()))),
        };
        Ok(Out {
            port,
            bytes_read,
            text,
            base64,
            ended_by: ended,
            waiting_bytes: waiting,
            lost_bytes: lost,
            line_faults: (faults != [0; 5]).then_some(Faults { framing, overrun, parity, breaks, buffer_overrun }),
        })
    }
}
