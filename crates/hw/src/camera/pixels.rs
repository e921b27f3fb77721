//! Lines of an uncompressed frame in the form that an encoder reads.
//!
//! Video has brightness in 16 to 235 and colour in 16 to 240 unless its driver says otherwise; JPEG and PNG use 0 to
//! 255. Colours are BT.601, the default of V4L2's camera formats (kernel documentation, "Colorspaces").

use super::port::{CameraError, Pixels, Raw};

/// Brightness and colours of video stretched to the full range.
struct Stretch {
    luma: [u8; 256],
    chroma: [u8; 256],
}

const STRETCH: Stretch = {
    let (mut luma, mut chroma, mut n) = ([0; 256], [0; 256], 0);
    while n < 256 {
        luma[n] = clamp(((n as i32 - 16) * 255 + 109) / 219);
        chroma[n] = clamp(128 + ((n as i32 - 128) * 255) / 224);
        n += 1;
    }
    Stretch { luma, chroma }
};

const fn clamp(value: i32) -> u8 {
    if value < 0 {
        0
    } else if value > 255 {
        255
    } else {
        value as u8
    }
}

impl Raw<'_> {
    /// Checks that the frame is complete. Call it once before reading lines.
    ///
    /// # Errors
    /// [`CameraError::Torn`] when bytes are missing, [`CameraError::Unfit`] for a compressed frame.
    pub fn check(&self) -> Result<(), CameraError> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let (line, lines) = match self.pixels {
            Pixels::Mjpeg => return Err(CameraError::Unfit("a JPEG has no lines".into())),
            Pixels::Yuyv | Pixels::Uyvy => (width.next_multiple_of(2) * 2, height),
            // Half as many lines of colour, of the same length.
            Pixels::Nv12 => (width.next_multiple_of(2), height + height.div_ceil(2)),
            Pixels::Rgb24 | Pixels::Bgr24 => (width * 3, height),
            Pixels::Grey => (width, height),
        };
        if width == 0 || height == 0 || self.stride < line {
            return Err(CameraError::Failed(format!(
                "the driver gave {} with lines of {} bytes",
                self.size, self.stride
            )));
        }
        // The last line may end with its last pixel.
        let least = self.stride * (lines - 1) + line;
        if self.bytes.len() < least {
            return Err(CameraError::Torn(format!("{} of {least} bytes came", self.bytes.len())));
        }
        Ok(())
    }

    /// Whether it has brightness only.
    pub fn is_grey(&self) -> bool {
        self.pixels == Pixels::Grey
    }

    /// Calls `each` with brightness and both colours of every pixel of line `y`, in the full range.
    pub fn each_ycbcr(&self, y: usize, mut each: impl FnMut(u8, u8, u8)) {
        let width = self.size.width as usize;
        let line = &self.bytes[y * self.stride..];
        let full = |y: u8, cb: u8, cr: u8| {
            if self.full_range {
                (y, cb, cr)
            } else {
                let Stretch { luma, chroma } = &STRETCH;
                (luma[usize::from(y)], chroma[usize::from(cb)], chroma[usize::from(cr)])
            }
        };
        let mut pair = |x: usize, y0: u8, y1: u8, cb: u8, cr: u8| {
            let (y0, cb, cr) = full(y0, cb, cr);
            each(y0, cb, cr);
            if x + 1 < width {
                each(full(y1, 0, 0).0, cb, cr);
            }
        };
        match self.pixels {
            Pixels::Yuyv => {
                for (n, four) in line.chunks_exact(4).take(width.div_ceil(2)).enumerate() {
                    pair(n * 2, four[0], four[2], four[1], four[3]);
                }
            }
            Pixels::Uyvy => {
                for (n, four) in line.chunks_exact(4).take(width.div_ceil(2)).enumerate() {
                    pair(n * 2, four[1], four[3], four[0], four[2]);
                }
            }
            Pixels::Nv12 => {
                let colours = &self.bytes[(self.size.height as usize + y / 2) * self.stride..];
                for x in (0..width).step_by(2) {
                    // A frame of odd width has a pixel of padding.
                    let second = line.get(x + 1).copied().unwrap_or(line[x]);
                    pair(x, line[x], second, colours[x], colours[x + 1]);
                }
            }
            Pixels::Rgb24 | Pixels::Bgr24 => {
                for three in line.chunks_exact(3).take(width) {
                    let (r, b) = if self.pixels == Pixels::Rgb24 { (three[0], three[2]) } else { (three[2], three[0]) };
                    let (y, cb, cr) = jpeg_encoder::rgb_to_ycbcr(r, three[1], b);
                    each(y, cb, cr);
                }
            }
            Pixels::Grey => line[..width].iter().for_each(|grey| each(*grey, 128, 128)),
            // Rejected by the check.
            Pixels::Mjpeg => {}
        }
    }

    /// Writes line `y` to `out`, three bytes a pixel, or one without colours.
    pub fn line_into(&self, y: usize, out: &mut Vec<u8>) {
        out.clear();
        let width = self.size.width as usize;
        let line = &self.bytes[y * self.stride..];
        match self.pixels {
            Pixels::Grey => out.extend_from_slice(&line[..width]),
            Pixels::Rgb24 => out.extend_from_slice(&line[..width * 3]),
            Pixels::Bgr24 => line.chunks_exact(3).take(width).for_each(|bgr| out.extend([bgr[2], bgr[1], bgr[0]])),
            _ => self.each_ycbcr(y, |y, cb, cr| out.extend(rgb(y, cb, cr))),
        }
    }
}

