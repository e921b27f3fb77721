//! The test card of the simulated cameras.

use super::port::Size;

/// Bars of 75 %: white, yellow, cyan, green, magenta, red, blue, black; brightness and colours of video (BT.601).
const BARS: [[u8; 3]; 8] = [
    [180, 128, 128],
    [162, 44, 142],
    [131, 156, 44],
    [112, 72, 58],
    [84, 184, 198],
    [65, 100, 212],
    [35, 212, 114],
    [16, 128, 128],
];
/// Frames in which the bar of light moves from left to right.
const SWEEP: u64 = 64;

/// Frame number `n` as YUYV: bars above, a ramp from black to white below, and a light that moves over the ramp, so
/// that consecutive frames differ.
pub fn yuyv(size: Size, n: u64) -> Vec<u8> {
    let (width, height) = (size.width as usize, size.height as usize);
    let pairs = width.div_ceil(2);
    let light = (n % SWEEP) as usize * width / SWEEP as usize;
    let light = light..light + (width / 32).max(2);
    let line = |shade: &dyn Fn(usize) -> [u8; 3]| -> Vec<u8> {
        (0..pairs)
            .flat_map(|pair| {
                let ([left, cb, cr], [right, _, _]) = (shade(pair * 2), shade(pair * 2 + 1));
                [left, cb, right, cr]
            })
            .collect()
    };
    let bars = line(&|x| BARS[(x * BARS.len() / width.max(1)).min(BARS.len() - 1)]);
    let ramp = line(&|x| {
        if light.contains(&x) { [235, 128, 128] } else { [16 + (x * 180 / width.max(1)).min(200) as u8, 128, 128] }
    });
    let above = height * 3 / 4;
    let mut frame = Vec::with_capacity(pairs * 4 * height);
    (0..height).for_each(|y| frame.extend_from_slice(if y < above { &bars } else { &ramp }));
    frame
}
