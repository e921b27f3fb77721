//! JPEG from cameras: the end of a picture, its size, and missing Huffman tables.
//!
//! A driver's buffer is as long as the longest frame may be, and contains the rest of another frame behind this one. So
//! the end is found by parsing the markers (ITU-T T.81, B.1), not by searching backwards for its two bytes.

use super::port::{CameraError, Size};

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DHT: u8 = 0xc4;

/// The result of parsing one picture's markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Bytes from the first marker to the end of the last.
    pub length: usize,
    pub size: Size,
    /// Where the first scan begins; Huffman tables are inserted before it.
    first_scan: usize,
    has_tables: bool,
}

/// Parses one picture from its start to its end.
///
/// # Errors
/// [`CameraError::Torn`] with the position of the error.
pub fn walk(bytes: &[u8]) -> Result<Walked, CameraError> {
    let torn = |at: usize, why: &str| CameraError::Torn(format!("byte {at} of {}: {why}", bytes.len()));
    if bytes.get(..2) != Some(&[0xff, SOI]) {
        return Err(torn(0, "no JPEG begins here"));
    }
    let (mut at, mut size, mut first_scan, mut has_tables) = (2, None, None, false);
    loop {
        let marker = next_marker(bytes, &mut at).ok_or_else(|| torn(at, "it ends before its end marker"))?;
        match marker {
            EOI => {
                let (Some(size), Some(first_scan)) = (size, first_scan) else {
                    return Err(torn(at, "its end comes before a picture"));
                };
                return Ok(Walked { length: at, size, first_scan, has_tables });
            }
            // Markers without a length: restarts (which scans contain) and TEM.
            0x01 | 0xd0..=0xd7 => continue,
            SOI => return Err(torn(at, "another one begins inside")),
            _ => {}
        }
        let begin = at - 2;
        let length = usize::from(u16::from_be_bytes(
            bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).ok_or_else(|| torn(at, "a segment is cut"))?,
        ));
        let body = bytes.get(at..at + length).filter(|_| length >= 2).ok_or_else(|| torn(at, "a segment is cut"))?;
        at += length;
        match marker {
            DHT => has_tables = true,
            // Start of frame; DHT, JPG and DAC, which have numbers in this range, are excluded.
            0xc0..=0xcf if !matches!(marker, 0xc8 | 0xcc) => {
                let number =
                    |at: usize| body.get(at..at + 2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
                let (height, width) = number(3).zip(number(5)).ok_or_else(|| torn(begin, "a frame without a size"))?;
                if width == 0 || height == 0 {
                    return Err(torn(begin, "a frame of no size"));
                }
                size = Some(Size { width, height });
            }
            SOS => {
                first_scan.get_or_insert(begin);
                at = scan_end(bytes, at);
            }
            _ => {}
        }
    }
}

/// The marker at `at`, which is advanced past it. Any number of `ff` may precede a marker.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    if *bytes.get(*at)? != 0xff {
        return None;
    }
    while *bytes.get(*at)? == 0xff {
        *at += 1;
    }
    let marker = bytes[*at];
    *at += 1;
    (marker != 0).then_some(marker)
}

/// Where the compressed data from `at` ends: at a marker other than a restart. `ff 00` is an escaped ff.
fn scan_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == 0xff) {
        at += found;
        match bytes.get(at + 1) {
            Some(0 | 0xd0..=0xd7) => at += 2,
            Some(0xff) => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// The picture in a driver's buffer, cut at its end and with Huffman tables, so that every reader can decode it.
///
/// # Errors
/// As [`walk`].
pub fn whole(bytes: &[u8]) -> Result<(Vec<u8>, Size), CameraError> {
    let walked = walk(bytes)?;
    let picture = &bytes[..walked.length];
    if walked.has_tables {
        return Ok((picture.to_vec(), walked.size));
    }
    let (before, scans) = picture.split_at(walked.first_scan);
    let mut whole = Vec::with_capacity(picture.len() + TABLES_BYTES);
    whole.extend_from_slice(before);
    write_tables(&mut whole);
    whole.extend_from_slice(scans);
    Ok((whole, walked.size))
}

/// 4 bytes of marker and length, and for each table its class, 16 counts and the symbols.
const TABLES_BYTES: usize = 4 + 2 * (17 + 12) + 2 * (17 + 162);

/// The tables of T.81, annex K.3, which Motion-JPEG implies (USB Device Class Definition for Video Devices: Motion-JPEG
/// Payload, 3.3).
fn write_tables(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xff, DHT]);
    out.extend_from_slice(&(TABLES_BYTES as u16 - 2).to_be_bytes());
    for (class, counts, symbols) in [
        (0x00, &DC_LUMA, &DC_SYMBOLS[..]),
        (0x10, &AC_LUMA, &AC_LUMA_SYMBOLS[..]),
        (0x01, &DC_CHROMA, &DC_SYMBOLS[..]),
        (0x11, &AC_CHROMA, &AC_CHROMA_SYMBOLS[..]),
    ] {
        out.push(class);
        out.extend_from_slice(counts);
        out.extend_from_slice(symbols);
    }
}

