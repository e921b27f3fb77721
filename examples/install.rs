//! Plays the server half's part of an install and says what it was asked for: `ci/bench-update` measures the agent with it.
//!
//! `install SOCKET BUNDLE [--stop-after BLOCKS] [--before BUNDLE]`: with `--stop-after` it leaves after so many blocks; with `--before` it
//! says how many stored bytes of BUNDLE's blocks are not in that one at the same place. One line of JSON.

use agent::{AgentLink, Authorization, Client, UpdateTool, operations::update::InstallRequest};
use base::error::ToolError;
use serde_json::{Value, json};
use std::{env, fs::File, io, os::unix::fs::FileExt, path::Path, process::ExitCode};
use update::{
    bundle::{BlockIndex, BundleHead, Envelope, Manifest},
    install::{InstallOutcome, InstallStream},
    status::RestartPlan,
};

/// A bundle's head and index; its blocks are read as they are wanted.
struct Bundle {
    file: File,
    head: Vec<u8>,
    index_bytes: Vec<u8>,
    index: BlockIndex,
}

impl Bundle {
    fn open(path: &str) -> Result<Self, String> {
        let said = |error: io::Error| format!("{path}: {error}");
        let file = File::open(path).map_err(said)?;
        let mut head = vec![0; 32];
        let envelope = loop {
            file.read_exact_at(&mut head, 0).map_err(said)?;
            match Envelope::read(&head).map_err(|fault| fault.to_string())? {
                BundleHead::Whole(envelope) => break envelope,
                BundleHead::More(bytes) => head.resize(bytes, 0),
            }
        };
        let mut index_bytes = vec![0; envelope.index_size() as usize];
        file.read_exact_at(&mut index_bytes, envelope.index_at).map_err(said)?;
        let manifest: Manifest = serde_json::from_slice(&envelope.manifest).map_err(|error| error.to_string())?;
        let index =
            BlockIndex::unverified(index_bytes.clone(), &manifest, &envelope).map_err(|fault| fault.to_string())?;
        Ok(Self { file, head, index_bytes, index })
    }

    /// Stored bytes of the blocks that `before` does not have at their place.
    fn changed_since(&self, before: &Self) -> u64 {
        let of = |bundle: &Self, n: u32| bundle.index.block(n);
        let same = |n: u32| n < before.index.len() && of(self, n).sha256 == of(before, n).sha256;
        (0..self.index.len())
            .filter(|n| !same(*n))
            .map(|n| of(self, n).stored)
            .map(|stored| stored.end - stored.start)
            .sum()
    }
}

async fn run(args: &[String]) -> Result<Value, String> {
    let [socket, path, more @ ..] = args else {
        return Err("install SOCKET BUNDLE [--stop-after N] [--before BUNDLE]".into());
    };
    let option = |name: &str| more.iter().position(|word| word == name).and_then(|at| more.get(at + 1));
    let bundle = Bundle::open(path)?;
    let stop_after: usize = option("--stop-after").and_then(|count| count.parse().ok()).unwrap_or(usize::MAX);
    let changed =
        option("--before").map(|path| Bundle::open(path)).transpose()?.map(|before| bundle.changed_since(&before));
    let link = AgentLink::Socket(Client::new(Path::new(socket)));
    let mut sent = Sent::default();
    let armed = install(&link, &bundle, stop_after, &mut sent).await.map_err(|error| error.to_string())?;
    Ok(json!({
        "armed": armed, "blocks": sent.numbers.len(), "stored_bytes": sent.stored_bytes, "numbers": sent.numbers,
        "changed_stored_bytes": changed,
    }))
}

#[derive(Default)]
struct Sent {
    numbers: Vec<u32>,
    stored_bytes: u64,
}

async fn install(link: &AgentLink, bundle: &Bundle, stop_after: usize, sent: &mut Sent) -> Result<Value, ToolError> {
    let authorization = Authorization { principal: "bench".into(), args_sha256: "0".repeat(64), ask_id: None };
    let request = InstallRequest {
        tool: UpdateTool::UpdateServer,
        authorization: Some(authorization),
        restart: RestartPlan::Waits,
    };
    let (mut install, _) = InstallStream::begin(link.install(request).await?, &bundle.head).await?;
    install.index(&bundle.index_bytes).await?;
    let mut wanted = install.wanted().await?;
    let mut stored = Vec::new();
    loop {
        for n in wanted.iter() {
            if sent.numbers.len() == stop_after {
                return install.cancel().await.map(|()| Value::Null);
            }
            let place = bundle.index.block(n).stored;
            stored.resize((place.end - place.start) as usize, 0);
            bundle
                .file
                .read_exact_at(&mut stored, place.start)
                .map_err(|error| ToolError::unavailable(error.to_string()))?;
            install.block(n, &stored).await?;
            sent.numbers.push(n);
            sent.stored_bytes += stored.len() as u64;
        }
        match install.finish().await? {
            InstallOutcome::Armed(armed) => return Ok(json!(armed)),
            InstallOutcome::More(more) => wanted = more,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match run(&args).await {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("install: {why}");
            ExitCode::FAILURE
        }
    }
}
