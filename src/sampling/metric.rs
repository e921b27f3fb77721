//! The table of sampled metrics, from which names, schemas, columns and numbers are derived.
//!
//! Beside them a job may sample sensors ([`hw::sensors`]), each in a place of its own after the table's.
//!
//! A value is stored as an integer in the metric's own unit (a tenth of a degree, a KiB), so that sums are exact and
//! consecutive values differ little, which keeps the columns of [`super::block`] small.

use contract::config::nearest;
use serde_json::{Number, Value};

/// One sampled quantity.
#[derive(Debug)]
pub struct Metric {
    /// The field in a sample.
    pub name: &'static str,
    /// Another name for it, as listed in docs/contract/metrics.md.
    pub alias: Option<&'static str>,
    pub kind: ValueFormat,
    /// Numerator and denominator: stored number × numerator ÷ denominator = value.
    scale: (i64, i64),
    pub doc: &'static str,
}

/// How a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFormat {
    /// true or false in a sample; in a mean, the fraction of the time it was true.
    Flag,
    Whole,
    Decimal,
}

const fn metric(name: &'static str, kind: ValueFormat, times: i64, over: i64, doc: &'static str) -> Metric {
    Metric { name, alias: None, kind, scale: (times, over), doc }
}
const fn known_as(alias: &'static str, metric: Metric) -> Metric {
    Metric { alias: Some(alias), ..metric }
}

use ValueFormat::{Decimal, Flag, Whole};

/// Every metric. Its index is its number in stored blocks: new ones are appended, and none is ever removed.
#[rustfmt::skip]
pub static METRICS: [Metric; 17] = [
    known_as("cpu_percent", metric("cpu_usage_percent", Decimal, 1, 10, "Mean since the sample before.")),
    metric("memory_used_bytes", Whole, 1024, 1, "What cannot be given back at will."),
    known_as("memory_percent", metric("memory_used_percent", Decimal, 1, 10, "Of all memory.")),
    metric("swap_used_bytes", Whole, 1024, 1, "Absent without swap."),
    metric("disk_used_bytes", Whole, 1024, 1, "Of the file system that health watches."),
    metric("disk_used_percent", Decimal, 1, 10, "Of that file system."),
    metric("cpu_temperature_celsius", Decimal, 1, 10, "Of the processor."),
    metric("load_average_1m", Decimal, 1, 100, "Tasks that run or wait, mean of a minute."),
    metric("cpu_frequency_hz", Whole, 1000, 1, "Of core 0."),
    metric("network_sent_bytes_per_sec", Whole, 1, 1, "All interfaces, mean since the sample before."),
    metric("network_received_bytes_per_sec", Whole, 1, 1, "As network_sent_bytes_per_sec."),
    metric("disk_read_bytes_per_sec", Whole, 1, 1, "All disks, mean since the sample before."),
    metric("disk_write_bytes_per_sec", Whole, 1, 1, "As disk_read_bytes_per_sec."),
    metric("under_voltage", Flag, 1, 1, "The supply is below 4.63 V."),
    metric("freq_capped", Flag, 1, 1, "The processor's clock is capped."),
    metric("throttled", Flag, 1, 1, "The processor is throttled."),
    metric("soft_temperature_limit", Flag, 1, 1, "The board slows down because it is warm."),
];

pub const COUNT: usize = METRICS.len();
/// Most sensors of one job. The job says which is in which place.
pub const SENSORS: usize = 8;
/// All places of a sample: the table's, and those of the job's sensors.
pub const WIDTH: usize = COUNT + SENSORS;
/// What the name of a sensor begins with among metrics.
pub const SENSOR_PREFIX: &str = "sensor:";
/// The number of the first sensor's column in a block: beyond all metrics that there will be.
const FIRST_SENSOR: u64 = 64;

/// Every sensor, in its unit: millionths are finer than what sensors measure.
static SENSOR: Metric = metric("sensor", Decimal, 1, 1_000_000, "What a sensor measures.");

/// The metric in a place of a sample.
pub fn in_place(place: usize) -> &'static Metric {
    METRICS.get(place).unwrap_or(&SENSOR)
}

/// The number of a place's column in a block.
pub fn column_number(place: usize) -> u64 {
    if place < COUNT { place as u64 } else { FIRST_SENSOR + (place - COUNT) as u64 }
}

