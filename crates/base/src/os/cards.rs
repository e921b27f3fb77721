//! SD and eMMC cards: their identity and the wear that they report (`Documentation/driver-api/mmc/mmc-dev-attrs.rst`).
//!
//! eMMC since 5.0 reports the device life time and the state of its spare blocks in its extended register (JEDEC
//! JESD84-B51, 7.4.58-60). SD cards have no such register, and the kernel has no such files for them.

use super::{Root, if_there, malformed};
use std::io;

/// What one card reports.
#[derive(Debug)]
pub struct CardReport {
    /// `SD` or `MMC`, as in the kernel.
    pub kind: io::Result<String>,
    /// Share of its life used, in percent: the upper end of the reported tenth, of the more worn of its two kinds of
    /// memory. 110: beyond its estimated life. `None`: not reported.
    pub life_used_percent: io::Result<Option<u8>>,
    pub spare: io::Result<Option<Spare>>,
}

/// The share of spare blocks used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Less than 80 %.
    Normal,
    /// 80 %
    Warning,
    /// 90 %
    Urgent,
}

/// The card behind the block device `name` (`mmcblk0`).
pub fn read(root: &Root, name: &str) -> CardReport {
    let file = |attribute: &str| format!("sys/block/{name}/device/{attribute}");
    CardReport {
        kind: root.line(&file("type")),
        life_used_percent: if_there(life(root, &file("life_time"))).map(Option::flatten),
        spare: if_there(spare(root, &file("pre_eol_info"))).map(Option::flatten),
    }
}

/// `0x02 0x01`: tenths used of the two kinds of memory; 0 is unknown, 0x0b is beyond.
fn life(root: &Root, file: &str) -> io::Result<Option<u8>> {
    let line = root.line(file)?;
    let wrong = || malformed(file, &format!("'{line}' is not two numbers from 0x00 to 0x0b"));
    let tenths: Vec<u8> = line.split_whitespace().map(hexadecimal).collect::<Option<_>>().ok_or_else(wrong)?;
    let [a, b] = tenths[..] else { return Err(wrong()) };
    let worse = a.max(b);
    if worse > 0x0b {
        return Err(wrong());
    }
    Ok((worse > 0).then_some(worse * 10))
}

fn spare(root: &Root, file: &str) -> io::Result<Option<Spare>> {
    let line = root.line(file)?;
    match hexadecimal(&line) {
        Some(0) => Ok(None),
        Some(1) => Ok(Some(Spare::Normal)),
        Some(2) => Ok(Some(Spare::Warning)),
        Some(3) => Ok(Some(Spare::Urgent)),
        _ => Err(malformed(file, &format!("'{line}' is not a number from 0x00 to 0x03"))),
    }
}

fn hexadecimal(text: &str) -> Option<u8> {
    u8::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn card(life: Option<&str>, spare: Option<&str>) -> CardReport {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sys/block/mmcblk0/device");
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in [("life_time", life), ("pre_eol_info", spare), ("type", Some("MMC\n"))] {
            if let Some(content) = content {
                fs::write(folder.join(name), content).unwrap();
            }
        }
        read(&Root::at(dir.path()), "mmcblk0")
    }

    #[test]
    fn good_and_missing() {
        let worn = card(Some("0x03 0x07\n"), Some("0x02\n"));
        assert_eq!((worn.kind.unwrap().as_str(), worn.life_used_percent.unwrap()), ("MMC", Some(70)));
        assert_eq!(worn.spare.unwrap(), Some(Spare::Warning));
        assert_eq!(card(Some("0x0b 0x01\n"), None).life_used_percent.unwrap(), Some(110));
        let silent = card(Some("0x00 0x00\n"), Some("0x00\n"));
        assert_eq!((silent.life_used_percent.unwrap(), silent.spare.unwrap()), (None, None));
        let sd = card(None, None);
        assert_eq!((sd.life_used_percent.unwrap(), sd.spare.unwrap()), (None, None));
    }

    #[test]
    fn malformed() {
        for bad in ["", "0x01", "0x01 0x02 0x03", "1 2", "0x0c 0x01", "0xzz 0x01", "worn out"] {
            assert_eq!(
                card(Some(bad), None).life_used_percent.unwrap_err().kind(),
                io::ErrorKind::InvalidData,
                "{bad}"
            );
        }
        for bad in ["", "0x04", "normal", "1"] {
            assert_eq!(card(None, Some(bad)).spare.unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad}");
        }
    }
}
