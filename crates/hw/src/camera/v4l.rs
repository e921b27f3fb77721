//! Cameras that the kernel drives completely: USB cameras, and other sources of finished frames over Video4Linux.
//!
//! Frames arrive in buffers shared with the kernel and are read in place. The crate opens devices non-blocking; only
//! poll(2) here waits, in limited slices. The crate panics on names that are not text and on unknown colour spaces,
//! hence `caught`.

use super::{
    negotiate::{NegotiatedFormat, choose},
    port::{
        Backend, Camera, CameraError, CameraFormat, CameraPort, Encode, Pixels, Raw, Shot, Size, Sizes, Until, Wish,
    },
};
use crate::devices::{DeviceFile, Devices};
use base::os::Root;
use rustix::io::Errno;
use std::{
    collections::BTreeSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};
use v4l::{
    Device, FourCC,
    buffer::{self, Type},
    capability,
    format::{Colorspace, Quantization},
    framesize::FrameSizeEnum,
    io::{mmap::Stream, traits::CaptureStream, traits::Stream as _},
    video::Capture,
};

/// Frames that the driver may be ahead. With four a slow encoder misses no frame that it needs.
const BUFFERS: u32 = 4;
/// Longest wait for one frame: cameras take up to three seconds to start, and expose for up to one in the dark.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit of consecutive torn frames.
const TORN: u32 = 8;
/// Limit of formats, and of sizes per format; more than any camera has.
const MOST: usize = 64;

/// The cameras of this machine.
pub struct V4l {
    pub root: Root,
}

impl CameraPort for V4l {
    fn backend(&self) -> Backend {
        Backend::V4l2
    }

    fn list(&self, until: &Until) -> Result<Vec<Camera>, CameraError> {
        let mut buses = BTreeSet::new();
        let mut cameras = Vec::new();
        for node in Devices::read(&self.root).video.iter().filter(|device| device.is_camera()) {
            until.slice(Instant::now(), PATIENCE)?;
            // A camera has several nodes; the first one that delivers frames is used.
            if let Some(camera) = self.seen(node)
                && (camera.bus.is_empty() || buses.insert(camera.bus.clone()))
            {
                cameras.push(camera);
            }
        }
        Ok(cameras)
    }

    fn find(&self, named: &str, until: &Until) -> Result<Option<Camera>, CameraError> {
        // Found by its file, without waking the others.
        let nodes = Devices::read(&self.root).video;
        match nodes.iter().find(|node| node.path == named && node.is_camera()) {
            Some(node) => Ok(self.seen(node)),
            None => Ok(self.list(until)?.into_iter().find(|camera| camera.name == named)),
        }
    }

    fn take(&self, camera: &Camera, wish: &Wish, until: &Until, encode: Encode<'_>) -> Result<Shot, CameraError> {
        caught(|| {
            let device = self.open(&camera.id)?;
            let choice = choose(&camera.modes, wish).ok_or_else(|| unfit(camera))?;
            let format = set(&device, choice)?;
            let frames = Frames::start(&device, until)?;
            frames.shot(&format, wish, encode)
        })
    }
}

impl V4l {
    fn open(&self, id: &str) -> Result<Device, CameraError> {
        Device::with_path(self.root.path(id)).map_err(|error| fault(&error, CameraError::Absent))
    }

    /// The camera behind a node, if it is one. Without access it is still reported as present.
    fn seen(&self, node: &DeviceFile) -> Option<Camera> {
        match caught(|| self.look(&node.path)) {
            Ok(camera) => camera,
            Err(CameraError::Denied) => Some(Camera {
                id: node.path.clone(),
                name: node.name.clone().unwrap_or_default(),
                driver: String::new(),
                bus: String::new(),
                backend: Backend::V4l2,
                modes: Vec::new(),
            }),
            Err(fault) => {
                tracing::debug!(target: "camera", device = node.path, ?fault, "left out");
                None
            }
        }
    }