/// The place of a column; [`WIDTH`] for one that this version does not know.
pub fn place_of_column(number: u64) -> usize {
    let place = |number| usize::try_from(number).unwrap_or(WIDTH);
    match number.checked_sub(FIRST_SENSOR) {
        Some(sensor) => place(sensor).saturating_add(COUNT).min(WIDTH),
        None if place(number) < COUNT => place(number),
        None => WIDTH,
    }
}

/// A metric by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricKey {
    /// Of the table.
    Known(usize),
    /// A sensor, by its name in `sensors.list`.
    Sensor(String),
}

impl MetricKey {
    /// `None` for a name that is neither.
    pub fn find(name: &str) -> Option<Self> {
        match name.strip_prefix(SENSOR_PREFIX) {
            Some("") => None,
            Some(sensor) => Some(Self::Sensor(sensor.to_owned())),
            None => Metric::find(name).map(Self::Known),
        }
    }

    /// As [`Self::find`] takes it.
    pub fn name(&self) -> String {
        match self {
            Self::Known(metric) => METRICS[*metric].name.to_owned(),
            Self::Sensor(sensor) => format!("{SENSOR_PREFIX}{sensor}"),
        }
    }

    pub fn about(&self) -> &'static Metric {
        match self {
            Self::Known(metric) => &METRICS[*metric],
            Self::Sensor(_) => &SENSOR,
        }
    }

    /// Its place in the samples of a job with these metrics and sensors.
    pub fn place(&self, metrics: MetricSet, sensors: &[String]) -> Option<usize> {
        match self {
            Self::Known(metric) => metrics.has(*metric).then_some(*metric),
            Self::Sensor(name) => sensors.iter().position(|sensor| sensor == name).map(|at| COUNT + at),
        }
    }
}

impl Metric {
    /// The metric with that name or alias.
    pub fn find(name: &str) -> Option<usize> {
        METRICS.iter().position(|metric| metric.name == name || metric.alias == Some(name))
    }
    /// The known name most similar to an unknown one.
    pub fn near(name: &str) -> Option<&'static str> {
        nearest(name, METRICS.iter().flat_map(|metric| [Some(metric.name), metric.alias]).flatten())
    }
    /// The stored number for `value`; `None` if it is not a finite number.
    pub fn raw(&self, value: f64) -> Option<i64> {
        let raw = value * self.scale.1 as f64 / self.scale.0 as f64;
        // Half of an i64's range, so that the difference of two cannot overflow.
        (raw.abs() < (i64::MAX / 4) as f64).then(|| raw.round() as i64)
    }
    /// The value of a stored number, as shown in a sample.
    pub fn shown(&self, raw: i64) -> Value {
        match self.kind {
            Flag => Value::Bool(raw != 0),
            Whole => Value::Number((raw.saturating_mul(self.scale.0)).into()),
            Decimal => decimal(raw as f64 / self.scale.1 as f64),
        }
    }
    /// The mean of `count` stored numbers with this `sum`, rounded to significant digits.
    pub fn mean(&self, sum: i64, count: u32) -> f64 {
        let exact = sum as f64 / f64::from(count.max(1)) * self.scale.0 as f64 / self.scale.1 as f64;
        let digits = match self.kind {
            Whole => 1.0,
            Decimal => self.scale.1 as f64 * 10.0,
            Flag => 1000.0,
        };
        (exact * digits).round() / digits
    }
    /// A stored number as a float, for minimum and maximum.
    pub fn number(&self, raw: i64) -> f64 {
        self.mean(raw, 1)
    }
}

fn decimal(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A set of metrics, and of places of sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSet(u32);

impl MetricSet {
    /// The whole table.
    pub const ALL: Self = Self((1 << COUNT) - 1);
    /// That, and the places of sensors.
    pub const EVERY_PLACE: Self = Self((1 << WIDTH) - 1);
    pub const NONE: Self = Self(0);

    pub const fn with(self, metric: usize) -> Self {
        Self(self.0 | 1 << metric)
    }
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub fn without(self, metrics: &[usize]) -> Self {
        Self(metrics.iter().fold(self.0, |left, metric| left & !(1 << metric)))
    }
    pub const fn has(self, metric: usize) -> bool {
        self.0 >> metric & 1 == 1
    }
    pub fn has_any(self, metrics: &[usize]) -> bool {
        metrics.iter().any(|metric| self.has(*metric))
    }
    /// The places of its metrics, in the table's order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..WIDTH).filter(move |metric| self.has(*metric))
    }
    /// The names of those in the table.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().filter_map(|metric| Some(METRICS.get(metric)?.name)).collect()
    }
}

