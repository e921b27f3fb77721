//! Encodes samples of one job as bytes: a row of the store.
//!
//! The layout is columnar, because a query reads few metrics of many samples: times first, then each metric after its
//! number and length, so that others can be skipped. A column holds differences to the previous value, as varints; runs
//! of zeros are stored as one entry. Seventeen metrics and a time usually take eighteen bytes a sample.
//!
//! ```text
//! block  = version 1, count, times, { metric number, length, column }, 8 bytes of checksum
//! column = presence (0 none, 1 all, 2 a bit for each), differences of those that are there
//! ```
//! All numbers are varints (LEB128); signed ones are zigzagged.

use super::metric::{MetricSet, Sample, WIDTH, column_number, place_of_column};

const VERSION: u64 = 1;
/// Most samples in one block: an hour at the shortest interval, for when the card cannot be written for that long.
pub const MOST: usize = 720;
const CHECKSUM: usize = 8;

/// What is wrong with the bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the checksum does not fit")]
    Checksum,
    #[error("a newer version wrote it")]
    Version,
    #[error("it ends too early")]
    Short,
    #[error("its numbers make no sense")]
    Nonsense,
}

/// Encodes these samples, at most [`MOST`], with these metrics.
pub fn encode(samples: &[Sample], metrics: MetricSet) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 + samples.len() * 20);
    put(&mut out, VERSION);
    put(&mut out, samples.len() as u64);
    // Second differences: a steady interval becomes a column of zeros.
    let (mut before, mut step) = (0, 0);
    let mut times = Runs::default();
    for sample in samples {
        let this = sample.at_ms.wrapping_sub(before);
        times.push(&mut out, this.wrapping_sub(step));
        (before, step) = (sample.at_ms, this);
    }
    times.finish(&mut out);
    let mut column = Vec::new();
    for metric in metrics.iter() {
        column.clear();
        encode_column(&mut column, samples, metric);
        put(&mut out, column_number(metric));
        put(&mut out, column.len() as u64);
        out.extend_from_slice(&column);
    }
    let sum = checksum(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

fn encode_column(out: &mut Vec<u8>, samples: &[Sample], metric: usize) {
    let present = samples.iter().filter(|sample| sample.values[metric].is_some()).count();
    if present == 0 {
        out.push(0);
        return;
    }
    if present == samples.len() {
        out.push(1);
    } else {
        out.push(2);
        for eight in samples.chunks(8) {
            let bit = |at: usize, sample: &Sample| u8::from(sample.values[metric].is_some()) << at;
            out.push(eight.iter().enumerate().fold(0, |byte, (at, sample)| byte | bit(at, sample)));
        }
    }
    let (mut before, mut runs) = (0_i64, Runs::default());
    for value in samples.iter().filter_map(|sample| sample.values[metric]) {
        runs.push(out, value.wrapping_sub(before));
        before = value;
    }
    runs.finish(out);
}

/// Run-length encoding: a run of zeros becomes one zero and the number of further ones.
#[derive(Default)]
struct Runs(u64);

impl Runs {
    fn push(&mut self, out: &mut Vec<u8>, difference: i64) {
        if difference == 0 {
            self.0 += 1;
            return;
        }
        self.flush(out);
        put(out, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
    }
    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.0 > 0 {
            put(out, 0);
            put(out, self.0 - 1);
            self.0 = 0;
        }
    }
    fn finish(mut self, out: &mut Vec<u8>) {
        self.flush(out);
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A decoded block. Its memory is reused for the next one.
#[derive(Default)]
pub struct Decoded {
    /// Milliseconds since 1970 UTC, in the order of the samples.
    pub times: Vec<i64>,
    columns: [Vec<Option<i64>>; WIDTH],
}

impl Decoded {
    /// Decodes the times and the wanted metrics of a block. Metrics missing from the block are absent in all its
    /// samples.
    ///
    /// # Errors
    /// [`Damage`]; the decoded contents are then invalid.
    pub fn read(&mut self, block: &[u8], wanted: MetricSet) -> Result<(), Damage> {
        let at = block.len().checked_sub(CHECKSUM).ok_or(Damage::Short)?;
        let (body, sum) = block.split_at(at);
        if checksum(body).to_le_bytes() != *sum {
            return Err(Damage::Checksum);
        }
        let mut rest = body;
        if take(&mut rest)? != VERSION {
            return Err(Damage::Version);
        }
        let count = usize::try_from(take(&mut rest)?).ok().filter(|count| *count <= MOST).ok_or(Damage::Nonsense)?;
        self.times.clear();
        let (mut before, mut step) = (0_i64, 0_i64);
        differences(&mut rest, count, |difference| {
            step = step.wrapping_add(difference);
            before = before.wrapping_add(step);
            self.times.push(before);
        })?;
        for metric in wanted.iter() {
            self.columns[metric].clear();
        }
        while !rest.is_empty() {
            let (metric, length) = (take(&mut rest)?, take(&mut rest)?);
            let column = usize::try_from(length).ok().and_then(|length| rest.split_off(..length));
            let column = column.ok_or(Damage::Short)?;
            // A number beyond the table is a metric of a newer version.
            let metric = place_of_column(metric);
            if metric < WIDTH && wanted.has(metric) {
                read_column(column, count, &mut self.columns[metric])?;
            }
        }
        Ok(())
    }

    /// One wanted metric of all samples, in the order of [`Self::times`]; empty if the block lacks it.
    pub fn column(&self, metric: usize) -> &[Option<i64>] {
        &self.columns[metric]
    }

    /// One sample with the wanted metrics.
    pub fn sample(&self, at: usize, wanted: MetricSet) -> Sample {
        let mut sample = Sample::empty(self.times[at]);
        for metric in wanted.iter() {
            sample.values[metric] = self.columns[metric].get(at).copied().flatten();
        }
        sample
    }
}

fn read_column(mut column: &[u8], count: usize, into: &mut Vec<Option<i64>>) -> Result<(), Damage> {
    let (presence, rest) = column.split_first().ok_or(Damage::Short)?;
    column = rest;
    into.clear();
    let mut value = 0_i64;
    let mut next = |difference: i64| {
        value = value.wrapping_add(difference);
        value
    };
    match presence {
        0 => into.resize(count, None),
        1 => differences(&mut column, count, |difference| into.push(Some(next(difference))))?,
        2 => {
            let bits = column.split_off(..count.div_ceil(8)).ok_or(Damage::Short)?;
            let is_there = |at: usize| bits[at / 8] >> (at % 8) & 1 == 1;
            let present = (0..count).filter(|at| is_there(*at)).count();
            let mut at = 0;
            differences(&mut column, present, |difference| {
                while !is_there(at) {
                    into.push(None);
                    at += 1;
                }
                into.push(Some(next(difference)));
                at += 1;
            })?;
            into.resize(count, None);
        }
        _ => return Err(Damage::Nonsense),
    }
    if column.is_empty() { Ok(()) } else { Err(Damage::Nonsense) }
}

/// Calls `each` with `count` differences.
fn differences(from: &mut &[u8], mut count: usize, mut each: impl FnMut(i64)) -> Result<(), Damage> {
    while count > 0 {
        let number = take(from)?;
        if number == 0 {
            let run = usize::try_from(take(from)?).ok().and_then(|more| more.checked_add(1));
            let run = run.filter(|run| *run <= count).ok_or(Damage::Nonsense)?;
            (0..run).for_each(|_| each(0));
            count -= run;
        } else {
            each((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            count -= 1;
        }
    }
    Ok(())
}

fn take(from: &mut &[u8]) -> Result<u64, Damage> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *from.split_off_first().ok_or(Damage::Short)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Damage::Nonsense)
}

/// Detects storage errors, not tampering: FNV-1a, eight bytes at a time.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let step =
        |hash: u64, word: &[u8; 8]| (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    step(words.iter().fold(0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64, step), &last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(block: &[u8], wanted: MetricSet) -> Result<Vec<Sample>, Damage> {
        let mut decoded = Decoded::default();
        decoded.read(block, wanted)?;
        Ok((0..decoded.times.len()).map(|at| decoded.sample(at, wanted)).collect())
    }

    #[test]
    fn five_minutes_of_a_quiet_machine_are_small() {
        let mut samples = Vec::new();
        for n in 0..60_i64 {
            let mut sample = Sample::empty(1_800_000_000_000 + n * 5000 + n % 2);
            sample.values = [Some(7); WIDTH];
            sample.values[0] = Some(50 + n % 5);
            samples.push(sample);
        }
        let block = encode(&samples, MetricSet::EVERY_PLACE);
        assert_eq!(read(&block, MetricSet::EVERY_PLACE).unwrap(), samples);
        assert!(block.len() < 300, "{}", block.len());
    }

    #[test]
    fn what_is_not_wanted_is_stepped_over_and_what_is_lacking_is_absent() {
        let mut sample = Sample::empty(5);
        (sample.values[1], sample.values[4]) = (Some(11), Some(-44));
        let block = encode(&[sample], MetricSet::NONE.with(1).with(4));
        let four = read(&block, MetricSet::NONE.with(4).with(9)).unwrap()[0];
        assert_eq!((four.values[4], four.values[1], four.values[9]), (Some(-44), None, None));
        assert_eq!(read(&encode(&[], MetricSet::ALL), MetricSet::ALL).unwrap(), []);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let samples: Vec<Sample> = (0..9).map(|n| Sample { at_ms: n, values: [Some(n * n); WIDTH] }).collect();
        let block = encode(&samples, MetricSet::ALL);
        for bit in 0..block.len() * 8 {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&damaged, MetricSet::ALL), Err(Damage::Checksum), "bit {bit}");
        }
        for length in 0..block.len() {
            assert!(read(&block[..length], MetricSet::ALL).is_err());
        }
    }

    fn any_value() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![
            Just(None),
            Just(Some(0)),
            (-300..300_i64).prop_map(Some),
            any::<i64>().prop_map(Some),
            Just(Some(i64::MIN)),
            Just(Some(i64::MAX))
        ]
    }

    proptest! {
        #[test]
        fn any_samples_come_back(rows in prop::collection::vec((any::<i64>(), prop::collection::vec(any_value(), WIDTH)), 0..40), mask in any::<u32>()) {
            let mut set = MetricSet::NONE;
            for metric in 0..WIDTH { if mask >> metric & 1 == 1 { set = set.with(metric); } }
            let samples: Vec<Sample> = rows.into_iter().map(|(at_ms, row)| {
                let mut sample = Sample::empty(at_ms);
                for metric in set.iter() { sample.values[metric] = row[metric]; }
                sample
            }).collect();
            prop_assert_eq!(read(&encode(&samples, set), MetricSet::EVERY_PLACE).unwrap(), samples);
        }

        #[test]
        fn no_bytes_make_it_panic(mut body in prop::collection::vec(any::<u8>(), 0..200), version in 0..3_u8) {
            if let Some(first) = body.first_mut() { *first = version; }
            let sum = checksum(&body);
            body.extend_from_slice(&sum.to_le_bytes());
            let _ = read(&body, MetricSet::ALL);
        }
    }
}
