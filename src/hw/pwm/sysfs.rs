//! The channels of the kernel's PWM chips, by `/sys/class/pwm` (Documentation/driver-api/pwm.rst, "Using PWMs with the sysfs
//! interface").
//!
//! A channel is exported, set and enabled by writing files, and given back by `unexport`. Only one may have it exported: that
//! is what keeps two programs apart. The kernel does not stop a channel when its program ends.

use super::{
    port::{Channel, Fault, Port, Slot, Wave, Without},
    rights,
    routing::Routing,
};
use crate::{
    hw::{
        board::{Pin, Profile},
        gpio::port::Function,
    },
    os::Root,
};
use futures::{FutureExt, future::BoxFuture};
use rustix::io::Errno;
use std::{
    fs::OpenOptions,
    io,
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
};

const CLASS: &str = "sys/class/pwm";
const FILES: [&str; 3] = ["period", "duty_cycle", "enable"];

/// All chips below a root.
pub struct Sysfs {
    root: Root,
    routing: Routing,
}

impl Sysfs {
    pub fn new(root: Root, profile: Option<&'static Profile>, configured: Vec<(Pin, Slot)>) -> Self {
        Self { root, routing: Routing { profile, configured } }
    }

    /// `sys/class/pwm/pwmchip2`, by the name of its device or by its own.
    fn chip(&self, wanted: &str) -> Option<String> {
        let names = self.root.list(CLASS).unwrap_or_default();
        let chips = names.into_iter().filter(|name| name.starts_with("pwmchip"));
        chips.map(|name| (format!("{CLASS}/{name}"), name)).find_map(|(path, name)| {
            let device = self.root.link(&format!("{path}/device")).ok();
            let device = device.as_ref().and_then(|link| link.file_name()?.to_str());
            (name == wanted || device == Some(wanted)).then_some(path)
        })
    }

    fn channel(&self, slot: &Slot) -> Result<Exported, Fault> {
        let missing = || {
            let there = self.chips();
            let there = if there.is_empty() { "none".into() } else { there.join(", ") };
            Fault::Unsupported(format!("the kernel has no PWM chip {} now; there is {there}", slot.chip))
        };
        let chip = self.chip(&slot.chip).ok_or_else(missing)?;
        let count = self.root.number(&format!("{chip}/npwm"))?;
        if i64::from(slot.channel) >= count {
            let chip = &slot.chip;
            return Err(Fault::Unsupported(format!(
                "{chip} has {count} channels, and none with number {}",
                slot.channel
            )));
        }
        let folder = format!("{chip}/pwm{}", slot.channel);
        Ok(Exported { root: self.root.clone(), chip, folder, number: slot.channel, ours: AtomicBool::new(false) })
    }

    fn chips(&self) -> Vec<String> {
        let names = self.root.list(CLASS).unwrap_or_default();
        let device = |name: &String| {
            let link = self.root.link(&format!("{CLASS}/{name}/device")).ok()?;
            Some(link.file_name()?.to_str()?.to_owned())
        };
        names.into_iter().map(|name| device(&name).unwrap_or(name)).collect()
    }

    async fn take(&self, slot: &Slot, wave: Wave) -> Result<Exported, Fault> {
        let channel = self.channel(slot)?;
        if self.root.has(&channel.folder) {
            let (folder, chip) = (&channel.folder, &channel.chip);
            return Err(Fault::Busy(format!(
                "another program has exported it (/{folder}), or one that is gone left it so: then `echo {} > /{chip}/unexport` \
                 gives it back",
                slot.channel
            )));
        }
        let export = format!("{}/export", channel.chip);
        write(&self.root, &export, slot.channel).map_err(|error| refused(error, &export))?;
        // From here on, dropping it gives it back.
        channel.ours.store(true, Ordering::Relaxed);
        let waited = rights::writable(&self.root, &channel.chip, &channel.folder, &FILES).await;
        waited.map_err(|error| refused(error, &channel.folder))?;
        channel.begin(wave)?;
        Ok(channel)
    }
}