/// The machine's values at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Milliseconds since 1970 UTC, by the machine's clock.
    pub at_ms: i64,
    /// Stored numbers by place; `None` if not measured.
    pub values: [Option<i64>; WIDTH],
}

impl Sample {
    pub const fn empty(at_ms: i64) -> Self {
        Self { at_ms, values: [None; WIDTH] }
    }
    /// Sets a metric by its place.
    pub fn set(&mut self, place: usize, value: Option<f64>) {
        self.values[place] = value.and_then(|value| in_place(place).raw(value));
    }
}

/// Indices into the table, for the code that measures.
pub mod at {
    pub const CPU: usize = 0;
    pub const MEMORY: usize = 1;
    pub const MEMORY_PERCENT: usize = 2;
    pub const SWAP: usize = 3;
    pub const DISK: usize = 4;
    pub const DISK_PERCENT: usize = 5;
    pub const TEMPERATURE: usize = 6;
    pub const LOAD: usize = 7;
    pub const FREQUENCY: usize = 8;
    pub const SENT: usize = 9;
    pub const RECEIVED: usize = 10;
    pub const DISK_READ: usize = 11;
    pub const DISK_WRITTEN: usize = 12;
    pub const UNDER_VOLTAGE: usize = 13;
    pub const FREQ_CAPPED: usize = 14;
    pub const THROTTLED: usize = 15;
    pub const SOFT_LIMIT: usize = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_agree() {
        for (place, name) in [
            (at::CPU, "cpu_usage_percent"),
            (at::MEMORY_PERCENT, "memory_used_percent"),
            (at::SWAP, "swap_used_bytes"),
            (at::DISK_PERCENT, "disk_used_percent"),
            (at::TEMPERATURE, "cpu_temperature_celsius"),
            (at::LOAD, "load_average_1m"),
            (at::FREQUENCY, "cpu_frequency_hz"),
            (at::RECEIVED, "network_received_bytes_per_sec"),
            (at::DISK_WRITTEN, "disk_write_bytes_per_sec"),
            (at::SOFT_LIMIT, "soft_temperature_limit"),
        ] {
            assert_eq!(METRICS[place].name, name);
            assert_eq!(Metric::find(name), Some(place));
        }
        assert_eq!(Metric::find("cpu_percent"), Some(at::CPU));
        assert_eq!(Metric::find("memory_percent"), Some(at::MEMORY_PERCENT));
        assert_eq!((Metric::find("cpu"), Metric::find("")), (None, None));
        assert_eq!(Metric::near("cpu_precent"), Some("cpu_percent"));
    }

    #[test]
    fn columns_of_sensors_stand_beyond_those_of_metrics() {
        for place in 0..WIDTH {
            assert_eq!(place_of_column(column_number(place)), place);
        }
        for unknown in [COUNT as u64, 63, 64 + SENSORS as u64, u64::MAX] {
            assert_eq!(place_of_column(unknown), WIDTH, "{unknown}");
        }
        assert_eq!(MetricKey::find("sensor:"), None);
        let key = MetricKey::find("sensor:a/b").unwrap();
        let sensors = ["c".to_owned(), "a/b".to_owned()];
        assert_eq!(key.place(MetricSet::ALL, &sensors), Some(COUNT + 1));
        assert_eq!((key.place(MetricSet::ALL, &[]), key.name().as_str()), (None, "sensor:a/b"));
    }

    #[test]
    fn numbers_come_back_as_they_went() {
        let shown = |metric: usize, value: f64| METRICS[metric].shown(METRICS[metric].raw(value).unwrap());
        assert_eq!(shown(at::CPU, 12.34), 12.3);
        assert_eq!(shown(at::MEMORY, 101_212_160.0), 101_212_160);
        assert_eq!(shown(at::LOAD, 0.08), 0.08);
        assert_eq!(shown(at::TEMPERATURE, -12.3), -12.3);
        assert_eq!(shown(at::FREQUENCY, 1_500_000_000.0), 1_500_000_000);
        assert_eq!(shown(at::THROTTLED, 1.0), true);
        assert_eq!(METRICS[at::CPU].mean(1003, 4), 25.08);
        assert_eq!(METRICS[at::UNDER_VOLTAGE].mean(1, 3), 0.333);
        assert_eq!(METRICS[at::SENT].mean(10, 4), 3.0);
        for bad in [f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(METRICS[at::SENT].raw(bad), None);
        }
    }
}
