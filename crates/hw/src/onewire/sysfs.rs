//! The kernel's devices in `/sys/bus/w1/devices`.

use super::{W1Port, families::is_address};
use base::os::Root;
use std::io;

/// The folder of the devices that the masters have found.
pub const DEVICES: &str = "sys/bus/w1/devices";

/// Those below a root.
pub struct W1Sysfs(pub Root);

impl W1Sysfs {
    fn names(&self, keep: fn(&str) -> bool) -> Vec<String> {
        let mut names = self.0.list(DEVICES).unwrap_or_default();
        names.retain(|name| keep(name));
        base::sort::sort(&mut names);
        names
    }
}

impl W1Port for W1Sysfs {
    fn devices(&self) -> Vec<String> {
        self.names(is_address)
    }

    fn masters(&self) -> Vec<String> {
        self.names(|name| name.starts_with("w1_bus_master"))
    }

    fn read(&self, address: &str, file: &str) -> io::Result<Vec<u8>> {
        self.0.read_bytes(&format!("{DEVICES}/{address}/{file}"))
    }
}

/// The nine bytes of a thermometer, and what the kernel makes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scratchpad {
    pub bytes: Vec<u8>,
    /// Whether the check sum fits.
    pub crc_ok: bool,
    pub celsius: f64,
}

impl Scratchpad {
    /// Whether the bits arrived whole. A line that is held low reads as zeros, whose check sum is 0 as well.
    pub fn is_whole(&self) -> bool {
        self.crc_ok && self.bytes.iter().any(|byte| *byte != 0)
    }
}

/// Reads the two lines of `w1_slave` (Documentation/w1/slaves/w1_therm.rst):
///
/// ```text
/// 50 05 4b 46 7f ff 0c 10 1c : crc=1c YES
/// 50 05 4b 46 7f ff 0c 10 1c t=85000
/// ```
pub fn scratchpad(text: &str) -> Option<Scratchpad> {
    let (first, second) = text.trim_end().split_once('\n')?;
    let (bytes, state) = first.split_once(" : ")?;
    let bytes = bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<Vec<u8>>>()?;
    let thousandths: i32 = second.rsplit_once("t=")?.1.trim().parse().ok()?;
    Some(Scratchpad { bytes, crc_ok: state.ends_with("YES"), celsius: f64::from(thousandths) / 1000.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_are_a_temperature_and_its_check() {
        let good = "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n";
        let read = scratchpad(good).unwrap();
        assert_eq!((read.crc_ok, read.celsius, read.bytes.len()), (true, 23.125, 9));
        let cold = good.replace("YES", "NO").replace("t=23125", "t=-62");
        assert_eq!(scratchpad(&cold).map(|read| (read.crc_ok, read.celsius)), Some((false, -0.062)));
        for bad in ["", "72 01", "x : crc=57 YES\nx t=1", "72 : crc=57 YES\n72 t=", "72 : crc=57 YES\n72 t=9e9"] {
            assert_eq!(scratchpad(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn masters_and_devices_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["w1_bus_master1", "28-0123456789ab", "00-400000000000", "28-0123456789AB", "28-01", "../x"];
        for name in names.iter().take(5) {
            std::fs::create_dir_all(folder.path().join(DEVICES).join(name)).unwrap();
        }
        let port = W1Sysfs(Root::at(folder.path()));
        assert_eq!(port.devices(), ["00-400000000000", "28-0123456789ab"]);
        assert_eq!(port.masters(), ["w1_bus_master1"]);
        assert!(!is_address("../x") && W1Sysfs(Root::at("/nowhere")).devices().is_empty());
    }
}
