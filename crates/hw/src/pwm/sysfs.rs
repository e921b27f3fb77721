//! The channels of the kernel's PWM chips, through `/sys/class/pwm` (Documentation/driver-api/pwm.rst, "Using PWMs with
//! the sysfs interface").
//!
//! A channel is exported, set and enabled by writing files, and released by `unexport`. Only one program can export it,
//! which keeps programs apart. The kernel does not stop a channel when its program ends.

use super::{
    exported::{Exported, refused, write},
    port::{ActiveChannel, PwmChannelId, PwmError, PwmPort, Wave, Without},
    rights,
    routing::Routing,
};
use crate::{line::Function, model::BoardProfile};
use base::os::Root;
use contract::values::Pin;
use futures::{FutureExt, future::BoxFuture};
use std::sync::atomic::{AtomicBool, Ordering};

const CLASS: &str = "sys/class/pwm";
const FILES: [&str; 3] = ["period", "duty_cycle", "enable"];

/// All chips below a root.
pub struct Sysfs {
    root: Root,
    routing: Routing,
}

impl Sysfs {
    pub fn new(root: Root, profile: Option<&'static BoardProfile>, configured: Vec<(Pin, PwmChannelId)>) -> Self {
        Self { root, routing: Routing { profile, configured } }
    }

    /// `sys/class/pwm/pwmchip2`, found by its device's name or by its own.
    fn chip(&self, wanted: &str) -> Option<String> {
        let names = self.root.list(CLASS).unwrap_or_default();
        let chips = names.into_iter().filter(|name| name.starts_with("pwmchip"));
        chips.map(|name| (format!("{CLASS}/{name}"), name)).find_map(|(path, name)| {
            let device = self.root.link(&format!("{path}/device")).ok();
            let device = device.as_ref().and_then(|link| link.file_name()?.to_str());
            (name == wanted || device == Some(wanted)).then_some(path)
        })
    }

