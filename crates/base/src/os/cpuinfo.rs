//! The processors, and on a Raspberry Pi the board: `/proc/cpuinfo`.

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/cpuinfo";

/// The content of `/proc/cpuinfo`. The last three fields are the Raspberry Pi kernel's addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// At least 1.
    pub cores: u32,
    /// `model name`, on x86 and 32-bit Arm kernels.
    pub model_name: Option<String>,
    /// Revision code, hexadecimal.
    pub revision: Option<String>,
    pub serial: Option<String>,
    /// The board's name.
    pub board: Option<String>,
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when no processor is listed.
pub fn read(root: &Root) -> io::Result<CpuInfo> {
    parse(&root.read(FILE)?)
}

fn parse(text: &str) -> io::Result<CpuInfo> {
    let mut info = CpuInfo::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        // Old 32-bit kernels have "Processor" with a capital letter, which is the model's name and not a core.
        match key.trim() {
            "processor" if value.parse::<u32>().is_ok() => info.cores += 1,
            "model name" if info.model_name.is_none() => info.model_name = Some(value.to_owned()),
            // Anything but a 32-bit number is another architecture's revision.
            "Revision" if u32::from_str_radix(value, 16).is_ok() => info.revision = Some(value.to_ascii_lowercase()),
            "Serial" => info.serial = Some(value.to_owned()),
            "Model" => info.board = Some(value.to_owned()),
            _ => {}
        }
    }
    if info.cores == 0 {
        return Err(malformed(FILE, "no line 'processor : N' is in it"));
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raspberry_pi() {
        let text = "processor\t: 0\nBogoMIPS\t: 38.40\n\nprocessor\t: 1\nBogoMIPS\t: 38.40\n\nHardware\t: BCM2835\n\
            Revision\t: 902120\nSerial\t\t: 00000000a3f1b2c4\nModel\t\t: Raspberry Pi Zero 2 W Rev 1.0\n";
        let info = parse(text).unwrap();
        assert_eq!((info.cores, info.revision.as_deref()), (2, Some("902120")));
        assert_eq!(info.board.as_deref(), Some("Raspberry Pi Zero 2 W Rev 1.0"));
        assert_eq!(info.model_name, None);
    }

    #[test]
    fn a_pc() {
        let info = parse("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)\n").unwrap();
        assert_eq!((info.cores, info.model_name.as_deref(), info.board), (1, Some("Intel(R) Xeon(R)"), None));
    }

    #[test]
    fn malformed() {
        for bad in ["", "processor\n", "Processor\t: ARMv6-compatible processor rev 7 (v6l)\n"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