    /// Queries a node; `None` if it delivers no readable frames.
    fn look(&self, path: &str) -> Result<Option<Camera>, CameraError> {
        let device = self.open(path)?;
        let about = device.query_caps().map_err(|error| fault(&error, CameraError::Absent))?;
        // device_caps of struct v4l2_capability: the capabilities of this node, not the whole device.
        if !about.capabilities.contains(capability::Flags::VIDEO_CAPTURE | capability::Flags::STREAMING) {
            return Ok(None);
        }
        let modes = modes(&device);
        if !modes.iter().any(|mode| Pixels::of(&mode.code).is_some()) {
            // Sensors on the ribbon cable deliver raw values, which need libcamera.
            return Ok(None);
        }
        Ok(Some(Camera {
            id: path.to_owned(),
            name: about.card,
            driver: about.driver,
            bus: about.bus,
            backend: Backend::V4l2,
            modes,
        }))
    }
}

fn modes(device: &Device) -> Vec<CameraFormat> {
    let formats = device.enum_formats().unwrap_or_default();
    let mode = |fourcc: FourCC| CameraFormat {
        code: fourcc.to_string().trim_end().to_owned(),
        sizes: device
            .enum_framesizes(fourcc)
            .unwrap_or_default()
            .iter()
            .take(MOST)
            .map(|size| sizes(&size.size))
            .collect(),
    };
    formats.iter().take(MOST).map(|format| mode(format.fourcc)).collect()
}

fn sizes(size: &FrameSizeEnum) -> Sizes {
    match size {
        FrameSizeEnum::Discrete(one) => Sizes::One(Size::new(one.width, one.height)),
        FrameSizeEnum::Stepwise(steps) => Sizes::Steps {
            min: Size::new(steps.min_width, steps.min_height),
            max: Size::new(steps.max_width, steps.max_height),
            step: Size::new(steps.step_width.max(1), steps.step_height.max(1)),
        },
    }
}

fn unfit(camera: &Camera) -> CameraError {
    let codes: Vec<&str> = camera.modes.iter().map(|mode| mode.code.as_str()).collect();
    CameraError::Unfit(format!("it gives {}", if codes.is_empty() { "nothing".to_owned() } else { codes.join(", ") }))
}

/// What the driver accepted of the choice.
struct Agreed {
    code: String,
    pixels: Pixels,
    size: Size,
    stride: usize,
    full_range: bool,
}

fn set(device: &Device, choice: NegotiatedFormat<'_>) -> Result<Agreed, CameraError> {
    let code: [u8; 4] = choice.code.as_bytes().try_into().map_err(|_| CameraError::Unfit(choice.code.to_owned()))?;
    let wanted = v4l::Format::new(choice.size.width, choice.size.height, FourCC::new(&code));
    let format = device.set_format(&wanted).map_err(|error| fault(&error, CameraError::Unplugged))?;
    let code = format.fourcc.to_string();
    // A driver that shares another source's frames keeps its format.
    let pixels = Pixels::of(&code).ok_or_else(|| CameraError::Unfit(format!("it insists on {code}")))?;
    let least = match pixels {
        Pixels::Mjpeg => 0,
        Pixels::Yuyv | Pixels::Uyvy => format.width * 2,
        Pixels::Rgb24 | Pixels::Bgr24 => format.width * 3,
        Pixels::Nv12 | Pixels::Grey => format.width,
    };
    Ok(Agreed {
        code,
        pixels,
        size: Size::new(format.width, format.height),
        stride: format.stride.max(least) as usize,
        full_range: match format.quantization {
            Quantization::FullRange => true,
            Quantization::LimitedRange => false,
            // By default all have limited range except this one (V4L2_MAP_QUANTIZATION_DEFAULT).
            Quantization::Default => matches!(format.colorspace, Colorspace::JPEG),
        },
    })
}

/// A stream of frames. Dropping it stops the camera.
struct Frames<'a> {
    stream: Stream<'a>,
    until: &'a Until,
    /// Some buffers are queued with the driver, so that poll(2) reports frames.
    begun: bool,
}

