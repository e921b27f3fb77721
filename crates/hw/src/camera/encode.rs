//! Turns frames into pictures: passed through if the camera compressed them, otherwise encoded here, line by line.
//!
//! It takes tens of milliseconds of processor time, and runs on the thread that waits for the camera, off the runtime.

use super::{
    jpeg,
    port::{CameraError, Picture, PictureFormat, Pixels, Raw, Size, Wish},
};
use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType};
use std::io;
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// The largest picture that is decoded, in pixels: the largest sensors of Raspberry Pi (4608 times 3456). Takes three
/// bytes per pixel.
pub const LARGEST: u64 = 4608 * 3456;

/// Encodes this frame as `wish` requests.
///
/// # Errors
/// [`CameraError::Torn`] when the frame is incomplete, [`CameraError::TooLarge`], [`CameraError::Failed`] by an encoder.
pub fn encode(raw: &Raw<'_>, wish: &Wish) -> Result<Picture, CameraError> {
    let (bytes, size, passed_through) = match (raw.pixels, wish.format) {
        (Pixels::Mjpeg, PictureFormat::Jpeg) => {
            let (bytes, size) = jpeg::whole(raw.bytes)?;
            if bytes.len() > wish.max_bytes {
                return Err(CameraError::TooLarge { limit: wish.max_bytes });
            }
            (bytes, size, true)
        }
        (Pixels::Mjpeg, PictureFormat::Png) => {
            let (pixels, size) = decode(raw.bytes)?;
            let stride = size.width as usize * 3;
            let raw = Raw { pixels: Pixels::Rgb24, size, stride, full_range: true, bytes: &pixels };
            (png(&raw, wish.max_bytes)?, size, false)
        }
        (_, format) => {
            raw.check()?;
            let bytes = match format {
                PictureFormat::Jpeg => to_jpeg(raw, wish)?,
                PictureFormat::Png => png(raw, wish.max_bytes)?,
            };
            (bytes, raw.size, false)
        }
    };
    Ok(Picture { bytes, format: wish.format, size, passed_through })
}

/// The pixels of a JPEG, three bytes each.
fn decode(bytes: &[u8]) -> Result<(Vec<u8>, Size), CameraError> {
    let (whole, size) = jpeg::whole(bytes)?;
    if size.area() > LARGEST {
        return Err(CameraError::Unfit(format!(
            "the camera gave a JPEG of {size}; at most {LARGEST} pixels are decoded"
        )));
    }
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let torn = |fault: zune_jpeg::errors::DecodeErrors| CameraError::Torn(fault.to_string());
    let pixels = JpegDecoder::new_with_options(ZCursor::new(&whole), options).decode().map_err(torn)?;
    if pixels.len() as u64 != size.area() * 3 {
        return Err(CameraError::Torn(format!("{} bytes of pixels for {size}", pixels.len())));
    }
    Ok((pixels, size))
}

/// Encodes lines as a JPEG.
fn to_jpeg(raw: &Raw<'_>, wish: &Wish) -> Result<Vec<u8>, CameraError> {
    let side = |side: u32| {
        u16::try_from(side).map_err(|_| CameraError::Unfit(format!("a JPEG is never {side} pixels wide or high")))
    };
    let lines = Lines { raw, width: side(raw.size.width)?, height: side(raw.size.height)? };
    let mut sink = Sink::new(wish.max_bytes);
    let made = Encoder::new(&mut sink, wish.quality).encode_image(lines);
    sink.end(made)
}

/// A frame in the form that the encoder reads.
struct Lines<'a> {
    raw: &'a Raw<'a>,
    width: u16,
    height: u16,
}

impl ImageBuffer for Lines<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        if self.raw.is_grey() { JpegColorType::Luma } else { JpegColorType::Ycbcr }
    }
    fn width(&self) -> u16 {
        self.width
    }
    fn height(&self) -> u16 {
        self.height
    }
    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let [luma, blue, red, _] = buffers;
        let grey = self.raw.is_grey();
        self.raw.each_ycbcr(y.into(), |y, cb, cr| {
            luma.push(y);
            if !grey {
                blue.push(cb);
                red.push(cr);
            }
        });
    }
}

/// Encodes lines as a PNG.
fn png(raw: &Raw<'_>, max_bytes: usize) -> Result<Vec<u8>, CameraError> {
    let mut sink = Sink::new(max_bytes);
    let made = write_png(raw, &mut sink);
    sink.end(made)
}