const DC_LUMA: [u8; 16] = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
const DC_CHROMA: [u8; 16] = [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0];
const DC_SYMBOLS: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const AC_LUMA: [u8; 16] = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d];
const AC_CHROMA: [u8; 16] = [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77];
#[rustfmt::skip]
const AC_LUMA_SYMBOLS: [u8; 162] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91,
    0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a,
    0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53,
    0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79,
    0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5,
    0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9,
    0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2,
    0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
];
#[rustfmt::skip]
const AC_CHROMA_SYMBOLS: [u8; 162] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14,
    0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17,
    0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a,
    0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
    0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
    0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
    0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2,
    0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
];

/// Removes the tables, for the simulated camera and tests.
pub fn without_tables(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (bytes[..2.min(bytes.len())].to_vec(), 2);
    while let (Some([0xff, marker]), Some(length)) = (bytes.get(at..at + 2), bytes.get(at + 2..at + 4)) {
        let end = at + 2 + usize::from(u16::from_be_bytes([length[0], length[1]]));
        if *marker == SOS || end > bytes.len() {
            break;
        }
        if *marker != DHT {
            out.extend_from_slice(&bytes[at..end]);
        }
        at = end;
    }
    out.extend_from_slice(&bytes[at.min(bytes.len())..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Vec<u8> {
        let pixels: Vec<u8> = (0..48u32 * 32 * 3).map(|n| (n * 7 % 251) as u8).collect();
        let mut out = Vec::new();
        jpeg_encoder::Encoder::new(&mut out, 85).encode(&pixels, 48, 32, jpeg_encoder::ColorType::Rgb).unwrap();
        out
    }

    fn decoded(bytes: &[u8]) -> Vec<u8> {
        zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(bytes)).decode().unwrap()
    }

    #[test]
    fn a_frame_is_cut_at_its_end_whatever_lies_behind() {
        let good = picture();
        let mut buffer = good.clone();
        // The end of a longer frame from before, then nothing.
        buffer.extend_from_slice(&good[good.len() - 40..]);
        buffer.resize(buffer.len() + 500, 0);
        let (whole, size) = whole(&buffer).unwrap();
        assert_eq!((whole.as_slice(), size), (good.as_slice(), Size::new(48, 32)));
    }

    #[test]
    fn tables_that_were_left_out_come_back() {
        let good = picture();
        let bare = without_tables(&good);
        assert!(bare.len() + 300 < good.len() && !walk(&bare).unwrap().has_tables);
        let (mended, _) = whole(&bare).unwrap();
        assert!(walk(&mended).unwrap().has_tables);
        assert_eq!(decoded(&mended), decoded(&good));
    }

    #[test]
    fn a_frame_that_is_no_whole_picture_is_torn() {
        let good = picture();
        // Cut anywhere it is torn, and nothing here panics.
        for end in 0..good.len() {
            assert!(matches!(walk(&good[..end]), Err(CameraError::Torn(_))), "cut at {end}");
        }
        for bad in
            [&b""[..], b"\xff", b"\xff\xd8", b"\xff\xd8\xff\xd9", b"\xff\xd8\xff\xda\x00\x01", b"\x89PNG\r\n\x1a\n"]
        {
            assert!(walk(bad).is_err(), "{bad:x?}");
        }
    }
}
