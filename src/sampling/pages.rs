//! Samples in pages.

use super::{
    Sampling,
    block::Decoded,
    metric::{MetricSet, Sample},
    scan::{JobSnapshot, ScanVisitor},
};
use base::error::ToolError;
use std::{ops::Range, sync::Arc};

/// A part of a list of samples.
#[derive(Debug, Default)]
pub struct SamplePage {
    /// Each with its job's name and the names of its sensors.
    pub samples: Vec<(String, Arc<[String]>, Sample)>,
    /// Number of all samples.
    pub total: u64,
    /// Blocks that could not be decoded; their samples are not counted.
    pub damaged: u32,
}

struct Turning {
    page: SamplePage,
    /// The positions of the list that are on this page.
    places: Range<u64>,
    decoded: Decoded,
}

impl Turning {
    /// Counts samples and keeps those on the page.
    fn add(&mut self, source: &JobSnapshot, count: u64, mut samples: impl Iterator<Item = Sample>) {
        let first = self.page.total;
        self.page.total += count;
        let skip = self.places.start.saturating_sub(first).min(count);
        let take = self.places.end.saturating_sub(first).min(count).saturating_sub(skip);
        let (skip, take) = (usize::try_from(skip).unwrap_or(usize::MAX), usize::try_from(take).unwrap_or(0));
        if take > 0 {
            if skip > 0 {
                samples.nth(skip - 1);
            }
            let shown = |sample| (source.id.clone(), Arc::clone(&source.sensors), sample);
            self.page.samples.extend(samples.take(take).map(shown));
        }
    }
}

impl ScanVisitor for Turning {
    fn block(&mut self, source: &JobSnapshot, block: &[u8]) {
        let mut decoded = std::mem::take(&mut self.decoded);
        match decoded.read(block, MetricSet::NONE) {
            Ok(()) => {
                let fitting: Vec<usize> =
                    (0..decoded.times.len()).filter(|at| source.times.contains(&decoded.times[*at])).collect();
                let (first, count) = (self.page.total, fitting.len() as u64);
                let is_shown = first < self.places.end && first + count > self.places.start;
                // Decode the columns only for blocks on the page.
                if is_shown && decoded.read(block, MetricSet::EVERY_PLACE).is_err() {
                    self.page.damaged += 1;
                } else {
                    self.add(source, count, fitting.into_iter().map(|at| decoded.sample(at, MetricSet::EVERY_PLACE)));
                }
            }
            Err(_) => self.page.damaged += 1,
        }
        self.decoded = decoded;
    }

    fn waiting(&mut self, source: &JobSnapshot, samples: &[Sample]) {
        let fitting = || samples.iter().filter(|sample| source.times.contains(&sample.at_ms)).copied();
        self.add(source, fitting().count() as u64, fitting());
    }
}

impl Sampling {
    /// The samples of one job, or of all jobs one after the other, in the order they were taken: those at `places` in
    /// the list of all samples within `times` (milliseconds since 1970 UTC).
    ///
    /// # Errors
    /// `not_found`, and the store's.
    pub async fn page(
        &self,
        job: Option<&str>,
        times: Range<i64>,
        places: Range<u64>,
    ) -> Result<SamplePage, ToolError> {
        let sources = self.sources(job, &times).await?;
        let turning = Turning { page: SamplePage::default(), places, decoded: Decoded::default() };
        Ok(self.scan(sources, turning).await?.page)
    }
}