    fn channel(&self, slot: &PwmChannelId) -> Result<Exported, PwmError> {
        let missing = || {
            let there = self.chips();
            let there = if there.is_empty() { "none".into() } else { there.join(", ") };
            PwmError::Unsupported(format!("the kernel has no PWM chip {} now; there is {there}", slot.chip))
        };
        let chip = self.chip(&slot.chip).ok_or_else(missing)?;
        let count = self.root.number(&format!("{chip}/npwm"))?;
        if i64::from(slot.channel) >= count {
            let chip = &slot.chip;
            return Err(PwmError::Unsupported(format!(
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

    async fn take(&self, slot: &PwmChannelId, wave: Wave) -> Result<Exported, PwmError> {
        let channel = self.channel(slot)?;
        if self.root.has(&channel.folder) {
            let (folder, chip) = (&channel.folder, &channel.chip);
            return Err(PwmError::Busy(format!(
                "another program has exported it (/{folder}), or one that is gone left it so: then `echo {} > /{chip}/unexport` \
                 gives it back",
                slot.channel
            )));
        }
        let export = format!("{}/export", channel.chip);
        write(&self.root, &export, slot.channel).map_err(|error| refused(error, &export))?;
        // From here on, dropping it unexports it.
        channel.ours.store(true, Ordering::Relaxed);
        let waited = rights::writable(&self.root, &channel.chip, &channel.folder, &FILES).await;
        waited.map_err(|error| refused(error, &channel.folder))?;
        channel.begin(wave)?;
        Ok(channel)
    }
}

impl PwmPort for Sysfs {
    fn route(&self, pin: Pin, function: Option<&Function>) -> Result<PwmChannelId, Without> {
        let slot = self.routing.route(pin, function)?;
        if self.chip(&slot.chip).is_some() {
            return Ok(slot);
        }
        Err(Without {
            why: format!("the kernel has no PWM chip {}", slot.chip),
            remedy: self.routing.remedy(pin).or_else(|| Some("load its driver, or correct gpio.pwm".into())),
        })
    }

    fn pins(&self) -> Vec<Pin> {
        self.routing.pins()
    }

    fn open<'a>(
        &'a self,
        slot: &'a PwmChannelId,
        wave: Wave,
    ) -> BoxFuture<'a, Result<Box<dyn ActiveChannel>, PwmError>> {
        self.take(slot, wave).map(|taken| taken.map(|channel| Box::new(channel) as Box<dyn ActiveChannel>)).boxed()
    }

    fn stop_left(&self, slot: &PwmChannelId) -> Result<bool, PwmError> {
        let channel = self.channel(slot)?;
        let taken = self.root.has(&channel.folder);
        channel.ours.store(taken, Ordering::Relaxed);
        channel.stop().map(|()| taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::{
        fs,
        io::{self, Read},
        os::unix::fs::symlink,
        path::{Path, PathBuf},
        sync::{Arc, Mutex},
        thread::{self, JoinHandle},
    };

    /// A tree with a chip of two channels, and a thread that does what the kernel does with `export` and `unexport`.
    struct Kernel {
        home: tempfile::TempDir,
        chip: PathBuf,
        threads: Vec<JoinHandle<()>>,
        unexported: Arc<Mutex<Vec<String>>>,
    }

    impl Kernel {
        fn start(exports: usize) -> Self {
            let home = tempfile::tempdir().unwrap();
            let device = home.path().join("sys/devices/platform/soc/fe20c000.pwm");
            let chip = device.join("pwm/pwmchip3");
            fs::create_dir_all(&chip).unwrap();
            fs::create_dir_all(home.path().join(CLASS)).unwrap();
            symlink(&chip, home.path().join(CLASS).join("pwmchip3")).unwrap();
            symlink(&device, chip.join("device")).unwrap();
            fs::write(chip.join("npwm"), "2\n").unwrap();
            for file in ["export", "unexport"] {
                mknodat(CWD, chip.join(file), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            }
            let unexported = Arc::default();
            let threads = vec![exporting(chip.clone(), exports), unexporting(chip.clone(), exports, &unexported)];
            Self { home, chip, threads, unexported }
        }

        fn sysfs(&self) -> Sysfs {
            Sysfs::new(Root::at(self.home.path()), None, Vec::new())
        }

        fn file(&self, name: &str) -> String {
            fs::read_to_string(self.chip.join(name)).unwrap()
        }

        /// What was given back, once the kernel has seen it all.
        fn end(self) -> Vec<String> {
            for thread in self.threads {
                thread.join().unwrap();
            }
            let told = self.unexported.lock().unwrap();
            told.clone()
        }
    }

    fn told(fifo: &Path) -> String {
        let mut text = String::new();
        fs::File::open(fifo).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn exporting(chip: PathBuf, times: usize) -> JoinHandle<()> {
        thread::spawn(move || {
            for _ in 0..times {
                let channel = chip.join(format!("pwm{}", told(&chip.join("export"))));
                fs::create_dir(&channel).unwrap();
                for (file, value) in
                    [("polarity", "inversed\n"), ("duty_cycle", "0\n"), ("enable", "0\n"), ("period", "0\n")]
                {
                    // As in the kernel's folder, a file has its content once it is there. A link and not a rename:
                    // what waits for the file listens for its creation.
                    let beside = chip.join("new");
                    fs::write(&beside, value).unwrap();
                    fs::hard_link(&beside, channel.join(file)).unwrap();
                    fs::remove_file(&beside).unwrap();
                }
            }
        })
    }

    fn unexporting(chip: PathBuf, times: usize, seen: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
        let seen = Arc::clone(seen);
        thread::spawn(move || {
            for _ in 0..times {
                let number = told(&chip.join("unexport"));
                let channel = chip.join(format!("pwm{number}"));
                let left = |file| fs::read_to_string(channel.join(file)).unwrap();
                seen.lock().unwrap().push(format!("{number}: {} {}", left("duty_cycle"), left("enable")));
                fs::remove_dir_all(&channel).unwrap();
            }
        })
    }

    fn slot(channel: u32) -> PwmChannelId {
        PwmChannelId { chip: "fe20c000.pwm".into(), channel }
    }
    fn wave(frequency: f64, duty: f64) -> Wave {
        Wave::of(frequency, duty).unwrap()
    }

    #[tokio::test]
    async fn a_channel_is_awaited_set_changed_and_given_back_low() {
        let kernel = Kernel::start(1);
        let sysfs = kernel.sysfs();
        let channel = sysfs.open(&slot(1), wave(1000.0, 25.0)).await.unwrap();
        let files = |names: [&str; 4]| names.map(|name| kernel.file(&format!("pwm1/{name}")));
        let all = ["polarity", "period", "duty_cycle", "enable"];
        assert_eq!(files(all), ["normal", "1000000", "250000", "1"]);
        channel.set(wave(50.0, 7.5)).unwrap();
        assert_eq!(files(all), ["normal", "20000000", "1500000", "1"]);
        assert_eq!(channel.now().unwrap(), wave(50.0, 7.5));
        assert!(matches!(sysfs.open(&slot(1), wave(50.0, 50.0)).await, Err(PwmError::Busy(_))), "one may have it");
        assert!(kernel.chip.join("pwm1").exists(), "a refusal takes nothing away from whoever has it");
        channel.stop().unwrap();
        channel.stop().unwrap();
        drop(channel);
        assert_eq!(kernel.end(), ["1: 0 0"]);
    }

    #[tokio::test]
    async fn what_a_killed_server_left_is_stopped() {
        let kernel = Kernel::start(1);
        let sysfs = kernel.sysfs();
        assert!(!sysfs.stop_left(&slot(0)).unwrap(), "nothing was left");
        std::mem::forget(sysfs.open(&slot(0), wave(100.0, 50.0)).await.unwrap());
        assert!(kernel.sysfs().stop_left(&slot(0)).unwrap());
        assert_eq!(kernel.end(), ["0: 0 0"]);
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_never_come_are_not_waited_for_for_ever() {
        let kernel = Kernel::start(0);
        // Plain files: nothing follows what is written.
        for file in ["export", "unexport"] {
            fs::remove_file(kernel.chip.join(file)).unwrap();
            fs::write(kernel.chip.join(file), "").unwrap();
        }
        let refused = kernel.sysfs().open(&slot(0), wave(50.0, 50.0)).await;
        assert!(matches!(refused, Err(PwmError::Io(error)) if error.kind() == io::ErrorKind::NotFound));
        assert_eq!((kernel.file("export"), kernel.file("unexport")), ("0".into(), "0".into()), "taken, and given back");
    }

    #[tokio::test]
    async fn a_chip_or_channel_that_is_not_there_is_named() {
        let kernel = Kernel::start(0);
        let sysfs = kernel.sysfs();
        let said = |slot: PwmChannelId| sysfs.channel(&slot).err().unwrap().to_string();
        assert_eq!(said(slot(2)), "fe20c000.pwm has 2 channels, and none with number 2");
        let other = PwmChannelId { chip: "nothing.pwm".into(), channel: 0 };
        assert_eq!(said(other), "the kernel has no PWM chip nothing.pwm now; there is fe20c000.pwm");
        assert!(sysfs.channel(&PwmChannelId { chip: "pwmchip3".into(), channel: 0 }).is_ok(), "its own name will do");
    }
}
