//! Any bytes, in any pieces: never a hang or a panic, and exactly one answer for every request.

use super::oracle::{self, Answers};
use crate::support::served::{Pi, soon};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use proptest::prelude::*;
use raspi_mcp::rpc::{
    envelope::{self, FrameContent},
    frame::{Frame, Framer},
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A line a client could send: good, bad, and in between. Ids are the line's number, so that answers can be counted.
fn line() -> impl Strategy<Value = Line> {
    let method = prop_oneof![
        Just("test.echo"),
        Just("test/echo"),
        Just("tools/call"),
        Just("tools/list"),
        Just("ping"),
        Just("test.panic"),
        Just("no.such"),
        Just("resources/read"),
        Just("completion/complete"),
        Just("logging/setLevel"),
        Just("initialize"),
    ];
    let params = prop_oneof![
        Just(json!({})),
        Just(json!({"text": "a"})),
        Just(json!({"name": "test.echo", "arguments": {"text": "b"}})),
        Just(json!({"name": "test.steps", "arguments": {"steps": 2, "every_ms": 0}, "_meta": {"progressToken": 1}})),
        Just(json!({"name": 7})),
        Just(json!({"_meta": []})),
        Just(json!(null)),
        Just(json!([1])),
        Just(json!("text")),
        Just(json!({"limit": 1, "cursor": "after-1"})),
        Just(
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}})
        ),
    ];
    prop_oneof![
        6 => (method, params, any::<bool>()).prop_map(|(method, params, text)| Line::Request { method, params, text }),
        2 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Line::Bytes),
        1 => any::<u16>().prop_map(|id| Line::Text(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id % 40}}).to_string())),
        1 => Just(Line::Text(json!({"jsonrpc": "2.0", "method": "test.echo"}).to_string())),
        1 => Just(Line::Text(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())),
        1 => Just(Line::Text("[]".into())),
        1 => Just(Line::Text("x".repeat(5000))),
        1 => Just(Line::Text(String::new())),
    ]
}

#[derive(Clone, Debug)]
enum Line {
    Request { method: &'static str, params: Value, text: bool },
    Bytes(Vec<u8>),
    Text(String),
}

impl Line {
    fn bytes(&self, number: usize) -> Vec<u8> {
        match self {
            Self::Request { method, params, text } => {
                let id = if *text { json!(number.to_string()) } else { json!(number) };
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().into_bytes()
            }
            Self::Bytes(bytes) => bytes.clone(),
            Self::Text(text) => text.clone().into_bytes(),
        }
    }
}

async fn answers(pi: &Pi, stream: Vec<u8>, cuts: Vec<usize>) -> Answers {
    let (ours, theirs) = tokio::io::duplex(512);
    let (reader, writer) = tokio::io::split(theirs);
    // A principal of its own for each case: rate limits are another test's business.
    let caller = Caller::new("any", Role::ReadOnly, Transport::Stdio);
    let serving = tokio::spawn(raspi_mcp::transport::lines::serve(pi.server(), caller, reader, writer));
    let (mut reader, mut writer) = tokio::io::split(ours);
    let writing = tokio::spawn(async move {
        let mut rest = stream.as_slice();
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            writer.write_all(now).await.unwrap();
            tokio::task::yield_now().await;
            rest = later;
        }
        writer.write_all(rest).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut text = String::new();
    soon(reader.read_to_string(&mut text)).await.unwrap();
    soon(writing).await.unwrap();
    soon(serving).await.unwrap();
    oracle::given(&text)
}

#[test]
fn every_line_gets_exactly_the_answers_it_deserves() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pi = runtime.block_on(Pi::with(|settings| {
        settings.limits.max_request_bytes = oracle::LIMIT;
        settings.limits.reads_per_minute = 1_000_000;
        settings.limits.shutdown_grace_seconds = 5;
    }));
    let lines = (prop::collection::vec(line(), 0..40), prop::collection::vec(0usize..300, 0..30), any::<bool>());
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |((lines, cuts, ended) in lines)| {
        let mut stream = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            stream.extend(line.bytes(number));
            stream.push(b'\n');
        }
        if !ended {
            stream.pop();
        }
        let wanted = oracle::expected(&stream);
        let got = runtime.block_on(answers(&pi, stream, cuts));
        prop_assert_eq!(got, wanted);
    });
    runtime.block_on(pi.stop()).unwrap();
}

#[test]
fn frames_do_not_depend_on_how_the_bytes_were_cut() {
    let cut = |limit: usize, stream: &[u8], cuts: &[usize]| {
        let (mut framer, mut frames, mut rest) = (Framer::new(limit), Vec::new(), stream);
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (mut now, later) = rest.split_at(cut.min(rest.len()));
            while let Some(frame) = framer.take(&mut now) {
                frames.push(frame);
            }
            rest = later;
        }
        frames.extend(framer.finish());
        frames
    };
    let bytes =
        prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), Just(b'x'), any::<u8>()], 0..200);
    let cuts = prop::collection::vec(0usize..20, 0..40);
    proptest!(|(stream in bytes, cuts in cuts, limit in 1usize..20)| {
        let frames = cut(limit, &stream, &cuts);
        prop_assert_eq!(&frames, &cut(limit, &stream, &[]));
        for frame in frames {
            if let Frame::Line(line) = frame {
                prop_assert!(!line.is_empty() && line.len() <= limit && !line.contains(&b'\n'));
            }
        }
    });
}

#[test]
fn the_envelope_takes_any_text_without_a_panic_and_keeps_ids() {
    proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..200), depth in 1usize..10)| {
        let _ = envelope::parse(&bytes, depth);
    });
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"jsonrpc\""),
        Just("\"2.0\""),
        Just("\"id\""),
        Just("\"method\""),
        Just("\"params\""),
        Just("\"result\""),
        Just("1"),
        Just("null"),
        Just("\""),
        Just("\\"),
        Just("1.5"),
        Just("-"),
        Just("true"),
    ];
    proptest!(|(pieces in prop::collection::vec(piece, 0..40))| {
        if let Ok(FrameContent::Batch(items)) = envelope::parse(pieces.concat().as_bytes(), 64) {
            for item in items {
                let _ = envelope::parse_element(item);
            }
        }
    });
}
