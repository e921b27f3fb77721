//! `hardware --board NAME --ratios`: what our ports cost beside a program that does nothing else, side by side and interleaved.
//!
//! A pin write, an SPI transfer and a serial write are compared with a loop of bare system calls (`ci/qemu-hw.d/bare.c`), ten frames of a camera with `v4l2-ctl`. The
//! limits are 1.5 times. Both programs must be on the path. Printed, not asserted: a shared machine makes times lie.

use crate::contract::hardware::boards::Setup;
use base::os::{Root, blocking::StopSignal};
use contract::values::Pin;
use hw::{
    board::{Board, Choice},
    camera::{
        PictureFormat, Size, Wish,
        encode::encode,
        port::{CameraPort as _, Picture, Until},
        v4l::V4l,
    },
    gpio::cdev::Cdev,
    line::{GpioPort as _, Level, Take},
    serial::{Flow, Line, Parity, SerialBackend as _, Ttys},
    spi::{Dev, SpiClock, SpiPort as _},
};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const ROUNDS: usize = 7;
const WRITES: u32 = 2000;
const TRANSFERS: u32 = 500;
/// Each takes until the kernel has seen that its bytes have left, some milliseconds.
const SERIAL_WRITES: u32 = 50;
const FRAMES: u32 = 10;
const LIMIT: f64 = 1.5;

/// Prints a line for each thing that this board has.
pub fn print(setup: &Setup) {
    let board = Board::detect(Choice::Auto, &Root::system()).expect("any board");
    if board.is_simulated() || setup.chip.is_empty() {
        println!("on a simulated board there is nothing to compare with");
        return;
    }
    let hand = (setup.hand)(&board);
    if let Some(lines) = &hand.lines {
        pin_write(setup.chip, lines.free()[0]);
    }
    if let Some(device) = hand.spi_loop {
        spi_transfer(device);
    }
    if let Some(name) = &hand.echo {
        serial_write(name);
    }
    for camera in hand.scene.iter().flat_map(|scene| scene.cameras()) {
        let _light = hand.scene.as_ref().map(|scene| scene.lights(camera));
        frames(&camera.id, camera.size);
    }
}

fn pin_write(label: &str, number: u8) {
    let mut chips = gpio_cdev::chips().expect("the GPIO chips").map(|chip| chip.expect("a GPIO chip"));
    let path = chips.find(|chip| chip.label() == label).expect("the header's chip").path().to_owned();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(by_the_port(&path, number));
        bare.push(bare_loop(path.to_str().expect("UTF-8"), &number.to_string(), WRITES));
    }
    tell("pin write", "us", ours, "by bare ioctls", bare);
}

/// Transfers of 16 bytes.
fn spi_transfer((bus, chip_select): (u32, u32)) {
    let (port, clock) = (Dev::new(Root::system()), SpiClock { mode: 0, speed_hz: 500_000, delay_us: 0 });
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..TRANSFERS {
            port.exchange(bus, chip_select, clock, &mut [0; 16]).expect("the device answers");
        }
        ours.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(TRANSFERS));
        bare.push(bare_loop(&format!("/dev/spidev{bus}.{chip_select}"), "spi", TRANSFERS));
    }
    tell("SPI transfer", "us", ours, "by bare ioctls", bare);
}

/// Writes of 16 bytes at 115,200 baud, each until its bytes have left.
fn serial_write(name: &str) {
    let line = Line { baud: 115_200, data_bits: 8, parity: Parity::None, stop_bits: 1, flow: Flow::None };
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let wire = Ttys(Root::system()).open(name, line).expect("a port that nobody has open");
        let began = Instant::now();
        for _ in 0..SERIAL_WRITES {
            assert_eq!(wire.send(&[0; 16]).expect("room in the driver's buffer"), 16);
            while wire.unsent().expect("a port that counts") > 0 {}
        }
        ours.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(SERIAL_WRITES));
        drop(wire);
        bare.push(bare_loop(&format!("/dev/{name}"), "serial", SERIAL_WRITES));
    }
    tell("serial write", "us", ours, "by bare system calls", bare);
}

/// Microseconds that `bare` needs for one of `count`.
fn bare_loop(device: &str, what: &str, count: u32) -> f64 {
    let out = output(Command::new("bare").args([device, what, &count.to_string()]));
    out.trim().parse::<f64>().expect("nanoseconds") / 1e3 / f64::from(count)
}

/// Microseconds a write.
fn by_the_port(path: &Path, number: u8) -> f64 {
    let pin = Pin::try_from(u64::from(number)).expect("a pin");
    let port = Cdev::open(path).expect("the chip");
    let line = port.take(pin, Take::Output { level: Level::Low }, "ratios").expect("a free line");
    let began = Instant::now();
    for turn in 0..WRITES {
        line.set(Level::of(turn % 2 == 1)).expect("a line that is ours");
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(WRITES)
}

fn frames(id: &str, (width, height): (u32, u32)) {
    let (mut raw, mut ready, mut theirs, mut start) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        raw.push(ten_frames(id, Size::new(width, height), false));
        theirs.push(v4l2_ctl(id, &["--stream-mmap", "--stream-count=10", "--stream-to=/dev/null"]));
        start.push(v4l2_ctl(id, &["--get-fmt-video"]));
        ready.push(ten_frames(id, Size::new(width, height), true));
    }
    let start = median(start);
    // Of itself v4l2-ctl has its start and the look at its device.
    let theirs: Vec<f64> = theirs.into_iter().map(|whole| whole - start).collect();
    tell(&format!("ten frames of {id}"), "ms", raw, "by v4l2-ctl", theirs.clone());
    tell(&format!("ten frames of {id} and a JPEG"), "ms", ready, "by v4l2-ctl, which makes none", theirs);
}

/// Milliseconds from a closed camera to the last frame, which becomes a picture or not.
fn ten_frames(id: &str, size: Size, picture: bool) -> f64 {
    let port = V4l { root: Root::system() };
    let until = Until { deadline: Instant::now() + Duration::from_secs(60), stop: StopSignal::of("ratios") };
    let camera = port.list(&until).expect("cameras").into_iter().find(|camera| camera.id == id).expect("that camera");
    let wish = Wish { size, format: PictureFormat::Jpeg, quality: 85, warmup: FRAMES - 1, max_bytes: 16 << 20 };
    let began = Instant::now();
    port.take(&camera, &wish, &until, &mut |raw| {
        if picture {
            return encode(raw, &wish);
        }
        Ok(Picture { bytes: raw.bytes.to_vec(), format: PictureFormat::Jpeg, size: raw.size, passed_through: true })
    })
    .expect("ten frames");
    began.elapsed().as_secs_f64() * 1e3
}

fn v4l2_ctl(id: &str, args: &[&str]) -> f64 {
    let began = Instant::now();
    output(Command::new("v4l2-ctl").args(["-d", id]).args(args));
    began.elapsed().as_secs_f64() * 1e3
}

fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::inherit()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn tell(what: &str, unit: &str, ours: Vec<f64>, whose: &str, theirs: Vec<f64>) {
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours / theirs;
    let verdict = if ratio <= LIMIT { "" } else { ", OVER THE LIMIT" };
    println!("ratio {ratio:.2}{verdict}  {what}: {ours:.1} {unit} by our port, {theirs:.1} {unit} {whose}");
}
