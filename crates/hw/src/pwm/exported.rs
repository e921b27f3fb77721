//! One channel of a PWM chip, by its files: set, changed and released in an order that the kernel accepts.

use super::port::{ActiveChannel, PwmError, Wave};
use base::os::Root;
use rustix::io::Errno;
use std::{
    fs::OpenOptions,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

/// A channel; exported once `ours` is set.
pub(super) struct Exported {
    pub(super) root: Root,
    /// `sys/class/pwm/pwmchip0`
    pub(super) chip: String,
    /// `sys/class/pwm/pwmchip0/pwm1`
    pub(super) folder: String,
    pub(super) number: u32,
    /// Exported by us, or by a previous process of ours: must be released.
    pub(super) ours: AtomicBool,
}

impl Exported {
    pub(super) fn begin(&self, wave: Wave) -> Result<(), PwmError> {
        let polarity = format!("{}/polarity", self.folder);
        // Not every driver has it; with inverted polarity high and low would be swapped. It can only be set while
        // disabled.
        if self.root.line(&polarity).is_ok_and(|polarity| polarity != "normal") {
            write(&self.root, &polarity, "normal").map_err(|error| refused(error, &polarity))?;
        }
        self.shape(wave)?;
        self.put("enable", 1)
    }

    fn shape(&self, wave: Wave) -> Result<(), PwmError> {
        for (file, value) in in_order(self.get("duty_cycle")?, wave) {
            self.put(file, value)?;
        }
        Ok(())
    }

    fn get(&self, file: &str) -> Result<u64, PwmError> {
        let value = self.root.number(&format!("{}/{file}", self.folder))?;
        Ok(value.unsigned_abs())
    }

    fn put(&self, file: &str, value: impl ToString) -> Result<(), PwmError> {
        let path = format!("{}/{file}", self.folder);
        write(&self.root, &path, value).map_err(|error| refused(error, &path))
    }
}

impl ActiveChannel for Exported {
    fn set(&self, wave: Wave) -> Result<(), PwmError> {
        let before = self.now()?;
        self.shape(wave).inspect_err(|_| {
            // It may have been set in part. Restoring the old values works: the kernel accepted them before.
            let _ = self.shape(before);
        })
    }

    fn now(&self) -> Result<Wave, PwmError> {
        let (period, high) = (self.get("period")?, self.get("duty_cycle")?);
        Wave::read(period, high).ok_or_else(|| PwmError::Unsupported(format!("/{} has no period", self.folder)))
    }

    fn stop(&self) -> Result<(), PwmError> {
        if !self.ours.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        // Low first: a driver may keep the current level when it is disabled.
        let low = self.put("duty_cycle", 0).and_then(|()| self.put("enable", 0));
        let unexport = format!("{}/unexport", self.chip);
        write(&self.root, &unexport, self.number).map_err(|error| refused(error, &unexport))?;
        low
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        if let Err(fault) = self.stop() {
            tracing::warn!(channel = self.folder, %fault, "a PWM channel could not be stopped");
        }
    }
}

/// The kernel refuses a duty cycle longer than the period, even in between: the order of the two writes avoids that.
fn in_order(high_now: u64, wave: Wave) -> [(&'static str, u128); 2] {
    let (period, high) = (("period", wave.period().as_nanos()), ("duty_cycle", wave.high().as_nanos()));
    if period.1 < u128::from(high_now) { [high, period] } else { [period, high] }
}

pub(super) fn write(root: &Root, file: &str, value: impl ToString) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(root.path(file))?.write_all(value.to_string().as_bytes())
}

/// The fault for a kernel error.
pub(super) fn refused(error: io::Error, file: &str) -> PwmError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::BUSY) => PwmError::Busy("a driver of the kernel uses it".into()),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            PwmError::NoRights(format!("/{file} cannot be written by this user: {error}"))
        }
        Some(Errno::INVAL | Errno::RANGE) => {
            PwmError::Unsupported(format!("the driver cannot make this wave: /{file}: {error}"))
        }
        _ => PwmError::Io(io::Error::new(error.kind(), format!("/{file}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own rule (`pwm_apply_might_sleep` in drivers/pwm/core.c), on the two values alone.
    #[test]
    fn the_high_part_never_exceeds_the_period_in_between() {
        let (mut period, mut high) = (0, 0);
        for (frequency, duty) in [
            (10.0, 100.0),
            (50_000.0, 100.0),
            (1.0, 0.1),
            (1.0, 100.0),
            (2.0, 100.0),
            (3.0, 1.0),
            (4000.0, 100.0),
            (4000.0, 0.0),
        ] {
            let next = Wave::of(frequency, duty).unwrap();
            for (file, value) in in_order(high, next) {
                *(if file == "period" { &mut period } else { &mut high }) = u64::try_from(value).unwrap();
                assert!(high <= period && period > 0, "{file} on the way to {next:?}: {high} of {period}");
            }
            assert_eq!(Wave::read(period, high), Some(next));
        }
    }

    #[test]
    fn refusals_are_told_apart() {
        let of = |errno: Errno| refused(errno.into(), "sys/class/pwm/pwmchip0/export");
        assert!(matches!(of(Errno::BUSY), PwmError::Busy(_)));
        for errno in [Errno::ACCESS, Errno::PERM, Errno::ROFS] {
            assert!(matches!(of(errno), PwmError::NoRights(_)));
        }
        assert!(matches!(of(Errno::INVAL), PwmError::Unsupported(_)));
        assert!(matches!(of(Errno::IO), PwmError::Io(_)));
    }
}
