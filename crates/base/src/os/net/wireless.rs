//! Signal strength of radio links: `/proc/net/wireless` (`net/wireless/wext-proc.c`).

use crate::os::{Root, if_there, malformed};
use std::io;

const FILE: &str = "proc/net/wireless";

/// The signal of one interface in dBm, if its driver reports dBm.
///
/// # Errors
/// `InvalidData` when its line does not have that file's format. `None` without the file, or without the interface in
/// it.
pub fn signal_dbm(root: &Root, interface: &str) -> io::Result<Option<f64>> {
    if_there(root.read(FILE))?.map_or(Ok(None), |text| parse(&text, interface))
}

/// " wlan0: 0000   54.  -56.  -256        0 ...": status, quality, level, noise.
fn parse(text: &str, interface: &str) -> io::Result<Option<f64>> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'));
    let Some(line) = line else { return Ok(None) };
    let level = line.split_whitespace().nth(2).and_then(|level| level.trim_end_matches('.').parse::<f64>().ok());
    let level = level.ok_or_else(|| malformed(FILE, "a line has no level"))?;
    // Drivers without dBm count upwards from 0; such a number has no general meaning.
    Ok((level < 0.0 && level > -128.0).then_some(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_of_its_interface_and_below_zero() {
        let text = "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE\n \
            face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22\n \
            wlan0: 0000   54.  -56.  -256        0      0      0      0      0        0\n \
            wlan1: 0000   54   70   0        0      0      0      0      0        0\n wlan2: 0000\n";
        assert_eq!(parse(text, "wlan0").unwrap(), Some(-56.0));
        assert_eq!(parse(text, "wlan1").unwrap(), None);
        assert_eq!(parse(text, "wlan").unwrap(), None);
        assert_eq!(parse(text, "wlan2").unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
