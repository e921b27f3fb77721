//! Cameras that the kernel drives: another process that uses one, and a picture for the one that has none by itself.

use super::{Camera, Held, Hog, Scene};
use crate::contract::hardware::picture;
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};
use v4l::{
    Device, Format, FourCC,
    buffer::Type,
    io::{mmap, traits::CaptureStream},
    video::{Capture, Output},
};

/// vivid shows a test picture by itself; v4l2loopback shows what is written to it.
pub struct KernelScene {
    pub cameras: Vec<Camera>,
}

/// With this argument the program of the assertions is the other process.
pub const HOG: &str = "--hog";

/// The other process: streams from the camera until its standard input ends.
///
/// # Panics
/// When it cannot.
pub fn hog(path: &str) {
    let camera = Device::with_path(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let format = Capture::format(&camera).expect("a format");
    Capture::set_format(&camera, &format).expect("its own format");
    let mut stream = mmap::Stream::with_buffers(&camera, Type::VideoCapture, 2).expect("buffers");
    stream.next().expect("a frame");
    println!("streaming");
    std::io::stdin().lines().for_each(drop);
}

/// Ends with whoever holds it.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the other process ends");
    }
}

/// Writes frames to a loopback device until it is dropped.
struct Feeder {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Feeder {
    fn start(camera: &Camera) -> Self {
        let (width, height) = camera.size;
        let mut device = Device::with_path(&camera.id).unwrap_or_else(|error| panic!("{}: {error}", camera.id));
        let format = Format::new(width, height, FourCC::new(b"MJPG"));
        Output::set_format(&device, &format).expect("v4l2loopback takes MJPEG");
        let (stop, stopped) = mpsc::channel();
        let frame = picture::card(u16::try_from(width).unwrap(), u16::try_from(height).unwrap());
        device.write_all(&frame).expect("v4l2loopback takes a frame");
        let thread = thread::spawn(move || {
            // A camera's pace: 30 frames a second.
            while stopped.recv_timeout(Duration::from_millis(33)) == Err(RecvTimeoutError::Timeout) {
                device.write_all(&frame).expect("v4l2loopback takes a frame");
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("frames were taken to the end");
        }
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

    fn hog(&self, camera: &Camera) -> Hog {
        let program = std::env::current_exe().expect("a program");
        let mut child = Command::new(program)
            .args([HOG, &camera.id])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts once more");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        assert_eq!(line, "streaming\n", "the other process has the camera");
        Hog { pid: child.id(), name: "hardware".into(), _until: Box::new(Other(child)) }
    }

    fn lights(&self, camera: &Camera) -> Held {
        if camera.mjpeg { Box::new(Feeder::start(camera)) } else { Box::new(()) }
    }
}
