//! Selects the format and size of a camera that are closest to a wish.

use super::port::{CameraFormat, PictureFormat, Pixels, Size, Sizes, Wish};
use std::cmp::Reverse;

/// The format's code and kind, and the size to request from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiatedFormat<'a> {
    pub code: &'a str,
    pub pixels: Pixels,
    pub size: Size,
}

/// Size comes before format: the wished size, otherwise the smallest that covers it, otherwise the largest. Among
/// formats, the cheapest to convert.
pub fn choose<'a>(modes: &'a [CameraFormat], wish: &Wish) -> Option<NegotiatedFormat<'a>> {
    let readable = modes.iter().filter_map(|mode| Some((mode, Pixels::of(&mode.code)?)));
    let choices = readable.flat_map(|(mode, pixels)| {
        let nearest = mode.sizes.iter().map(|sizes| nearest(*sizes, wish.size));
        // A driver that does not report its sizes is asked for the wished one, and returns the one it set.
        let untold = mode.sizes.is_empty().then_some(wish.size);
        nearest.chain(untold).map(move |size| NegotiatedFormat { code: &mode.code, pixels, size })
    });
    choices.min_by_key(|choice| (misfit(choice.size, wish.size), cost(choice.pixels, wish.format)))
}

/// Smaller is better; [`Reverse`], because among sizes that are too small the largest is best.
fn misfit(size: Size, wished: Size) -> (u8, u64, Reverse<u64>) {
    if size == wished {
        (0, 0, Reverse(0))
    } else if size.covers(wished) {
        (1, size.area(), Reverse(0))
    } else {
        (2, 0, Reverse(size.area()))
    }
}

/// For a JPEG a compressed frame is used as it is; for a PNG an uncompressed frame avoids losses.
fn cost(pixels: Pixels, format: PictureFormat) -> u8 {
    match (format, pixels) {
        (PictureFormat::Jpeg, Pixels::Mjpeg) => 0,
        (PictureFormat::Png, Pixels::Rgb24) => 1,
        (PictureFormat::Png, Pixels::Bgr24) => 2,
        (_, Pixels::Yuyv) => 3,
        (_, Pixels::Uyvy) => 4,
        (_, Pixels::Nv12) => 5,
        (_, Pixels::Rgb24) => 6,
        (_, Pixels::Bgr24) => 7,
        (_, Pixels::Mjpeg) => 8,
        // No colours.
        (_, Pixels::Grey) => 9,
    }
}

fn nearest(sizes: Sizes, wished: Size) -> Size {
    match sizes {
        Sizes::One(size) => size,
        Sizes::Steps { min, max, step } => Size {
            width: step_to(wished.width, min.width, max.width, step.width),
            height: step_to(wished.height, min.height, max.height, step.height),
        },
    }
}

/// The first step that is not below `wished`, or the last one.
fn step_to(wished: u32, min: u32, max: u32, step: u32) -> u32 {
    let (step, wanted) = (step.max(1), wished.clamp(min, max.max(min)));
    let stepped = min + (wanted - min).div_ceil(step) * step;
    if stepped <= max { stepped } else { min + (max.max(min) - min) / step * step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(code: &str, sizes: &[(u32, u32)]) -> CameraFormat {
        let sizes = sizes.iter().map(|(width, height)| Sizes::One(Size::new(*width, *height))).collect();
        CameraFormat { code: code.into(), sizes }
    }

    fn chosen(modes: &[CameraFormat], width: u32, height: u32, format: PictureFormat) -> (String, String) {
        let wish = Wish { size: Size::new(width, height), format, quality: 85, warmup: 0, max_bytes: 1 << 20 };
        let choice = choose(modes, &wish).unwrap();
        (choice.code.to_owned(), choice.size.to_string())
    }

    #[test]
    fn the_size_counts_before_the_format() {
        let webcam = [mode("YUYV", &[(640, 480), (1280, 720)]), mode("MJPG", &[(640, 480), (1920, 1080)])];
        let pair = |code: &str, size: &str| (code.to_owned(), size.to_owned());
        assert_eq!(chosen(&webcam, 640, 480, PictureFormat::Jpeg), pair("MJPG", "640x480"));
        assert_eq!(chosen(&webcam, 640, 480, PictureFormat::Png), pair("YUYV", "640x480"));
        assert_eq!(chosen(&webcam, 1280, 720, PictureFormat::Jpeg), pair("YUYV", "1280x720"));
        assert_eq!(chosen(&webcam, 1920, 1080, PictureFormat::Png), pair("MJPG", "1920x1080"));
        // Nothing fits: what covers it, and the smallest of those; then the largest.
        assert_eq!(chosen(&webcam, 800, 600, PictureFormat::Jpeg), pair("YUYV", "1280x720"));
        assert_eq!(chosen(&webcam, 4000, 3000, PictureFormat::Jpeg), pair("MJPG", "1920x1080"));
        assert_eq!(chosen(&webcam, 16, 16, PictureFormat::Jpeg), pair("MJPG", "640x480"));
    }

    #[test]
    fn steps_are_counted_from_the_smallest() {
        let steps = |step| {
            vec![CameraFormat {
                code: "YUYV".into(),
                sizes: vec![Sizes::Steps { min: Size::new(32, 16), max: Size::new(2592, 1944), step }],
            }]
        };
        assert_eq!(chosen(&steps(Size::new(2, 2)), 1281, 721, PictureFormat::Jpeg).1, "1282x722");
        assert_eq!(chosen(&steps(Size::new(1, 1)), 1281, 721, PictureFormat::Jpeg).1, "1281x721");
        assert_eq!(chosen(&steps(Size::new(1000, 1000)), 9999, 1, PictureFormat::Jpeg).1, "2032x16");
        // A driver that says 0 means nothing by it.
        assert_eq!(chosen(&steps(Size::new(0, 0)), 640, 480, PictureFormat::Jpeg).1, "640x480");
    }

    #[test]
    fn a_camera_without_a_format_that_can_be_read_is_none() {
        let wish =
            Wish { size: Size::new(640, 480), format: PictureFormat::Jpeg, quality: 85, warmup: 0, max_bytes: 1 };
        assert_eq!(choose(&[mode("pRAA", &[(640, 480)]), mode("H264", &[])], &wish), None);
        let untold = [mode("YUYV", &[])];
        assert_eq!(choose(&untold, &wish).unwrap().size, wish.size);
    }
}
