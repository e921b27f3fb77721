//! Pictures, looked at: decoded by what did not make them, and compared with what is before the camera.

/// Width and height of a picture and its pixels, three bytes each.
pub fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    if bytes.starts_with(b"\x89PNG") {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let about = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(about.color_type, png::ColorType::Rgb, "cameras here have colours");
        return (about.width, about.height, pixels);
    }
    let mut decoder = zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(bytes));
    let pixels = decoder.decode().unwrap();
    let about = decoder.info().unwrap();
    (about.width.into(), about.height.into(), pixels)
}

/// Bars of 75 %, from left to right: white, yellow, cyan, green, magenta, red, blue, black; red, green and blue of each.
pub const BARS: [[u8; 3]; 8] = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]];

/// Whether these bars stand where they should, by the pixel in the middle of each.
#[track_caller]
pub fn shows(bytes: &[u8], bars: std::ops::Range<usize>) {
    let (width, height, pixels) = decoded(bytes);
    for n in bars {
        let (x, y) = ((2 * n as u32 + 1) * width / 16, height / 2);
        let at = ((y * width + x) * 3) as usize;
        let seen = [0, 1, 2].map(|channel| u8::from(pixels[at + channel] > 96));
        assert_eq!(seen, BARS[n], "bar {n} at {x},{y}: {:?}", &pixels[at..at + 3]);
    }
}

/// A JPEG of all eight bars.
pub fn card(width: u16, height: u16) -> Vec<u8> {
    let line: Vec<u8> =
        (0..usize::from(width)).flat_map(|x| BARS[x * 8 / usize::from(width)].map(|on| on * 191)).collect();
    let mut bytes = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut bytes, 90);
    encoder.encode(&line.repeat(height.into()), width, height, jpeg_encoder::ColorType::Rgb).unwrap();
    bytes
}

/// Base64 undone.
pub fn from_base64(text: &str) -> Vec<u8> {
    let url: String = text
        .trim_end_matches('=')
        .chars()
        .map(|letter| match letter {
            '+' => '-',
            '/' => '_',
            other => other,
        })
        .collect();
    base::base64url::decode(&url).unwrap()
}
