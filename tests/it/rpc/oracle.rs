//! What a stream of bytes must be answered with. Used by the property test here and by the fuzz target.

use raspi_mcp::rpc::{
    envelope::{self, FrameContent, Message},
    frame::{Frame, Framer},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Longest message in these tests: small, so that lines go over it.
pub const LIMIT: usize = 4096;

/// How many answers there are for each id, and under no id.
pub type Answers = (BTreeMap<String, usize>, usize);

/// What `stream` must be answered with when no revision with batches was agreed on.
pub fn expected(stream: &[u8]) -> Answers {
    let (mut by_id, mut without) = (BTreeMap::new(), 0);
    for frame in frames(stream) {
        let Frame::Line(line) = frame else {
            without += 1;
            continue;
        };
        let id = match envelope::parse(&line, 64) {
            Ok(FrameContent::Single(Message::Request { id, .. })) => Some(id),
            Ok(FrameContent::Single(_)) => continue,
            Ok(FrameContent::Batch(_)) => None,
            Err(fault) => fault.id,
        };
        match id {
            Some(id) => *by_id.entry(id.key()).or_default() += 1,
            None => without += 1,
        }
    }
    (by_id, without)
}

fn frames(stream: &[u8]) -> Vec<Frame> {
    let (mut framer, mut rest, mut frames) = (Framer::new(LIMIT), stream, Vec::new());
    while let Some(frame) = framer.take(&mut rest) {
        frames.push(frame);
    }
    frames.extend(framer.finish());
    frames
}

/// What was answered, from the lines that came back.
pub fn given(text: &str) -> Answers {
    let (mut by_id, mut without) = (BTreeMap::new(), 0);
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).expect("the server sends JSON");
        if message.get("method").is_some() {
            continue;
        }
        match &message["id"] {
            Value::Null => without += 1,
            Value::String(id) => *by_id.entry(id.clone()).or_default() += 1,
            id => *by_id.entry(id.to_string()).or_default() += 1,
        }
    }
    (by_id, without)
}
