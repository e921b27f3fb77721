//! Any bytes on the agent's socket: never a hang or a panic, one answer for every line.
//!
//! Input: the first byte cuts the stream into pieces of that size (0: one piece), the rest is what a peer sends after its
//! greeting. A simulated machine does what it is told; the oracle is the property test's.

#![no_main]

#[path = "../../it/agent/oracle.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use agent::{Agent, AgentSettings, Peer, Platform, converse, machine::SimulatedMachine, system_clock};
use contract::config::{Places, Settings};
use base::os::Root;
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    runtime::Runtime,
};

/// Longer than any answer takes; libFuzzer's own -timeout is the second net.
const PATIENCE: Duration = Duration::from_secs(10);
const GREETING: &[u8] = b"{\"id\":0,\"op\":{\"hello\":{\"protocol\":1,\"version\":\"fuzz\"}}}\n";

struct Target {
    runtime: Runtime,
    agent: Arc<Agent>,
    _root: TempDir,
}

thread_local! {
    static TARGET: Target = target();
}

fn target() -> Target {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let root = TempDir::new().expect("a folder");
    let settings = Settings::default_for(&Places::below(root.path()));
    let settings = AgentSettings::of(&settings, true, Root::at(root.path()));
    let platform = Platform::new(system_clock(), Arc::new(SimulatedMachine::on(&settings.root)));
    let agent = runtime.block_on(async { Agent::start(settings, platform) }).expect("it starts");
    Target { runtime, agent, _root: root }
}

async fn talk(agent: Arc<Agent>, stream: &[u8], piece: usize) -> String {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    let (mut reader, mut writer) = ours.into_split();
    let writing = async {
        for part in stream.chunks(piece) {
            writer.write_all(part).await.expect("the agent reads");
        }
        drop(writer);
    };
    let mut answers = String::new();
    let reading = async { reader.read_to_string(&mut answers).await.expect("the agent sends text") };
    let (served, ..) = tokio::join!(converse(agent, Peer::in_process(), theirs), writing, reading);
    served.expect("a peer that reads");
    answers
}

fuzz_target!(|input: &[u8]| {
    let Some((piece, rest)) = input.split_first() else { return };
    TARGET.with(|target| {
        let piece = if *piece == 0 { usize::MAX } else { usize::from(*piece) };
        let stream = [GREETING, rest].concat();
        let talk = async { tokio::time::timeout(PATIENCE, talk(Arc::clone(&target.agent), &stream, piece)).await };
        oracle::check(&stream, &target.runtime.block_on(talk).expect("it hangs"));
    });
});