impl<'a> Frames<'a> {
    fn start(device: &Device, until: &'a Until) -> Result<Self, CameraError> {
        let failed = |error: io::Error| fault(&error, CameraError::Unplugged);
        let mut stream = Stream::with_buffers(device, Type::VideoCapture, BUFFERS).map_err(failed)?;
        stream.set_timeout(PATIENCE);
        // The crate's own `next` would queue all buffers, start and wait at once. Queueing all but the first splits
        // that, so that the wait is here. A driver with fewer buffers returns EINVAL.
        let begun =
            (1..BUFFERS as usize).take_while(|index| CaptureStream::queue(&mut stream, *index).is_ok()).count() > 0;
        if begun {
            stream.start().map_err(failed)?;
        }
        Ok(Self { stream, until, begun })
    }

    /// Waits until there is a frame.
    fn wait(&self) -> Result<(), CameraError> {
        let (handle, since) = (self.stream.handle(), Instant::now());
        if !self.begun {
            // With a single buffer, the crate queues it in its own wait.
            return self.until.slice(since, PATIENCE).map(drop);
        }
        loop {
            let slice = self.until.slice(since, PATIENCE)?;
            match handle.poll(READABLE, slice.as_millis() as i32) {
                Ok(0) => {}
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(&error, CameraError::Unplugged)),
            }
        }
    }

    fn shot(mut self, agreed: &Agreed, wish: &Wish, encode: Encode<'_>) -> Result<Shot, CameraError> {
        let (mut let_go, mut torn) = (0, 0);
        loop {
            self.wait()?;
            let waited = Instant::now();
            let (buffer, about) = self.stream.next().map_err(|error| match error.kind() {
                io::ErrorKind::TimedOut => CameraError::NoFrame { waited: waited.elapsed() },
                _ => fault(&error, CameraError::Unplugged),
            })?;
            self.begun = true;
            if let_go < wish.warmup {
                let_go += 1;
                continue;
            }
            let came = buffer.get(..about.bytesused as usize).unwrap_or(buffer);
            let raw = Raw {
                pixels: agreed.pixels,
                size: agreed.size,
                stride: agreed.stride,
                full_range: agreed.full_range,
                bytes: came,
            };
            let made = if about.flags.contains(buffer::Flags::ERROR) {
                Err(CameraError::Torn("the driver marks the frame as damaged".into()))
            } else {
                encode(&raw)
            };
            match made {
                Err(CameraError::Torn(_)) if torn + 1 < TORN => torn += 1,
                Err(fault) => return Err(fault),
                Ok(picture) => return Ok(Shot { picture, code: agreed.code.clone(), warmup: Some(let_go) }),
            }
        }
    }
}

/// `POLLIN`.
const READABLE: i16 = 1;

/// The fault for an error of the kernel; `gone` when there is no such device.
fn fault(error: &io::Error, gone: CameraError) -> CameraError {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => gone,
        Some(Errno::ACCESS | Errno::PERM) => CameraError::Denied,
        Some(Errno::BUSY) => CameraError::Busy(None),
        _ => CameraError::Failed(error.to_string()),
    }
}

/// Runs `work`, and turns a panic of the crate into a failure of the driver.
fn caught<T>(work: impl FnOnce() -> Result<T, CameraError>) -> Result<T, CameraError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Err(CameraError::Failed(format!("the driver says what nobody expects: {}", why.unwrap_or("it cannot be said"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_are_told_apart() {
        let of = |errno: Errno| fault(&errno.into(), CameraError::Unplugged);
        assert_eq!(of(Errno::NODEV), CameraError::Unplugged);
        assert_eq!(of(Errno::BUSY), CameraError::Busy(None));
        assert_eq!(of(Errno::ACCESS), CameraError::Denied);
        assert!(matches!(of(Errno::IO), CameraError::Failed(_)));
    }

    #[test]
    fn a_panic_of_the_crate_is_a_failure_of_the_driver() {
        let fault = caught::<()>(|| panic!("Invalid {}", "colorspace")).unwrap_err();
        assert_eq!(fault, CameraError::Failed("the driver says what nobody expects: Invalid colorspace".into()));
    }
}
