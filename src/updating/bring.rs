//! The job itself: from the channel over the spool to the agent, and then the restart.

use super::{Offer, Updating};
use crate::{
    agent::{InstallRequest, RebootIntoRequest, UpdateTool, Warrant},
    error::{ErrorCode, ToolError},
    os::blocking,
    update::{
        bundle::{Digest, Envelope, Head, Index, MAX_HEAD, Manifest},
        fetch::{self, Order as Sequence, Pieces, Piece, Source, Spool, download},
        install::{Finished, Install, Wanted as Blocked},
        job::{Engine, Order, Release, Tell, Wanted},
        status::Phase,
    },
    world::World,
};
use futures::future::BoxFuture;
use std::sync::{Arc, Weak};

/// Seconds between the answer "it restarts" and the restart: for that answer to arrive.
const PARTING: u32 = 5;

/// What a job of this server runs.
pub(super) struct Bring {
    pub updating: Updating,
    pub world: Weak<World>,
}

impl Engine for Bring {
    fn run<'a>(&'a self, order: &'a Order, tell: &'a Tell) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let offer = self.updating.choose(&order.wanted).await?;
            let bundle = Bundle::open(&self.updating, &offer).await?;
            let armed = self.install(order, tell, bundle).await?;
            tell.step(Phase::Armed, 0, 0, format!("{armed} is written, read back and armed")).await;
            if let Some(world) = self.world.upgrade() {
                self.updating.record_baseline(&world, order.old_version.as_deref().unwrap_or_default()).await?;
            }
            self.updating.restart(order).await
        })
    }
}

/// A bundle whose head was read. Nothing of it is believed here; the agent judges.
pub(super) struct Bundle {
    source: Arc<Source>,
    /// Its first bytes, as they are: the envelope.
    head: Vec<u8>,
    envelope: Envelope,
    manifest: Manifest,
    digest: Digest,
}

impl Bundle {
    pub async fn open(updating: &Updating, offer: &Offer) -> Result<Self, ToolError> {
        let source = Source::new(updating.line().await?, offer.places.clone());
        let mut head = source.head(MAX_HEAD as u64).await?;
        let Head::Whole(envelope) = Envelope::read(&head)? else {
            return Err(bad("the bundle ends within its head").hint("put the whole bundle there"));
        };
        head.truncate(usize::try_from(envelope.index_at).unwrap_or(usize::MAX));
        let digest = Digest::of(&envelope.manifest);
        if digest != offer.manifest {
            return Err(bad(format!("the bundle is not the one that the channel names as {}", offer.version))
                .with("expected_sha256", offer.manifest.to_string())
                .with("found_sha256", digest.to_string())
                .hint("the web space holds a wrong or an older file under this name; publish the channel again"));
        }
        let manifest: Manifest = serde_json::from_slice(&envelope.manifest)
            .map_err(|error| bad(format!("the bundle's manifest is not one of this format: {error}")))?;
        Ok(Self { source, head, envelope, manifest, digest })
    }

    /// Its first bytes, for the agent.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Bytes of all of it.
    pub fn total(&self) -> u64 {
        self.envelope.total
    }

    /// The index, which must be the one that the manifest names.
    async fn index(&self) -> Result<Arc<Index>, ToolError> {
        let bytes = self.source.read(self.envelope.index_at..self.envelope.blocks_at).await?;
        Ok(Arc::new(Index::unverified(bytes, &self.manifest, &self.envelope)?))
    }
}

/// An index as downloads see it.
struct Blocks(Arc<Index>);

impl Pieces for Blocks {
    fn piece(&self, n: u32) -> Option<Piece> {
        let block = (n < self.0.len()).then(|| self.0.block(n)).filter(|block| !block.zero)?;
        Some(Piece { n, stored: block.stored, sha256: block.stored_sha256 })
    }
}

impl Bring {
    /// Hands the bundle to the agent; returns the version that is armed then.
    async fn install(&self, order: &Order, tell: &Tell, bundle: Bundle) -> Result<String, ToolError> {
        let agent = &self.updating.0.agent;
        let request = InstallRequest { tool: tool(order), warrant: Some(warrant(order)) };
        let (mut install, judged) = Install::begin(agent.install(request).await?, &bundle.head).await?;
        if judged.manifest_sha256 != bundle.digest {
            return Err(ToolError::internal("the agent judged another bundle than the one it was given"));
        }
        tell.release(Release { version: judged.version.clone(), counter: judged.counter, manifest: bundle.digest }).await;
        tell.step(Phase::Comparing, 0, 0, "finding what is here already").await;
        let index = bundle.index().await?;
        install.index(index.as_bytes()).await?;
        let mut progress = Followed { of: install.progress(), tell };
        let mut wanted = progress.until(install.wanted()).await?;
        let pieces: Arc<dyn Pieces> = Arc::new(Blocks(index));
        loop {
            let spool = self.send(&mut install, tell, &bundle, &pieces, &wanted).await?;
            tell.step(Phase::Writing, 1, 1, "the last blocks are written, then everything is read back").await;
            match progress.until(install.finish()).await? {
                Finished::Armed(armed) => {
                    if let Some(spool) = spool {
                        // It only takes room, and the next download sweeps it away.
                        let _ = blocking::run("update", move |_| spool.remove()).await;
                    }
                    return Ok(armed.version);
                }
                // A block that was to be copied from the running slot had rotted.
                Finished::More(more) => wanted = more,
            }
        }
    }

