//! Passes a bundle from a source to the agent: head, index and the blocks that the agent wants, through the spool if
//! there is one.
//!
//! Used by the server's jobs and by `raspi-mcp slot install`.

use crate::fetch::{self, BlockOrder, BundleSource, Front, Spool, StoredBlocks, download};
use agent::{AgentLink, operations::update::InstallRequest};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use futures::future::BoxFuture;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    net::UnixStream,
    sync::watch,
    time::{Instant, sleep},
};
use update::{
    Slot,
    bundle::{BlockIndex, Digest, Envelope, Manifest},
    install::{
        InstallOutcome, InstallStream, Judged,
        frame::{Armed, InstallProgress, NeededBlocks},
    },
    job::FoundRelease,
    status::Phase,
};

/// How long the agent may take to notice an abandoned install and write what is queued, including a sync of the card.
const LEFT: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(250);

/// A bundle whose head was read. It is not verified here; the agent judges it.
pub struct Bundle {
    source: Arc<BundleSource>,
    /// Its first bytes, unmodified: the envelope.
    head: Vec<u8>,
    envelope: Envelope,
    manifest: Manifest,
    digest: Digest,
}

impl Bundle {
    /// Reads the head of the bundle at `source`, from the first place whose bundle `is_it` accepts.
    ///
    /// # Errors
    /// `verification_failed` for what is not a bundle, `unavailable` for what cannot be read.
    pub async fn open(
        source: Arc<BundleSource>,
        is_it: impl Fn(&Digest, &Manifest) -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
        let judge = |front: &Front| {
            let digest = Digest::of(&front.envelope.manifest);
            let manifest = Manifest::parse(&front.envelope.manifest)?;
            is_it(&digest, &manifest).map(|()| (digest, manifest))
        };
        let (Front { head, envelope }, (digest, manifest)) = source.open(judge).await?;
        Ok(Self { source, head, envelope, manifest, digest })
    }

    /// Its first bytes, for the agent.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// SHA-256 of its manifest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The agent's judgement for a bundle that is already armed in `target`.
    pub fn judged_already(&self, target: Slot, simulated: bool) -> Judged {
        let about = &self.manifest;
        Judged {
            version: about.version.clone(),
            counter: about.counter,
            channel: about.channel.clone(),
            manifest_sha256: self.digest,
            target,
            total_bytes: about.images.iter().map(|image| image.size).sum(),
            resumes: true,
            notes: vec!["it is armed already: only the restart into it is left to do".into()],
            simulated,
        }
    }

    /// Size of the bundle in bytes.
    pub fn total(&self) -> u64 {
        self.envelope.total
    }

    /// The index, which must match the manifest.
    async fn index(&self) -> Result<Arc<BlockIndex>, ToolError> {
        let judge = |bytes| Ok(BlockIndex::unverified(bytes, &self.manifest, &self.envelope)?);
        self.source.index(&self.envelope, judge).await.map(Arc::new)
    }
}

/// Receives the progress.
pub trait ProgressSink: Send + Sync {
    /// The agent has judged the bundle.
    fn release(&self, release: FoundRelease) -> BoxFuture<'_, ()>;
    /// Now in `phase`, with `done` of `total` completed.
    fn step(&self, phase: Phase, done: u64, total: u64, message: String) -> BoxFuture<'_, ()>;
    /// Progress within the phase.
    fn pace(&self, done: u64, total: u64, message: String);
}

/// The upload of one bundle.
pub struct Upload<'a> {
    pub agent: &'a AgentLink,
    pub request: InstallRequest,
    /// The spool's folder, and the bytes to keep free there; `None`: blocks are passed on directly from the source.
    pub spool: Option<(PathBuf, u64)>,
    pub progress: &'a dyn ProgressSink,
}