fn write_png(raw: &Raw<'_>, sink: &mut Sink) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(sink, raw.size.width, raw.size.height);
    encoder.set_color(if raw.is_grey() { png::ColorType::Grayscale } else { png::ColorType::Rgb });
    encoder.set_depth(png::BitDepth::Eight);
    // The lowest bits of a camera's pixels are noise: more effort saves a few percent and takes ten times as long.
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let mut line = Vec::new();
    for y in 0..raw.size.height as usize {
        raw.line_into(y, &mut line);
        io::Write::write_all(&mut stream, &line)?;
    }
    stream.finish()?;
    writer.finish()
}

/// Collects an encoder's output, up to a limit.
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl Sink {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, full: false }
    }

    fn end<E: std::fmt::Display>(self, made: Result<(), E>) -> Result<Vec<u8>, CameraError> {
        match made {
            _ if self.full => Err(CameraError::TooLarge { limit: self.limit }),
            Ok(()) => Ok(self.bytes),
            Err(fault) => Err(CameraError::Failed(format!("the picture could not be encoded: {fault}"))),
        }
    }
}

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(format: PictureFormat, max_bytes: usize) -> Wish {
        Wish { size: Size::new(64, 48), format, quality: 90, warmup: 0, max_bytes }
    }

    /// Half black, half white.
    fn halves() -> Vec<u8> {
        (0..48)
            .flat_map(|_| (0..32).flat_map(|x| if x < 16 { [16, 128, 16, 128] } else { [235, 128, 235, 128] }))
            .collect()
    }

    fn frame(bytes: &[u8]) -> Raw<'_> {
        Raw { pixels: Pixels::Yuyv, size: Size::new(64, 48), stride: 128, full_range: false, bytes }
    }

    fn check(pixels: &[u8]) {
        assert_eq!(pixels.len(), 64 * 48 * 3);
        let at = |x: usize, y: usize| pixels[(y * 64 + x) * 3];
        assert!(at(4, 4) < 4 && at(4, 44) < 4 && at(60, 4) > 251 && at(60, 44) > 251);
    }

    fn unpng(bytes: &[u8]) -> Vec<u8> {
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    }

    #[test]
    fn the_picture_shows_what_the_frame_held() {
        let bytes = halves();
        let jpeg = encode(&frame(&bytes), &wish(PictureFormat::Jpeg, 1 << 20)).unwrap();
        assert!(!jpeg.passed_through && jpeg.size == Size::new(64, 48));
        check(&decode(&jpeg.bytes).unwrap().0);
        let png = encode(&frame(&bytes), &wish(PictureFormat::Png, 1 << 20)).unwrap();
        check(&unpng(&png.bytes));
        // And by way of the camera's own JPEG, without tables and with a tail.
        let mut mjpeg = jpeg::without_tables(&jpeg.bytes);
        mjpeg.resize(9000, 0xff);
        let raw = Raw { pixels: Pixels::Mjpeg, bytes: &mjpeg, ..frame(&[]) };
        let passed = encode(&raw, &wish(PictureFormat::Jpeg, 1 << 20)).unwrap();
        assert!(passed.passed_through);
        assert_eq!(decode(&passed.bytes).unwrap(), decode(&jpeg.bytes).unwrap());
        check(&unpng(&encode(&raw, &wish(PictureFormat::Png, 1 << 20)).unwrap().bytes));
    }

    #[test]
    fn grey_stays_grey() {
        let bytes = vec![77; 64 * 48];
        let raw = Raw { pixels: Pixels::Grey, stride: 64, ..frame(&bytes) };
        let jpeg = encode(&raw, &wish(PictureFormat::Jpeg, 1 << 20)).unwrap();
        assert!(decode(&jpeg.bytes).unwrap().0.iter().all(|byte| byte.abs_diff(77) < 3));
        assert_eq!(unpng(&encode(&raw, &wish(PictureFormat::Png, 1 << 20)).unwrap().bytes), bytes);
    }

    #[test]
    fn a_picture_beyond_its_bound_is_given_up_on_the_way() {
        let bytes = halves();
        for format in PictureFormat::ALL {
            let whole = encode(&frame(&bytes), &wish(format, 1 << 20)).unwrap().bytes.len();
            assert_eq!(encode(&frame(&bytes), &wish(format, whole)).unwrap().bytes.len(), whole);
            let fault = encode(&frame(&bytes), &wish(format, whole - 1)).unwrap_err();
            assert_eq!(fault, CameraError::TooLarge { limit: whole - 1 }, "{format:?}");
        }
    }
}
