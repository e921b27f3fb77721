//! Follows the roots: a scan at the start, then what changes.

use super::{
    Indexing, failed,
    scan::ScanOutcome,
    watch::{Place, TreeChanges, TreeWatch},
};
use base::{error::ToolError, os::blocking};
use search::Corpus;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// The wait after a change: a file is often written in several steps.
const SETTLE: Duration = Duration::from_millis(500);
/// Between two scans at least so many times what the last one took: files that change all the time do not keep a core busy.
const SHARE: u32 = 4;
/// After how long it is tried again, when the index could not be used.
const AGAIN: Duration = Duration::from_secs(60);

impl Indexing {
    /// Follows the indexed roots until `stop`. Without one there is no task.
    pub fn begin(&self, stop: &CancellationToken) {
        if self.0.roots.is_empty() {
            return;
        }
        let indexing = self.clone();
        base::task::spawn(stop.clone().run_until_cancelled_owned(async move {
            match TreeWatch::new() {
                Ok(watch) => indexing.follow(watch).await,
                Err(error) => tracing::error!(%error, "files cannot be indexed: inotify is not to be had"),
            }
        }));
    }

    async fn follow(self, mut watch: TreeWatch) {
        let mut changes = TreeChanges { lost: true, ..TreeChanges::default() };
        loop {
            let began = Instant::now();
            let (indexing, whole, folders) = (self.clone(), changes.lost, changes.folders);
            let (given, scanned) = match blocking::run("vector", move |stop| {
                let scanned = indexing.bring_up(&mut watch, whole, &folders, stop);
                Ok((watch, scanned))
            })
            .await
            {
                Ok(done) => done,
                // It was cancelled: the server stops.
                Err(_) => return,
            };
            watch = given;
            if let Err(error) = scanned {
                tracing::warn!(error = error.advice(), "the search index is not up to date");
                tokio::time::sleep(AGAIN).await;
                changes = TreeChanges { lost: true, ..TreeChanges::default() };
                continue;
            }
            tokio::time::sleep(SETTLE.max(began.elapsed() * SHARE)).await;
            // In a folder where a root is awaited, others come and go.
            changes = TreeChanges::default();
            while changes == TreeChanges::default() {
                changes = tokio::select! {
                    ready = watch.ready() => match ready {
                        Ok(()) => {
                            tokio::time::sleep(SETTLE).await;
                            watch.changes()
                        }
                        Err(error) => {
                            return tracing::error!(%error, "changes of indexed files go unnoticed from now on");
                        }
                    },
                    () = self.0.rebuild.notified() => {
                        self.clear().await;
                        TreeChanges { lost: true, ..TreeChanges::default() }
                    }
                };
            }
        }
    }

    /// Scans all roots, or these folders. Blocks.
    fn bring_up(
        &self,
        watch: &mut TreeWatch,
        whole: bool,
        folders: &BTreeSet<Place>,
        stop: &blocking::StopSignal,
    ) -> Result<(), ToolError> {
        self.note(|progress| progress.scanning = true);
        let scanned = self.scan_all(watch, whole, folders, stop);
        self.note(|progress| {
            progress.scanning = false;
            if let (true, Ok(outcome)) = (whole, &scanned) {
                progress.scanned = true;
                (progress.skipped, progress.left_out) = (outcome.skipped, outcome.left_out);
            }
        });
        self.close();
        scanned.map(drop)
    }

    fn scan_all(
        &self,
        watch: &mut TreeWatch,
        whole: bool,
        folders: &BTreeSet<Place>,
        stop: &blocking::StopSignal,
    ) -> Result<ScanOutcome, ToolError> {
        let mut all = ScanOutcome::default();
        if whole {
            let names: BTreeSet<&str> = self.roots().collect();
            self.using(|index| index.keep_only(Corpus::Files, &names).map_err(failed))?;
        }
        for root in &self.0.roots {
            let changed: Vec<&str> = if whole {
                vec![""]
            } else {
                folders.iter().filter(|(name, _)| *name == root.name).map(|(_, path)| path.as_str()).collect()
            };
            for folder in changed {
                let outcome = self.scan(root, folder, whole, watch, stop)?;
                all.skipped += outcome.skipped;
                all.left_out += outcome.left_out;
            }
        }
        Ok(all)
    }

    /// Forgets everything of the files.
    async fn clear(&self) {
        let indexing = self.clone();
        let cleared = blocking::run("vector", move |_| {
            indexing.using(|index| index.keep_only(Corpus::Files, &BTreeSet::new()).map_err(failed))
        });
        if let Err(error) = cleared.await {
            tracing::warn!(error = error.advice(), "the search index was not cleared");
        }
    }
}
