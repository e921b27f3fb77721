//! The serial ports in sysfs, `/sys/class/tty`.

use super::{holder, port::SerialPort};
use base::os::Root;

const CLASS: &str = "sys/class/tty";

/// Whether the kernel has that terminal as a serial line: not as a console of the screen, and not as one that programs make
/// (`ptmx`). A UART of the 8250 family that is not there has type 0.
pub fn is_line(root: &Root, name: &str) -> bool {
    let hardware = || root.has(&format!("{CLASS}/{name}/device")) || name.starts_with("ttyGS");
    let screen = name.strip_prefix("tty").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    !screen && hardware() && !root.line(&format!("{CLASS}/{name}/type")).is_ok_and(|kind| kind == "0")
}

/// The ports by name, and those of `listed` that have a device file.
pub fn ports(root: &Root, listed: &[String]) -> Vec<SerialPort> {
    let mut names = root.list(CLASS).unwrap_or_default();
    names.retain(|name| is_line(root, name));
    names.extend(listed.iter().filter(|name| root.has(&format!("dev/{name}"))).cloned());
    base::sort::sort(&mut names);
    names.dedup();
    names.into_iter().map(|name| port(root, name)).collect()
}

fn port(root: &Root, name: String) -> SerialPort {
    let terminal = holder::terminal(root, &name).unwrap_or_else(|| name.clone());
    let device = format!("{CLASS}/{terminal}/device");
    let driver = root.link(&format!("{device}/driver")).ok();
    let driver = driver.and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
    // The device is an interface of a USB device (ttyACM0), or a port of one (ttyUSB0).
    let product = ["..", "../.."].iter().find_map(|up| root.line(&format!("{device}/{up}/product")).ok());
    let taken = holder::console(root, &terminal);
    SerialPort { name, driver, product, taken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, path::Path};

    fn file(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn lines_are_found_with_driver_and_product_and_what_is_none_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        // As Linux 6.12 has a USB adapter, the UARTs of a Pi, and one that is not there.
        file(at, "sys/devices/usb1/1-1/product", "FT232R USB UART\n");
        file(at, "sys/devices/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0/dev", "188:0\n");
        symlink("../../..", at.join("sys/devices/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0/device")).unwrap();
        fs::create_dir_all(at.join("sys/bus/drivers/ftdi_sio")).unwrap();
        fs::create_dir_all(at.join(CLASS)).unwrap();
        let port = at.join("sys/devices/usb1/1-1/1-1:1.0/ttyUSB0");
        fs::remove_file(port.join("tty/ttyUSB0/device")).unwrap();
        symlink("../..", port.join("tty/ttyUSB0/device")).unwrap();
        symlink(at.join("sys/bus/drivers/ftdi_sio"), port.join("driver")).unwrap();
        symlink(port.join("tty/ttyUSB0"), at.join(CLASS).join("ttyUSB0")).unwrap();
        for (name, kind) in [("ttyAMA0", "32"), ("ttyS0", "4"), ("ttyS1", "0")] {
            file(at, &format!("{CLASS}/{name}/type"), kind);
            fs::create_dir_all(at.join(format!("{CLASS}/{name}/device"))).unwrap();
        }
        for name in ["tty", "tty1", "ptmx", "ttyprintk"] {
            fs::create_dir_all(at.join(CLASS).join(name)).unwrap();
        }
        file(at, "sys/class/tty/console/active", "tty0 ttyAMA0\n");
        file(at, "dev/pts/3", "");
        let found = ports(&Root::at(at), &["pts/3".into(), "ttyUSB9".into(), "ttyUSB0".into()]);
        let names: Vec<&str> = found.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["pts/3", "ttyAMA0", "ttyS0", "ttyUSB0"]);
        assert_eq!(found[3].driver.as_deref(), Some("ftdi_sio"));
        assert_eq!(found[3].product.as_deref(), Some("FT232R USB UART"));
        assert_eq!(found[1].taken.as_deref(), Some("a console of the kernel"));
        assert_eq!(found[2].taken, None);
    }
}
