//! By which clocks a window opens.

use ::update::channel::Spread;
use base::os::Root;
use contract::values::{Window, Windows};
use std::{fs, time::Duration};
use tempfile::tempdir;

#[test]
fn no_window_opens_by_a_clock_that_nobody_set() {
    const LOOK_AGAIN: Option<Duration> = Some(Duration::from_secs(600));
    let folder = tempdir().unwrap();
    let root = Root::at(folder.path());
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let night = Windows(vec![Window::parse("02:00-04:00").unwrap()]);
    let three = 20_000 * 86_400 + 3 * 3600;
    let shut = |windows: &Windows, at| Spread::of(&root).shut(windows, at, &root);
    assert_eq!(shut(&night, three), None, "another program keeps the time, and does not tell");
    fs::create_dir_all(folder.path().join("run/systemd/timesync")).unwrap();
    assert_eq!(shut(&night, three), LOOK_AGAIN);
    assert_eq!(shut(&night, three + 12 * 3600), LOOK_AGAIN, "nor does it tell how long the window stays shut");
    assert_eq!(shut(&Windows::default(), three), None, "any time needs no clock");
    // The real-time clock of a Raspberry Pi 5 without a battery, and with one.
    put("sys/class/rtc/rtc0/since_epoch", "35\n");
    assert_eq!(shut(&night, three), LOOK_AGAIN);
    put("sys/class/rtc/rtc0/since_epoch", &format!("{}\n", three - 60));
    assert_eq!(shut(&night, three), None);
    assert_eq!(shut(&night, three + 1), LOOK_AGAIN, "61 s apart");
    put("run/systemd/timesync/synchronized", "");
    assert_eq!(shut(&night, three + 1), None);
    assert_ne!(shut(&night, three + 12 * 3600), None, "set, and not the hour");
}
