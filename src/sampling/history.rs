//! Samples in buckets: mean, minimum and maximum of each metric, at multiples of the resolution since 1970 UTC.

use super::{
    Sampling,
    block::Decoded,
    metric::{MetricKey, MetricSet, Sample},
    scan::{JobSnapshot, ScanVisitor},
};
use base::error::ToolError;
use std::ops::Range;

/// Most buckets times metrics of one query: two metrics over a week by the minute. Each takes 32 bytes here and a
/// hundred in the answer.
pub const MOST_CELLS: i64 = 20_160;

/// A time range divided into buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketedRange {
    /// Milliseconds since 1970 UTC.
    pub times: Range<i64>,
    pub resolution_ms: i64,
}

impl BucketedRange {
    /// How many buckets it overlaps.
    pub fn buckets(&self) -> i64 {
        if self.times.is_empty() {
            return 0;
        }
        (self.times.end - 1).div_euclid(self.resolution_ms) - self.first() + 1
    }
    fn first(&self) -> i64 {
        self.times.start.div_euclid(self.resolution_ms)
    }
    /// The bucket that contains this time, if any.
    fn bucket(&self, at_ms: i64) -> Option<usize> {
        if !self.times.contains(&at_ms) {
            return None;
        }
        usize::try_from(at_ms.div_euclid(self.resolution_ms) - self.first()).ok()
    }
    /// Start of a bucket.
    pub fn begins(&self, bucket: usize) -> i64 {
        (self.first() + i64::try_from(bucket).unwrap_or(i64::MAX)).saturating_mul(self.resolution_ms)
    }
}

/// The samples of one metric in one bucket, as stored numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricBucket {
    pub sum: i64,
    pub min: i64,
    pub max: i64,
    pub count: u32,
}

impl MetricBucket {
    const EMPTY: Self = Self { sum: 0, min: i64::MAX, max: i64::MIN, count: 0 };

    fn add(&mut self, value: i64) {
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1;
    }
}

/// The buckets of one metric, including empty ones.
#[derive(Debug)]
pub struct Series {
    pub metric: MetricKey,
    pub cells: Vec<MetricBucket>,
}

/// The result of one query.
#[derive(Debug)]
pub struct History {
    pub span: BucketedRange,
    pub series: Vec<Series>,
    /// Blocks that could not be decoded; their samples are in no bucket.
    pub damaged: u32,
}

struct Filling {
    history: History,
    decoded: Decoded,
    /// The buckets of the current block's samples.
    places: Vec<Option<usize>>,
}

impl ScanVisitor for Filling {
    fn block(&mut self, source: &JobSnapshot, block: &[u8]) {
        let Self { history, decoded, places } = self;
        // A job that does not take one now may have taken it before: of the table, each is looked for.
        let at = |metric: &MetricKey| metric.place(MetricSet::ALL, &source.sensors);
        let wanted =
            history.series.iter().filter_map(|series| at(&series.metric)).fold(MetricSet::NONE, MetricSet::with);
        if decoded.read(block, wanted).is_err() {
            history.damaged += 1;
            return;
        }
        let span = &history.span;
        places.clear();
        let place = |at: &i64| source.times.contains(at).then(|| span.bucket(*at)).flatten();
        places.extend(decoded.times.iter().map(place));
        for Series { metric, cells } in &mut history.series {
            let column = at(metric).map_or(&[][..], |metric| decoded.column(metric));
            for (place, value) in places.iter().zip(column) {
                if let (Some(place), Some(value)) = (place, value) {
                    cells[*place].add(*value);
                }
            }
        }
    }

    fn waiting(&mut self, source: &JobSnapshot, samples: &[Sample]) {
        let History { span, series, .. } = &mut self.history;
        for sample in samples.iter().filter(|sample| source.times.contains(&sample.at_ms)) {
            let Some(place) = span.bucket(sample.at_ms) else { continue };
            for Series { metric, cells } in series.iter_mut() {
                let at = metric.place(MetricSet::ALL, &source.sensors);
                if let Some(value) = at.and_then(|at| sample.values[at]) {
                    cells[place].add(value);
                }
            }
        }
    }
}

impl Sampling {
    /// The buckets of these metrics, for one job or all jobs together. `span` and `metrics` may make at most
    /// [`MOST_CELLS`].
    ///
    /// # Errors
    /// `not_found`, `invalid_argument` for more cells, and the store's.
    pub async fn history(
        &self,
        job: Option<&str>,
        span: BucketedRange,
        metrics: &[MetricKey],
    ) -> Result<History, ToolError> {
        let buckets = span.buckets();
        let cells = buckets.saturating_mul(i64::try_from(metrics.len()).unwrap_or(i64::MAX));
        if cells > MOST_CELLS {
            return Err(ToolError::invalid(format!(
                "{buckets} buckets of {} metrics are more than {MOST_CELLS}",
                metrics.len()
            ))
            .with("parameter", "resolution")
            .hint("ask for less time, fewer metrics or a coarser resolution"));
        }
        let empty = vec![MetricBucket::EMPTY; usize::try_from(buckets).unwrap_or(0)];
        let series = metrics.iter().map(|metric| Series { metric: metric.clone(), cells: empty.clone() }).collect();
        let sources = self.sources(job, &span.times).await?;
        let history = History { span, series, damaged: 0 };
        let filling = Filling { history, decoded: Decoded::default(), places: Vec::new() };
        Ok(self.scan(sources, filling).await?.history)
    }
}
