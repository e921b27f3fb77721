//! What the kernel offers by files: good, nameless, and what only looks like a device.

use crate::support::trees::{Copied, tree};
use ::hw::devices::{DeviceFile, Devices};

fn described(devices: &[DeviceFile]) -> Vec<String> {
    devices.iter().map(DeviceFile::described).collect()
}

#[test]
fn a_raspberry_pi_has_chips_buses_and_video_parts() {
    let found = Devices::read(&tree("pi-4b"));
    assert_eq!(found.gpio.len(), 2);
    assert_eq!(described(&found.i2c)[0], "/dev/i2c-1 (bcm2835 (i2c@7e804000))");
    let cameras: Vec<DeviceFile> = found.video.into_iter().filter(DeviceFile::is_camera).collect();
    assert_eq!(described(&cameras), ["/dev/video0 (unicam-image)"], "codecs are no cameras");
}

#[test]
fn a_machine_without_any_has_none() {
    assert_eq!(Devices::read(&Copied::empty().root()), Devices::default());
}

#[test]
fn names_are_told_where_the_kernel_tells_them() {
    let tree = Copied::empty();
    for device in ["gpiochip0", "gpiochip10", "gpiochip2", "i2c-3", "spidev0.1", "video7"] {
        tree.write(&format!("dev/{device}"), "");
    }
    tree.link("sys/bus/gpio/devices/gpiochip2", "../../../devices/platform/gpio-sim.0/gpiochip2");
    tree.write("sys/class/pwm/pwmchip1/npwm", "4\n").write("sys/class/pwm/pwmchip0/uevent", "");
    let found = Devices::read(&tree.root());
    assert_eq!(described(&found.gpio), ["/dev/gpiochip0", "/dev/gpiochip2 (gpio-sim.0)", "/dev/gpiochip10"]);
    assert_eq!(described(&found.i2c), ["/dev/i2c-3"]);
    assert_eq!(described(&found.spi), ["/dev/spidev0.1"]);
    assert!(found.video[0].is_camera(), "one without a name may be one");
    assert_eq!(described(&found.pwm), ["/sys/class/pwm/pwmchip0", "/sys/class/pwm/pwmchip1 (channels: 4)"]);
}

#[test]
fn what_only_looks_like_a_device_is_none() {
    let tree = Copied::empty();
    for name in ["dev/gpiochip", "dev/gpiochip0.lock", "dev/i2c-", "dev/videoloop", "sys/class/pwm/pwm0/npwm"] {
        tree.write(name, "1");
    }
    assert_eq!(Devices::read(&tree.root()), Devices::default());
}