impl Upload<'_> {
    /// Passes the bundle to the agent. Returns once it is written, read back and armed.
    ///
    /// # Errors
    /// The agent's refusal, and those of fetching and of the connection. What was fetched and written by then is kept.
    ///
    /// Boxed, so that the program has its code once (decision 280).
    pub fn install<'a>(&'a self, bundle: &'a Bundle) -> BoxFuture<'a, Result<Armed, ToolError>> {
        Box::pin(async move {
            let tell = self.progress;
            let stream = self.stream().await?;
            let (mut install, judged) = InstallStream::begin(stream, &bundle.head).await?;
            if judged.manifest_sha256 != bundle.digest {
                return Err(ToolError::internal("the agent judged another bundle than the one it was given"));
            }
            tell.release(FoundRelease {
                version: judged.version.clone(),
                counter: judged.counter,
                manifest: bundle.digest,
            })
            .await;
            if let Some(seconds) = bundle.source.shut() {
                tell.step(Phase::Comparing, 0, 0, format!("waits {seconds} s for update.download_window")).await;
            }
            let index = bundle.index().await?;
            tell.step(Phase::Comparing, 0, 0, "finding what is here already".into()).await;
            install.index(index.as_bytes()).await?;
            let mut progress = Followed { of: install.progress(), tell };
            let mut wanted = progress.until(install.wanted()).await?;
            let pieces: Arc<dyn StoredBlocks> = index;
            loop {
                let spool = self.send(&mut install, bundle, &pieces, &wanted).await?;
                tell.step(Phase::Writing, 1, 1, "the last blocks are written, then everything is read back".into())
                    .await;
                match progress.until(install.finish()).await? {
                    InstallOutcome::Armed(armed) => {
                        if let Some(spool) = spool {
                            // A leftover only takes space, and the next download removes it.
                            let _ = blocking::run("update", move |_| spool.remove()).await;
                        }
                        return Ok(armed);
                    }
                    // A block to be copied from the running slot was damaged.
                    InstallOutcome::More(more) => wanted = more,
                }
            }
        })
    }

    /// Opens the stream to the agent. If an earlier install of the same principal is still writing, waits up to
    /// [`LEFT`] for it.
    async fn stream(&self) -> Result<UnixStream, ToolError> {
        let until = Instant::now() + LEFT;
        loop {
            let busy = match self.agent.install(self.request.clone()).await {
                Err(error) if error.code == ErrorCode::Conflict => error,
                other => return other,
            };
            let ours = self.request.authorization.as_ref().is_some_and(|authorization| {
                busy.details.get("who").is_some_and(|who| *who == authorization.principal)
            });
            if !ours || Instant::now() >= until {
                return Err(busy);
            }
            sleep(LOOK).await;
        }
    }

    /// Sends the wanted blocks. All are fetched into the spool first, so that the old slot is not changed before
    /// everything is complete; without space for that, they come directly from the network.
    async fn send(
        &self,
        install: &mut InstallStream,
        bundle: &Bundle,
        pieces: &Arc<dyn StoredBlocks>,
        wanted: &NeededBlocks,
    ) -> Result<Option<Spool>, ToolError> {
        let numbers: Vec<u32> = wanted.iter().collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let tell = self.progress;
        tell.step(Phase::Fetching, 0, 0, format!("{} blocks are missing", numbers.len())).await;
        match self.spool_for(bundle, pieces, &numbers).await? {
            Some(spool) => {
                let told =
                    |progress: fetch::DownloadProgress| tell.pace(progress.done, progress.total, fetched(progress));
                let mut spool = download(&bundle.source, pieces, spool, numbers.clone(), told).await?;
                tell.step(Phase::Writing, 0, 0, "everything is here; the agent writes it".into()).await;
                let count = numbers.len() as u64;
                for (at, n) in numbers.into_iter().enumerate() {
                    let (back, stored) =
                        blocking::run("update", move |_| spool.take(n).map(|stored| (spool, stored))).await?;
                    spool = back;
                    install.block(n, &stored).await?;
                    tell.pace(at as u64 + 1, count, format!("{} of {count} blocks handed over", at + 1));
                }
                Ok(Some(spool))
            }
            None => {
                tell.step(Phase::Writing, 0, 0, "blocks are written as they come".into()).await;
                let count = numbers.len() as u64;
                let mut blocks = bundle.source.blocks(pieces, numbers, BlockOrder::Index);
                let mut done = 0;
                while let Some(block) = blocks.next().await {
                    let (n, stored) = block?;
                    install.block(n, &stored).await?;
                    done += 1;
                    tell.pace(done, count, format!("{done} of {count} blocks"));
                }
                Ok(None)
            }
        }
    }

    /// The spool of this bundle with what it has already; `None` if there is none, or no space for what is missing.
    async fn spool_for(
        &self,
        bundle: &Bundle,
        pieces: &Arc<dyn StoredBlocks>,
        numbers: &[u32],
    ) -> Result<Option<Spool>, ToolError> {
        let Some((dir, reserve)) = self.spool.clone() else { return Ok(None) };
        let (all, index, digest) = (numbers.to_vec(), Arc::clone(pieces), bundle.digest);
        let opened = blocking::run("update", move |stop| {
            let spool = Spool::open(&dir, &digest, index, all.iter().copied(), reserve, stop)?;
            let (_, bytes) = spool.missing(all);
            Ok(spool.room_for(bytes).map(|()| spool))
        });
        match opened.await? {
            Ok(spool) => Ok(Some(spool)),
            Err(full) if full.code == ErrorCode::ResourceExhausted => {
                tracing::warn!(target: "update", error = %full, "no room to keep all blocks before the first is written");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn fetched(progress: fetch::DownloadProgress) -> String {
    match progress.waits {
        Some(seconds) => format!(
            "waits {seconds} s for update.download_window; {} of {} bytes are here",
            progress.done, progress.total
        ),
        None => format!("{} of {} bytes are here", progress.done, progress.total),
    }
}

/// Forwards the agent's progress while waiting for one of its answers.
struct Followed<'a> {
    of: watch::Receiver<Option<InstallProgress>>,
    tell: &'a dyn ProgressSink,
}

impl Followed<'_> {
    async fn until<T>(&mut self, answer: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                done = &mut answer => return done,
                moved = self.of.changed() => {
                    if moved.is_err() {
                        return answer.await;
                    }
                    let Some(progress) = self.of.borrow_and_update().clone() else { continue };
                    let (done, total) = (progress.done, progress.total);
                    self.tell.step(progress.phase, done, total, format!("{done} of {total} bytes")).await;
                }
            }
        }
    }
}