    /// Brings the wanted blocks: all of them into the spool first, so that nothing of the old slot is touched before everything is
    /// here; where there is no room for that, straight from the network.
    async fn send(
        &self,
        install: &mut Install,
        tell: &Tell,
        bundle: &Bundle,
        pieces: &Arc<dyn Pieces>,
        wanted: &Blocked,
    ) -> Result<Option<Spool>, ToolError> {
        let numbers: Vec<u32> = wanted.iter().collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        tell.step(Phase::Fetching, 0, 0, format!("{} blocks are missing", numbers.len())).await;
        let settings = &self.updating.0.settings.update;
        let (dir, reserve, digest) = (settings.spool_dir.clone(), settings.spool_reserve_bytes, bundle.digest);
        let (all, index) = (numbers.clone(), Arc::clone(pieces));
        let spool = blocking::run("update", move |stop| {
            let spool = Spool::open(&dir, &digest, index, all.iter().copied(), reserve, stop)?;
            let (_, bytes) = spool.missing(all);
            Ok(spool.room_for(bytes).map(|()| spool))
        })
        .await?;
        match spool {
            Ok(spool) => {
                let told = |progress: fetch::Progress| tell.pace(progress.done, progress.total, fetched(progress));
                let mut spool = download(&bundle.source, pieces, spool, numbers.clone(), told).await?;
                tell.step(Phase::Writing, 0, 0, "everything is here; the agent writes it").await;
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
            Err(full) if full.code == ErrorCode::ResourceExhausted => {
                tracing::warn!(target: "update", error = %full, "no room to keep the blocks first: they go straight to the card");
                tell.step(Phase::Writing, 0, 0, "there is no room to keep blocks first: they are fetched as they are written").await;
                let count = numbers.len() as u64;
                let mut blocks = bundle.source.blocks(pieces, numbers, Sequence::Index);
                let mut done = 0;
                while let Some(block) = blocks.next().await {
                    let (n, stored) = block?;
                    install.block(n, &stored).await?;
                    done += 1;
                    tell.pace(done, count, format!("{done} of {count} blocks"));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn fetched(progress: fetch::Progress) -> String {
    match progress.waits {
        Some(seconds) => format!("waits {seconds} s for update.download_window; {} of {} bytes are here", progress.done, progress.total),
        None => format!("{} of {} bytes are here", progress.done, progress.total),
    }
}

/// The agent's own progress, told on while one of its answers is waited for.
struct Followed<'a> {
    of: tokio::sync::watch::Receiver<Option<crate::update::install::Progress>>,
    tell: &'a Tell,
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

impl Updating {
    /// The release that is wanted.
    pub(super) async fn choose(&self, wanted: &Wanted) -> Result<Offer, ToolError> {
        let found = self.find(&wanted.channel, wanted.version.as_deref()).await?;
        let offer = found.offer.ok_or_else(|| {
            let why = found.held.unwrap_or_else(|| "the channel has nothing newer for this device".into());
            ToolError::precondition(format!("there is no update: {why}"))
                .with("channel", wanted.channel.clone())
                .hint("manage.check_for_updates says what the channel has")
        })?;
        match wanted.manifest {
            Some(manifest) if manifest != offer.manifest => Err(ToolError::precondition(format!(
                "the channel now has another bundle of {} than the plan was made for", offer.version
            ))
            .hint("call manage.preview_os_updates again, and apply the plan it gives")),
            _ => Ok(offer),
        }
    }

    /// Asks for the restart into what is armed.
    async fn restart(&self, order: &Order) -> Result<String, ToolError> {
        let request = RebootIntoRequest { tool: tool(order), delay_seconds: PARTING, warrant: warrant(order) };
        self.0.agent.reboot_into_update(request).await?;
        Ok(format!("armed; the machine restarts into it in {PARTING} s, and has to find it healthy"))
    }

    /// An update that was armed when the power went, or whose restart never came: armed again, without a download.
    pub(super) async fn finish_armed(&self) {
        let Some(kept) = self.0.jobs.newest().filter(|kept| kept.state == crate::update::job::State::Armed) else { return };
        let Ok(status) = self.0.agent.update_status().await else { return };
        let ours = |attempt: &crate::update::status::Attempt| {
            attempt.phase == Phase::Armed
                && kept.release.as_ref().is_some_and(|release| release.manifest.to_string() == attempt.manifest_sha256)
        };
        if !status.last_attempt.as_ref().is_some_and(ours) {
            return;
        }
        let again = async {
            self.0.agent.resume_update().await?;
            self.restart(&kept.order).await
        };
        match again.await {
            Ok(_) => tracing::info!(target: "update", "an armed update was not tried: armed again, and restarting"),
            Err(error) => tracing::warn!(target: "update", %error, "an armed update was not tried, and cannot be tried again"),
        }
        self.moved();
    }
}

fn tool(order: &Order) -> UpdateTool {
    let os = order.tool == UpdateTool::ApplyOsUpdates.name();
    if os { UpdateTool::ApplyOsUpdates } else { UpdateTool::UpdateServer }
}

fn warrant(order: &Order) -> Warrant {
    Warrant {
        principal: order.principal.clone(),
        args_sha256: order.args_sha256.clone(),
        ask_id: order.ask_id.clone(),
    }
}

fn bad(why: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::VerificationFailed, why)
}
