//! What the agent has to say to any bytes: one answer for every whole line, under its id where that can be read.
//!
//! The property test and the fuzz target share it.

use ::agent::protocol::{AgentRequest, MAX_LINE};
use serde_json::Value;

/// The ids of the answers that must come, and of those that may: waits end with their connection.
pub struct Expected {
    pub must: Vec<Option<u64>>,
    pub may: Vec<Option<u64>>,
}

pub fn expected(stream: &[u8]) -> Expected {
    let mut expected = Expected { must: Vec::new(), may: Vec::new() };
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    // What has no end is no line.
    lines.pop();
    for line in lines {
        if line.len() > MAX_LINE {
            expected.must.push(None);
            continue;
        }
        match serde_json::from_slice::<AgentRequest>(line) {
            Ok(request) if request.op.row().waits => expected.may.push(Some(request.id)),
            Ok(request) => expected.must.push(Some(request.id)),
            Err(_) => {
                expected.must.push(serde_json::from_slice::<Value>(line).ok().and_then(|line| line["id"].as_u64()))
            }
        }
    }
    expected
}

/// # Panics
/// When `answers` are not those, each once.
pub fn check(stream: &[u8], answers: &str) {
    let Expected { mut must, mut may } = expected(stream);
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(answer.get("ok").is_some() != answer.get("error").is_some(), "neither or both: {line}");
        assert_ne!(answer["error"]["code"], "internal", "{line}");
        let id = answer["id"].as_u64();
        let take = |from: &mut Vec<_>| from.iter().position(|wanted| *wanted == id).map(|at| from.swap_remove(at));
        assert!(take(&mut must).or_else(|| take(&mut may)).is_some(), "nobody asked for {line}");
    }
    assert!(must.is_empty(), "no answer for {must:?}: {answers}");
}
