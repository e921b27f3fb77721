//! Reads the machine's current values for the jobs that are due.

use super::metric::{MetricSet, Sample, at};
use base::os::{activity::Interval, cpufreq, loadavg, meminfo, mounts};
use hw::{firmware::Throttled, machine::Machine, temperature};
use std::{io, time::Duration};
use tokio::time::Instant;

/// Shortest time between two queries of throttling where only a program provides it: starting one costs more than all
/// other reads here. A little less than a minute, so that a job with an interval of one minute queries it every time,
/// even after a late sample.
const PROGRAM_EVERY: Duration = Duration::from_secs(50);

/// State kept between reads.
#[derive(Debug, Default)]
pub struct Looker {
    program_asked: Option<Instant>,
}

impl Looker {
    /// The wanted metrics from one read, and the throttling word if it was read. A source that is missing or fails
    /// leaves its metrics absent; health reports the failure.
    pub async fn look(&mut self, machine: &Machine, wanted: MetricSet, at_ms: i64) -> (Sample, Option<Throttled>) {
        let mut sample = Sample::empty(at_ms);
        memory(&mut sample, machine, wanted);
        disk(&mut sample, machine, wanted);
        if wanted.has(at::TEMPERATURE) {
            let reading = temperature::read(&machine.root, &machine.board, &machine.firmware).await;
            sample.set(at::TEMPERATURE, reading.ok().flatten().map(|reading| reading.celsius));
        }
        if wanted.has(at::LOAD) {
            sample.set(at::LOAD, loadavg::read(&machine.root).ok().map(|[minute, ..]| minute));
        }
        if wanted.has(at::FREQUENCY) {
            sample.set(at::FREQUENCY, cpufreq::hertz(&machine.root).ok().map(|hertz| hertz as f64));
        }
        let mut word = None;
        if wanted.has_any(&FLAGS) {
            word = self.throttled(machine).await;
            flags(&mut sample, word);
        }
        (sample, word)
    }

    async fn throttled(&mut self, machine: &Machine) -> Option<Throttled> {
        // Both may start a process: if the mailbox fails, the program is used. In between the kernel's file has what is now.
        if matches!(machine.firmware.source(), Some("mailbox" | "vcgencmd")) {
            let now = Instant::now();
            if self.program_asked.is_some_and(|asked| now.saturating_duration_since(asked) < PROGRAM_EVERY) {
                return machine.firmware.throttled_now();
            }
            self.program_asked = Some(now);
        }
        machine.firmware.throttled().await.ok().flatten()
    }
}

/// Sets the metrics of [`FLAGS`] from the firmware's word.
pub fn flags(sample: &mut Sample, word: Option<Throttled>) {
    let bits: [fn(Throttled) -> bool; 4] =
        [Throttled::under_voltage, Throttled::freq_capped, Throttled::throttled, Throttled::soft_temperature_limit];
    for (metric, bit) in FLAGS.into_iter().zip(bits) {
        sample.set(metric, word.map(|word| f64::from(u8::from(bit(word)))));
    }
}

fn memory(sample: &mut Sample, machine: &Machine, wanted: MetricSet) {
    if !wanted.has_any(&[at::MEMORY, at::MEMORY_PERCENT, at::SWAP]) {
        return;
    }
    let Ok(memory) = meminfo::read(&machine.root) else { return };
    sample.set(at::MEMORY, Some(memory.used() as f64));
    sample.set(at::MEMORY_PERCENT, percent(memory.used(), memory.total));
    let swap = memory.swap_total.saturating_sub(memory.swap_free);
    sample.set(at::SWAP, (memory.swap_total > 0).then_some(swap as f64));
}

fn disk(sample: &mut Sample, machine: &Machine, wanted: MetricSet) {
    if !wanted.has_any(&[at::DISK, at::DISK_PERCENT]) {
        return;
    }
    let space = || -> io::Result<mounts::Space> {
        let mounted = mounts::read(&machine.root)?;
        mounts::space(&machine.root, mounts::watched(&mounted))
    };
    let Ok(space) = space() else { return };
    sample.set(at::DISK, Some(space.used as f64));
    sample.set(at::DISK_PERCENT, percent(space.used, space.total));
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

/// Sets the metrics of [`MOVING`], which are means over an interval.
pub fn moved(sample: &mut Sample, interval: &Interval) {
    sample.set(at::CPU, Some(interval.cpu_percent()));
    let (sent, received) = interval.network_bytes().unzip();
    let (read, written) = interval.disk_bytes().unzip();
    for (metric, rate) in
        [(at::SENT, sent), (at::RECEIVED, received), (at::DISK_READ, read), (at::DISK_WRITTEN, written)]
    {
        sample.set(metric, rate);
    }
}

/// Metrics that need two readings.
pub const MOVING: [usize; 5] = [at::CPU, at::SENT, at::RECEIVED, at::DISK_READ, at::DISK_WRITTEN];
/// Metrics from the firmware's word.
pub const FLAGS: [usize; 4] = [at::UNDER_VOLTAGE, at::FREQ_CAPPED, at::THROTTLED, at::SOFT_LIMIT];
