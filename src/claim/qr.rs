//! A QR code in a terminal: each character shows two modules, one above the other.

use qrcodegen::{QrCode, QrCodeEcc, QrSegment, Version};

/// Quiet zone, in modules: the standard's width (ISO/IEC 18004, 5.3.8).
const QUIET: i32 = 4;
/// The largest that fits 80 columns with its quiet zone: version 10 has 57 modules and holds 271 bytes.
const LARGEST: u8 = 10;

/// Drawn black on light regardless of the terminal's colours, since not every camera reads inverted codes; `None` if
/// `text` is too long.
pub fn drawn(text: &str) -> Option<String> {
    let segments = QrSegment::make_segments(text);
    let largest = Version::new(LARGEST);
    let code = QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, largest, None, true).ok()?;
    let mut drawing = String::new();
    // Outside of the code everything is light.
    for y in (-QUIET..code.size() + QUIET).step_by(2) {
        drawing.push_str("\x1b[30;47m");
        for x in -QUIET..code.size() + QUIET {
            drawing.push(match (code.get_module(x, y), code.get_module(x, y + 1)) {
                (false, false) => ' ',
                (true, false) => '▀',
                (false, true) => '▄',
                (true, true) => '█',
            });
        }
        drawing.push_str("\x1b[0m\n");
    }
    Some(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules again, as a camera would see them.
    fn seen(drawing: &str) -> Vec<Vec<bool>> {
        let mut rows = Vec::new();
        for line in drawing.lines() {
            let line = line.strip_prefix("\x1b[30;47m").unwrap().strip_suffix("\x1b[0m").unwrap();
            rows.push(line.chars().map(|letter| matches!(letter, '▀' | '█')).collect());
            rows.push(line.chars().map(|letter| matches!(letter, '▄' | '█')).collect());
        }
        rows
    }

    #[test]
    fn what_is_drawn_is_the_code_in_a_light_frame() {
        let (hash, code) = ("0F".repeat(32), "7".repeat(28));
        let text = format!("RASPI-MCP://192.168.178.200:8443/{hash}/{code}/{hash}");
        let rows = seen(&drawn(&text).unwrap());
        let code = QrCode::encode_text(&text, QrCodeEcc::Low).unwrap();
        // Capitals and digits: small enough for a screen of 80 columns and some 30 rows.
        assert_eq!(code.size(), 41);
        assert!(rows.iter().all(|row| row.len() == 49) && rows.len() == 50);
        for (y, row) in (-QUIET..).zip(&rows) {
            for (x, dark) in (-QUIET..).zip(row) {
                assert_eq!(*dark, code.get_module(x, y), "{x} {y}");
            }
        }
        assert_eq!(drawn(&"x".repeat(300)), None);
    }
}
