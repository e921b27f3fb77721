//! What comes out of a pin that the kernel drives: its level, looked at until it has changed often enough, or what its PWM chip
//! says where an emulated chip puts nothing out.

use super::{Held, Lines, Scope};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// A wave that did not rise three times within this is none, or too slow for an assertion.
const PATIENCE: Duration = Duration::from_secs(3);
/// A measurement is of so many periods.
const PERIODS: u32 = 8;

/// Period and pulse width of what `level` shows, in nanoseconds.
pub fn sampled(level: impl Fn() -> bool) -> Option<(u64, u64)> {
    let until = Instant::now() + PATIENCE;
    let next = |high: bool| {
        while level() != high {
            if Instant::now() > until {
                return None;
            }
            std::thread::yield_now();
        }
        Some(Instant::now())
    };
    // Not into the middle of a pulse.
    next(false)?;
    let first = next(true)?;
    let (mut rise, mut high) = (first, Duration::ZERO);
    for _ in 0..PERIODS {
        high += next(false)? - rise;
        rise = next(true)?;
    }
    let part = |whole: Duration| u64::try_from((whole / PERIODS).as_nanos()).unwrap();
    Some((part(rise - first), part(high)))
}

/// Pins of a board with PWM chips in sysfs.
pub struct KernelScope {
    /// Pins with their channels: `(12, "3f20c000.pwm", 0)`.
    pub hardware: Vec<(u8, &'static str, u32)>,
    pub pins: Vec<u8>,
    pub software: Vec<u8>,
    /// Another handle to the header's lines, for what software drives.
    pub lines: Box<dyn Lines>,
    /// The GPIO chip whose line hardware PWM drives, where the kernel's list of lines shows it: `9030000.pl061`.
    pub watched: Option<&'static str>,
}

impl KernelScope {
    fn chip(device: &str) -> PathBuf {
        let chips = fs::read_dir("/sys/class/pwm").expect("PWM chips").map(|chip| chip.unwrap().path());
        let its = |chip: &PathBuf| chip.join("device").canonicalize().is_ok_and(|path| path.ends_with(device));
        chips.into_iter().find(its).unwrap_or_else(|| panic!("no PWM chip of {device}"))
    }

    fn channel(&self, pin: u8) -> Option<(PathBuf, u32)> {
        let (_, device, channel) = self.hardware.iter().find(|(number, ..)| *number == pin)?;
        Some((Self::chip(device), *channel))
    }
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The level of the one line of that chip that is an output, by the kernel's list (`/sys/kernel/debug/gpio`).
fn watched_level(chip: &str) -> bool {
    let list = fs::read_to_string("/sys/kernel/debug/gpio").expect("the kernel's list of lines");
    let lines = list.lines().skip_while(|line| !line.contains(chip)).skip(1);
    let line = lines.take_while(|line| !line.starts_with("gpiochip")).find(|line| line.contains(" out "));
    line.unwrap_or_else(|| panic!("{chip} has no output in {list}")).contains(" out hi")
}

impl Scope for KernelScope {
    fn hardware(&self) -> &[u8] {
        &self.pins
    }
    fn software(&self) -> &[u8] {
        &self.software
    }
    fn signal(&self, pin: u8) -> Option<(u64, u64)> {
        let Some((chip, channel)) = self.channel(pin) else {
            self.lines.level(pin)?;
            return sampled(|| self.lines.level(pin) == Some(true));
        };
        let folder = chip.join(format!("pwm{channel}"));
        let told = |file: &str| number(&folder.join(file));
        if told("enable") != Some(1) {
            return None;
        }
        match self.watched {
            Some(chip) => sampled(|| watched_level(chip)),
            None => Some((told("period")?, told("duty_cycle")?)),
        }
    }
    fn hold(&self, pin: u8) -> Held {
        let (chip, channel) = self.channel(pin).expect("a pin with hardware PWM");
        fs::write(chip.join("export"), channel.to_string()).expect("the channel is free");
        Box::new(Exported(chip, channel))
    }
}

struct Exported(PathBuf, u32);

impl Drop for Exported {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("unexport"), self.1.to_string());
    }
}
