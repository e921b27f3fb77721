//! Sensors as Debian's kernel 6.12 shows them in the guests of `ci/qemu-hw`, written down there: links (`->`) and files (`=`).

use crate::support::trees::Copied;
use ::hw::sensors::{Kernel, SensorPort};

/// An LM75 and a BMP280 behind i2c-stub, with the registers of `ci/qemu-hw.d/hardware.py`.
const VIRT: &str = "\
sys/class/hwmon/hwmon0 -> ../../devices/i2c-0/0-0048/hwmon/hwmon0
sys/devices/i2c-0/0-0048/hwmon/hwmon0/device -> ../../../0-0048
sys/devices/i2c-0/0-0048/hwmon/hwmon0/name = lm75
sys/devices/i2c-0/0-0048/hwmon/hwmon0/temp1_input = 25500
sys/devices/i2c-0/0-0048/hwmon/hwmon0/temp1_max = 0
sys/devices/i2c-0/0-0048/hwmon/hwmon0/temp1_max_hyst = 0
sys/devices/i2c-0/0-0048/hwmon/hwmon0/update_interval = 100
sys/devices/i2c-0/0-0048/subsystem -> ../../../bus/i2c
sys/devices/i2c-0/0-0048/driver -> ../../../bus/i2c/drivers/lm75
sys/bus/iio/devices/iio:device0 -> ../../../devices/i2c-0/0-0076/iio:device0
sys/devices/i2c-0/0-0076/iio:device0/in_pressure_input = 100.653253906
sys/devices/i2c-0/0-0076/iio:device0/in_pressure_oversampling_ratio = 16
sys/devices/i2c-0/0-0076/iio:device0/in_pressure_raw = 25767233
sys/devices/i2c-0/0-0076/iio:device0/in_pressure_scale = 0.000003906
sys/devices/i2c-0/0-0076/iio:device0/in_temp_input = 25080.000000000
sys/devices/i2c-0/0-0076/iio:device0/in_temp_oversampling_ratio = 2
sys/devices/i2c-0/0-0076/iio:device0/in_temp_raw = 2508
sys/devices/i2c-0/0-0076/iio:device0/in_temp_scale = 10.000000000
sys/devices/i2c-0/0-0076/iio:device0/name = bmp280
sys/devices/i2c-0/0-0076/subsystem -> ../../../bus/i2c
sys/devices/i2c-0/0-0076/driver -> ../../../bus/i2c/drivers/bmp280";

/// A Raspberry Pi 3 with a TMP105, and its processor's sensor.
const RASPI3B: &str = "\
sys/class/hwmon/hwmon0 -> ../../devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/hwmon0
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/hwmon0/device -> ../../../1-0048
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/hwmon0/name = tmp105
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/hwmon0/temp1_input = 42500
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/hwmon0/temp1_max = 80000
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/subsystem -> ../../../../../../bus/i2c
sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/driver -> ../../../../../../bus/i2c/drivers/lm75
sys/class/hwmon/hwmon1 -> ../../devices/virtual/thermal/thermal_zone0/hwmon1
sys/devices/virtual/thermal/thermal_zone0/hwmon1/device -> ../../thermal_zone0
sys/devices/virtual/thermal/thermal_zone0/hwmon1/name = cpu_thermal
sys/devices/virtual/thermal/thermal_zone0/hwmon1/temp1_input = 25178
sys/devices/virtual/thermal/thermal_zone0/subsystem -> ../../../../class/thermal";

/// Name, value, bus and driver of each sensor.
fn seen(listing: &str) -> Vec<(String, f64, String, String)> {
    let tree = Copied::empty();
    for line in listing.lines() {
        match (line.split_once(" -> "), line.split_once(" = ")) {
            (Some((from, to)), _) => tree.link(from, to),
            (_, Some((file, content))) => tree.write(file, format!("{content}\n")),
            _ => panic!("{line}"),
        };
    }
    let kernel = Kernel(tree.root());
    let all = kernel.list().into_iter();
    all.map(|sensor| {
        let value = kernel.read(&sensor).unwrap().value.unwrap();
        let device = sensor.device;
        (sensor.name, (value * 1e9).round() / 1e9, device.bus.unwrap_or_default(), device.driver.unwrap_or_default())
    })
    .collect()
}

#[test]
fn each_board_has_what_its_kernel_measures() {
    let one =
        |name: &str, value: f64, bus: &str, driver: &str| (name.to_owned(), value, bus.to_owned(), driver.to_owned());
    assert_eq!(
        seen(VIRT),
        [
            one("bmp280@0-0076/pressure", 100.653_253_906, "i2c-0", "bmp280"),
            one("bmp280@0-0076/temp", 25.08, "i2c-0", "bmp280"),
            one("lm75@0-0048/temp1", 25.5, "i2c-0", "lm75"),
        ]
    );
    assert_eq!(
        seen(RASPI3B),
        [one("cpu_thermal/temp1", 25.178, "thermal", ""), one("tmp105@1-0048/temp1", 42.5, "i2c-1", "lm75"),]
    );
}
