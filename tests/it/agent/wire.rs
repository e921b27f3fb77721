//! The wire between the halves, against lines that were recorded when the protocol was one enum (`tests/fixtures/agent`): a half
//! of that version still understands this one, byte for byte, and what is malformed is answered as it was.

use super::*;
use raspi_mcp::agent::{
    converse,
    protocol::{Reply, Request},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

const REQUESTS: &str = include_str!("../../fixtures/agent/requests.ndjson");
const ANSWERS: &str = include_str!("../../fixtures/agent/answers.ndjson");
/// Each line that is no request, and its answer.
const MALFORMED: &str = include_str!("../../fixtures/agent/malformed.ndjson");

#[test]
fn every_request_is_read_and_written_as_it_was() {
    for line in REQUESTS.lines() {
        let request: Request = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&request).unwrap(), line);
    }
}

#[test]
fn every_answer_is_read_and_written_as_it_was() {
    for line in ANSWERS.lines() {
        let reply: Reply = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&reply).unwrap(), line);
    }
}

#[tokio::test]
async fn a_malformed_line_is_answered_as_it_was() {
    let pi = Pi::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let serving = tokio::spawn(converse(pi.agent(), Peer::in_process(), theirs));
    let (reader, mut writer) = ours.into_split();
    let mut answers = BufReader::new(reader).lines();
    writer.write_all(b"{\"id\":0,\"op\":{\"hello\":{\"protocol\":1,\"version\":\"t\"}}}\n").await.unwrap();
    answers.next_line().await.unwrap().unwrap();
    for line in MALFORMED.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let (sent, expected) = (recorded["line"].as_str().unwrap(), recorded["answer"].as_str().unwrap());
        writer.write_all(format!("{sent}\n").as_bytes()).await.unwrap();
        let answer = answers.next_line().await.unwrap().unwrap();
        if expected.contains("expected one of `hello`") {
            // The list of operations, to which newer ones were added at its end.
            let known = expected.rsplit_once('`').unwrap().0;
            assert!(answer.starts_with(known), "{answer}");
        } else {
            assert_eq!(answer, expected, "{sent}");
        }
    }
    drop(writer);
    serving.await.unwrap().unwrap();
}
