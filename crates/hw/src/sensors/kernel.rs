//! The sensors that the kernel has drivers for.

use super::{
    hwmon, iio,
    port::{Reading, Sensor, SensorPort},
    w1,
};
use base::os::Root;
use std::io;

/// Most sensors that are listed; a server's board has fifty.
const MOST: usize = 256;

/// The sensors in sysfs below a root.
pub struct Kernel(pub Root);

impl SensorPort for Kernel {
    fn list(&self) -> Vec<Sensor> {
        let mut all = Vec::new();
        hwmon::list(&self.0, &mut all);
        iio::list(&self.0, &mut all);
        w1::list(&self.0, &mut all);
        all.truncate(MOST);
        base::sort::sort_by(&mut all, |a, b| a.name.cmp(&b.name));
        // Two of one name cannot be told apart after a restart; within one start they can.
        for at in 1..all.len() {
            let (before, rest) = all.split_at_mut(at);
            let same = before.iter().filter(|sensor| sensor.name.split('#').next() == Some(&rest[0].name)).count();
            if same > 0 {
                rest[0].name = format!("{}#{}", rest[0].name, same + 1);
            }
        }
        all
    }

    fn read(&self, sensor: &Sensor) -> io::Result<Reading> {
        let read = match sensor.interface {
            "hwmon" => hwmon::read,
            "iio" => iio::read,
            _ => w1::read,
        };
        read(&self.0, &sensor.source)
    }
}