impl Port for Sysfs {
    fn route(&self, pin: Pin, function: Option<&Function>) -> Result<Slot, Without> {
        let slot = self.routing.route(pin, function)?;
        if self.chip(&slot.chip).is_some() {
            return Ok(slot);
        }
        Err(Without {
            why: format!("the kernel has no PWM chip {}", slot.chip),
            remedy: self.routing.remedy(pin).or_else(|| Some("load its driver, or correct [[gpio.pwm]]".into())),
        })
    }

    fn pins(&self) -> Vec<Pin> {
        self.routing.pins()
    }

    fn open<'a>(&'a self, slot: &'a Slot, wave: Wave) -> BoxFuture<'a, Result<Box<dyn Channel>, Fault>> {
        self.take(slot, wave).map(|taken| taken.map(|channel| Box::new(channel) as Box<dyn Channel>)).boxed()
    }

    fn stop_left(&self, slot: &Slot) -> Result<bool, Fault> {
        let channel = self.channel(slot)?;
        let taken = self.root.has(&channel.folder);
        channel.ours.store(taken, Ordering::Relaxed);
        channel.stop().map(|()| taken)
    }
}

/// A channel, exported once it is `ours`.
struct Exported {
    root: Root,
    /// `sys/class/pwm/pwmchip0`
    chip: String,
    /// `sys/class/pwm/pwmchip0/pwm1`
    folder: String,
    number: u32,
    /// Exported by us, or by a process of ours that is gone: to be given back.
    ours: AtomicBool,
}

impl Exported {
    fn begin(&self, wave: Wave) -> Result<(), Fault> {
        let polarity = format!("{}/polarity", self.folder);
        // Not every driver has it; where it is turned, high and low would be as well. It can be set while disabled.
        if self.root.line(&polarity).is_ok_and(|polarity| polarity != "normal") {
            write(&self.root, &polarity, "normal").map_err(|error| refused(error, &polarity))?;
        }
        self.shape(wave)?;
        self.put("enable", 1)
    }

    /// The duty cycle is never longer than the period, in between neither: whichever of the two leaves room goes first.
    fn shape(&self, wave: Wave) -> Result<(), Fault> {
        let (period, high) = (wave.period().as_nanos(), wave.high().as_nanos());
        if period < u128::from(self.get("duty_cycle")?) {
            self.put("duty_cycle", high)?;
            self.put("period", period)
        } else {
            self.put("period", period)?;
            self.put("duty_cycle", high)
        }
    }

    fn get(&self, file: &str) -> Result<u64, Fault> {
        let value = self.root.number(&format!("{}/{file}", self.folder))?;
        Ok(value.unsigned_abs())
    }

    fn put(&self, file: &str, value: impl ToString) -> Result<(), Fault> {
        let path = format!("{}/{file}", self.folder);
        write(&self.root, &path, value).map_err(|error| refused(error, &path))
    }
}

impl Channel for Exported {
    fn set(&self, wave: Wave) -> Result<(), Fault> {
        let before = self.now()?;
        self.shape(wave).inspect_err(|_| {
            // Half of it may have been taken. What ran can be run: the kernel made it before.
            let _ = self.shape(before);
        })
    }

    fn now(&self) -> Result<Wave, Fault> {
        let (period, high) = (self.get("period")?, self.get("duty_cycle")?);
        Wave::read(period, high).ok_or_else(|| Fault::Unsupported(format!("/{} has no period", self.folder)))
    }

    fn stop(&self) -> Result<(), Fault> {
        if !self.ours.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        // Low first: a driver may leave the level as it is when it is disabled.
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

fn write(root: &Root, file: &str, value: impl ToString) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(root.path(file))?.write_all(value.to_string().as_bytes())
}

/// What the kernel's numbers mean here.
fn refused(error: io::Error, file: &str) -> Fault {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::BUSY) => Fault::Busy("a driver of the kernel uses it".into()),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            Fault::NoRights(format!("/{file} cannot be written by this user: {error}"))
        }
        Some(Errno::INVAL | Errno::RANGE) => {
            Fault::Unsupported(format!("the driver cannot make this wave: /{file}: {error}"))
        }
        _ => Fault::Io(io::Error::new(error.kind(), format!("/{file}: {error}"))),
    }
}
