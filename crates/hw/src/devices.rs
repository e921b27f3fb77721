//! The kernel's hardware interfaces, by their files: `/dev` and, for PWM, sysfs.

use base::os::Root;
use serde::Serialize;

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceFile {
    /// `/dev/i2c-1`, or `/sys/class/pwm/pwmchip0`.
    pub path: String,
    /// The driver's name for it, where the kernel reports one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl DeviceFile {
    /// For people: the path, with the name in brackets.
    pub fn described(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({name})", self.path),
            None => self.path.clone(),
        }
    }

    /// Whether it is a camera, and not a video unit of the processor.
    pub fn is_camera(&self) -> bool {
        !self.name.as_ref().is_some_and(|name| NO_CAMERAS.iter().any(|part| name.starts_with(part)))
    }
}

/// Video devices that are units of the processor and not cameras (names of Raspberry Pi's kernel drivers).
const NO_CAMERAS: [&str; 5] = ["bcm2835-codec", "bcm2835-isp", "rpivid", "rpi-hevc-dec", "pispbe"];

/// All devices, each kind sorted by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Devices {
    pub gpio: Vec<DeviceFile>,
    /// Buses with a device file, which the module i2c-dev creates.
    pub i2c: Vec<DeviceFile>,
    pub spi: Vec<DeviceFile>,
    /// All V4L2 devices, cameras or not.
    pub video: Vec<DeviceFile>,
    pub pwm: Vec<DeviceFile>,
}

impl Devices {
    /// Lists them under `root`. A missing folder counts as empty.
    pub fn read(root: &Root) -> Self {
        let dev = root.list("dev").unwrap_or_default();
        let numbered = |prefix: &str| -> Vec<&String> { dev.iter().filter(|name| is_numbered(name, prefix)).collect() };
        let device = |name: &String, about: Option<String>| DeviceFile { path: format!("/dev/{name}"), name: about };
        let line = |path: String| root.line(&path).ok();
        Self {
            gpio: numbered("gpiochip").into_iter().map(|name| device(name, owner(root, name))).collect(),
            i2c: numbered("i2c-")
                .into_iter()
                // Not from the class i2c-adapter, which kernels without CONFIG_I2C_COMPAT, such as Debian's, lack.
                .map(|name| device(name, line(format!("sys/bus/i2c/devices/{name}/name"))))
                .collect(),
            spi: dev
                .iter()
                .filter(|name| name.starts_with("spidev"))
                .map(|name| device(name, line(format!("sys/class/spidev/{name}/device/modalias"))))
                .collect(),
            video: numbered("video")
                .into_iter()
                .map(|name| device(name, line(format!("sys/class/video4linux/{name}/name"))))
                .collect(),
            pwm: root
                .list("sys/class/pwm")
                .unwrap_or_default()
                .into_iter()
                .filter(|name| is_numbered(name, "pwmchip"))
                .map(|name| {
                    let path = format!("sys/class/pwm/{name}");
                    let channels = root.number(&format!("{path}/npwm")).ok().map(|count| format!("channels: {count}"));
                    DeviceFile { path: format!("/{path}"), name: channels }
                })
                .collect(),
        }
    }
}

/// The device of a GPIO chip: its parent folder in sysfs (Documentation/ABI/testing/gpio-cdev). Its label would require
/// an ioctl.
fn owner(root: &Root, chip: &str) -> Option<String> {
    let link = root.link(&format!("sys/bus/gpio/devices/{chip}")).ok()?;
    Some(link.parent()?.file_name()?.to_str()?.to_owned())
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok())
}
