//! Any bytes on a connection: never a hang or a panic, and exactly one answer for every request.
//!
//! Input: the first byte cuts the stream into pieces of that size (0: one piece), the rest is what a client sends. It
//! goes through the framing, the envelope, the front door, the pipeline and rmcp, on a live connection of a server in
//! this process; the oracle is the property test's.

#![no_main]

#[path = "../../it/rpc/oracle.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use contract::{access::caller::{Caller, Transport}, config::{AgentChoice, BoardChoice, Places, Settings}, meta::Role};
use raspi_mcp::{daemon::{self, RunningServer, Serve}, log::Ring, registry::Registry, rpc::mcp::provider::ToolsOnly, transport::lines};
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Runtime,
};

/// Longer than any answer takes; libFuzzer's own -timeout is the second net.
const PATIENCE: Duration = Duration::from_secs(10);

struct Target {
    runtime: Runtime,
    running: RunningServer,
    _root: TempDir,
}

thread_local! {
    static TARGET: Target = target();
}

fn target() -> Target {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let root = TempDir::new().expect("a folder");
    let mut settings = Settings::default_for(&Places::below(root.path()));
    settings.board = BoardChoice::Simulated;
    settings.agent = AgentChoice::Inprocess;
    settings.limits.max_request_bytes = oracle::LIMIT;
    settings.limits.reads_per_minute = u32::MAX;
    let serve = Serve {
        settings,
        registry: Registry::new(raspi_mcp::tools::NAMESPACES),
        stdio: true,
        log: Ring::new(1),
        reload: Default::default(),
        provider: Arc::new(ToolsOnly),
        prepare: None,
    };
    let running = runtime.block_on(daemon::start(serve)).expect("it starts");
    Target { runtime, running, _root: root }
}

async fn converse(running: &RunningServer, stream: &[u8], piece: usize) -> String {
    let (ours, theirs) = tokio::io::duplex(512);
    let (reader, writer) = tokio::io::split(theirs);
    let caller = Caller::new("fuzz", Role::ReadOnly, Transport::Stdio);
    let serving = lines::serve(Arc::clone(&running.server), caller, reader, writer);
    let (mut reader, mut writer) = tokio::io::split(ours);
    let writing = async {
        for part in stream.chunks(piece) {
            writer.write_all(part).await.expect("the server reads");
            tokio::task::yield_now().await;
        }
        writer.shutdown().await.expect("the server reads");
    };
    let mut text = String::new();
    let reading = async { reader.read_to_string(&mut text).await.expect("the server sends text") };
    tokio::join!(serving, writing, reading);
    text
}

fuzz_target!(|input: &[u8]| {
    let Some((piece, stream)) = input.split_first() else { return };
    // More requests than a connection may have open are refused under their ids as well: still one answer each.
    TARGET.with(|target| {
        let piece = match piece {
            0 => usize::MAX,
            piece => usize::from(*piece),
        };
        let talk = async { tokio::time::timeout(PATIENCE, converse(&target.running, stream, piece)).await };
        let text = target.runtime.block_on(talk).expect("it hangs");
        assert_eq!(oracle::given(&text), oracle::expected(stream), "{text}");
    });
});
