//! The LED of a machine that waits for its owner: the kernel's timer makes it blink, without waking this process.
//!
//! The previous setting is stored in a file in `/run` (several consoles may show the same claim, and one of them may be
//! killed) and restored at the end. Files: Documentation/ABI/testing/sysfs-class-led and sysfs-class-led-trigger-timer.

use base::os::{Root, whole};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

/// Milliseconds on, and milliseconds off.
const HALF_MS: u32 = 500;

/// One LED, and the file with its previous setting.
pub struct Led {
    root: Root,
    name: String,
    record: PathBuf,
}

/// The previous setting.
#[derive(Serialize, Deserialize)]
struct Before {
    trigger: String,
    brightness: String,
}

impl Led {
    /// `None` if the name cannot be a folder in `/sys/class/leds`.
    pub fn named(root: &Root, name: &str, record: PathBuf) -> Option<Self> {
        let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        is_name.then(|| Self { root: root.clone(), name: name.to_owned(), record })
    }

    /// Starts blinking. Idempotent.
    ///
    /// # Errors
    /// `NotFound` if there is no such LED; those of its files.
    pub fn blink(&self) -> io::Result<()> {
        if !self.record.exists() {
            let before = Before { trigger: self.trigger()?, brightness: self.root.line(&self.file("brightness"))? };
            let text = serde_json::to_vec(&before).map_err(io::Error::other)?;
            whole::replace(&self.record, 0o600, |file| file.write_all(&text))?;
        }
        self.put("trigger", "timer")?;
        for half in ["delay_on", "delay_off"] {
            self.put(half, &HALF_MS.to_string())?;
        }
        Ok(())
    }

    /// Restores the previous setting. Idempotent.
    ///
    /// # Errors
    /// Those of its files.
    pub fn restore(&self) -> io::Result<()> {
        let before = match fs::read(&self.record) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => serde_json::from_slice::<Before>(&text?).map_err(io::Error::other)?,
        };
        self.put("trigger", &before.trigger)?;
        if before.trigger == "none" {
            self.put("brightness", &before.brightness)?;
        }
        whole::remove(&self.record)
    }

    /// The selected trigger: the one in brackets in `none [mmc0] timer`.
    fn trigger(&self) -> io::Result<String> {
        let all = self.root.read(&self.file("trigger"))?;
        let chosen = all.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        Ok(chosen.unwrap_or("none").to_owned())
    }

    fn put(&self, file: &str, value: &str) -> io::Result<()> {
        // Never created: a missing file means that the kernel lacks the feature.
        let mut open = fs::OpenOptions::new().write(true).truncate(true).open(self.root.path(&self.file(file)))?;
        open.write_all(value.as_bytes())
    }

    fn file(&self, file: &str) -> String {
        format!("sys/class/leds/{}/{file}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_blinks_and_does_again_what_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let of = |name: &str| root.path(&format!("sys/class/leds/ACT/{name}"));
        fs::create_dir_all(of("x").parent().unwrap()).unwrap();
        for (name, text) in
            [("trigger", "none timer [mmc0]\n"), ("brightness", "1\n"), ("delay_on", "0\n"), ("delay_off", "0\n")]
        {
            fs::write(of(name), text).unwrap();
        }
        let read = |name: &str| fs::read_to_string(of(name)).unwrap();
        let led = || Led::named(&root, "ACT", folder.path().join("led")).unwrap();
        led().blink().unwrap();
        assert_eq!(
            (read("trigger"), read("delay_on"), read("delay_off")),
            ("timer".into(), "500".into(), "500".into())
        );
        // A second console, and a first one that died: what it did at first is what comes back.
        led().blink().unwrap();
        led().restore().unwrap();
        assert_eq!((read("trigger"), read("brightness")), ("mmc0".into(), "1\n".into()));
        fs::write(of("trigger"), "timer").unwrap();
        led().restore().unwrap();
        assert_eq!(read("trigger"), "timer", "there is nothing to put back any more");
        // One that no trigger drives shines again, or not.
        fs::write(of("trigger"), "[none] timer\n").unwrap();
        led().blink().unwrap();
        fs::write(of("brightness"), "0").unwrap();
        led().restore().unwrap();
        assert_eq!((read("trigger"), read("brightness")), ("none".into(), "1".into()));
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for bad in ["", ".", "..", "../../x", "a/b", "a\0"] {
            assert!(Led::named(&root, bad, folder.path().join("led")).is_none(), "{bad}");
        }
        let none = Led::named(&root, "ACT", folder.path().join("led")).unwrap();
        assert_eq!(none.blink().unwrap_err().kind(), io::ErrorKind::NotFound);
        none.restore().unwrap();
    }
}