/// BT.601 in the full range (JFIF 1.02), in 65536ths.
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
    let round = |value: i32| clamp((value + 0x8000) >> 16);
    [round(y + 91_881 * cr), round(y - 22_554 * cb - 46_802 * cr), round(y + 116_130 * cb)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::port::Size;

    fn raw(pixels: Pixels, width: u32, height: u32, stride: usize, bytes: &[u8]) -> Raw<'_> {
        Raw { pixels, size: Size { width, height }, stride, full_range: false, bytes }
    }

    fn line(raw: &Raw<'_>, y: usize) -> Vec<u8> {
        let mut out = Vec::new();
        raw.check().unwrap();
        raw.line_into(y, &mut out);
        out
    }

    #[test]
    fn black_and_white_of_video_become_black_and_white() {
        assert_eq!(line(&raw(Pixels::Yuyv, 2, 1, 4, &[16, 128, 235, 128]), 0), [0, 0, 0, 255, 255, 255]);
        assert_eq!(line(&raw(Pixels::Uyvy, 2, 1, 4, &[128, 16, 128, 235]), 0), [0, 0, 0, 255, 255, 255]);
        let full = Raw { full_range: true, ..raw(Pixels::Yuyv, 2, 1, 4, &[16, 128, 235, 128]) };
        assert_eq!(line(&full, 0), [16, 16, 16, 235, 235, 235]);
        // BT.601: pure red is 81, 90, 240.
        let red = line(&raw(Pixels::Yuyv, 2, 1, 4, &[81, 90, 81, 240]), 0);
        assert!(red[0] >= 253 && red[1] <= 2 && red[2] <= 2, "{red:?}");
    }

    #[test]
    fn lines_are_found_by_their_stride() {
        let two = [16, 128, 16, 128, 0xee, 0xee, 235, 128, 235, 128];
        assert_eq!(line(&raw(Pixels::Yuyv, 2, 2, 6, &two), 1), [255; 6]);
        // 4x2 with colours shared by the square of four; the colour plane comes after both lines.
        let nv12 = [16, 235, 16, 235, 235, 16, 235, 16, 128, 128, 128, 128];
        assert_eq!(line(&raw(Pixels::Nv12, 4, 2, 4, &nv12), 1), [255, 255, 255, 0, 0, 0, 255, 255, 255, 0, 0, 0]);
        assert_eq!(line(&raw(Pixels::Bgr24, 1, 1, 3, &[1, 2, 3]), 0), [3, 2, 1]);
        assert_eq!(line(&raw(Pixels::Grey, 3, 1, 3, &[7, 8, 9]), 0), [7, 8, 9]);
        // An odd width: the second half of the last pair is padding.
        assert_eq!(line(&raw(Pixels::Yuyv, 1, 1, 4, &[235, 128, 16, 128]), 0), [255; 3]);
    }

    #[test]
    fn missing_bytes_are_noticed_before_they_are_read() {
        let bytes = vec![128; 640 * 480 * 2];
        let torn = |pixels, stride, len: usize| raw(pixels, 640, 480, stride, &bytes[..len]).check();
        assert_eq!(torn(Pixels::Yuyv, 1280, 640 * 480 * 2), Ok(()));
        assert!(matches!(torn(Pixels::Yuyv, 1280, 640 * 480 * 2 - 1), Err(CameraError::Torn(_))));
        assert!(matches!(torn(Pixels::Nv12, 640, 640 * 480), Err(CameraError::Torn(_))));
        assert!(matches!(torn(Pixels::Yuyv, 640, 640 * 480 * 2), Err(CameraError::Failed(_))));
        assert!(matches!(torn(Pixels::Mjpeg, 0, 10), Err(CameraError::Unfit(_))));
    }
}
