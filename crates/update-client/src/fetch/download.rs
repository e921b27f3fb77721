//! Downloads all missing blocks into the spool.

use super::{BlockOrder, BundleSource, Spool, pieces::StoredBlocks};
use base::{error::ToolError, os::blocking};
use std::sync::Arc;

/// The progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadProgress {
    /// Bytes of blocks that were fetched, of `total`.
    pub done: u64,
    pub total: u64,
    /// Seconds until `update.download_window` opens; `None`: it is open.
    pub waits: Option<u64>,
}

/// Fetches those of `numbers` that `spool` does not have into it. Blocks fetched before an error, or before this is
/// dropped, stay in the spool and are not fetched again.
///
/// # Errors
/// Those of [`BundleSource::read`], [`Spool::room_for`] and [`Spool::put`].
pub async fn download(
    source: &Arc<BundleSource>,
    pieces: &Arc<dyn StoredBlocks>,
    spool: Spool,
    numbers: Vec<u32>,
    mut tell: impl FnMut(DownloadProgress),
) -> Result<Spool, ToolError> {
    let (spool, numbers, total) = blocking::run("update", move |_| {
        let (missing, bytes) = spool.missing(numbers);
        spool.room_for(bytes)?;
        Ok((spool, missing, bytes))
    })
    .await?;
    let mut progress = DownloadProgress { done: 0, total, waits: source.shut() };
    tell(progress);
    let mut blocks = source.blocks(pieces, numbers, BlockOrder::Any);
    // `None` only while a blocking thread has it.
    let mut spool = Some(spool);
    while let Some(block) = blocks.next().await {
        let (n, stored) = block?;
        let length = stored.len() as u64;
        let mut taken = spool.take().ok_or_else(|| ToolError::internal("the spool was lost"))?;
        spool = Some(
            blocking::run("update", move |_| {
                if !taken.has(n) {
                    taken.put(n, &stored)?;
                }
                Ok(taken)
            })
            .await?,
        );
        progress.done = (progress.done + length).min(total);
        progress.waits = source.shut();
        tell(progress);
    }
    let mut spool = spool.ok_or_else(|| ToolError::internal("the spool was lost"))?;
    blocking::run("update", move |_| spool.sync().map(|()| spool)).await
}
