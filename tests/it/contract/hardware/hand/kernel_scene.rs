//! Cameras of the kernel's test drivers: vivid shows bars by itself, v4l2loopback what somebody writes into it.

use super::{Camera, Held, Scene};
use crate::support::picture;
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};
use v4l::{
    Device, Format, FourCC,
    buffer::Type,
    io::{mmap::Stream, traits::CaptureStream},
    video::{Capture, Output},
};

/// The argument of this program by which it takes a camera and keeps it until its input ends.
pub const HOG: &str = "--hog";

pub struct KernelScene {
    cameras: Vec<Camera>,
}

impl KernelScene {
    /// vivid's camera and v4l2loopback's, by their device files.
    pub fn of(vivid: &str, loopback: &str) -> Self {
        let camera = |id: &str, name, mjpeg| Camera { id: id.into(), name, mjpeg, size: (640, 360) };
        Self { cameras: vec![camera(vivid, "vivid", false), camera(loopback, "loopback", true)] }
    }
}

impl Scene for KernelScene {
    fn cameras(&self) -> &[Camera] {
        &self.cameras
    }
    /// v4l2loopback shows the same to everybody.
    fn is_exclusive(&self, camera: &Camera) -> bool {
        !camera.mjpeg
    }
    fn hog(&self, camera: &Camera) -> (Held, u32) {
        let program = std::env::current_exe().expect("this program");
        let piped = || (Stdio::piped(), Stdio::piped());
        let (stdin, stdout) = piped();
        let mut child =
            Command::new(program).args([HOG, &camera.id]).stdin(stdin).stdout(stdout).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("it says something");
        assert_eq!(line.trim(), "held", "the camera can be taken");
        let pid = child.id();
        (Box::new(Hog(child)), pid)
    }
    fn lights(&self, camera: &Camera) -> Held {
        if camera.mjpeg { Box::new(Projector::on(&camera.id, camera.size)) } else { Box::new(()) }
    }
}

struct Hog(Child);

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends when its input does");
    }
}

/// Takes the camera as any program does, and keeps it: what [`Scene::hog`] starts.
// Of `tests/hardware.rs` alone.
#[allow(dead_code)]
pub fn hog(path: &str) {
    let device = Device::with_path(path).expect("the camera");
    let format = Capture::format(&device).expect("its format");
    Capture::set_format(&device, &format).expect("the format it has");
    let mut stream = Stream::with_buffers(&device, Type::VideoCapture, 4).expect("its buffers");
    CaptureStream::next(&mut stream).expect("a frame");
    println!("held");
    // Until the other end of the pipe is gone.
    let _ = std::io::stdin().read(&mut [0]);
}

/// Writes a picture into a loopback, again and again, as a program that lends its camera does.
struct Projector {
    off: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// About as often as cameras do.
const FRAME: Duration = Duration::from_millis(40);

impl Projector {
    fn on(path: &str, (width, height): (u32, u32)) -> Self {
        let mut device = Device::with_path(path).expect("the loopback");
        let format = Format::new(width, height, FourCC::new(b"MJPG"));
        Output::set_format(&device, &format).expect("it takes JPEGs");
        let frame = picture::card(width as u16, height as u16);
        device.write_all(&frame).expect("it takes a frame");
        let (off, told) = channel();
        let thread = thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = told.recv_timeout(FRAME) {
                device.write_all(&frame).expect("it takes frames");
            }
        });
        Self { off: Some(off), thread: Some(thread) }
    }
}

impl Drop for Projector {
    fn drop(&mut self) {
        drop(self.off.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the projector went well");
        }
    }
}
