//! The port: the interface to every kind of camera, and its faults.
//!
//! Both calls may block, so they run on a thread for blocking work (see [`super::Cameras`]).

use base::os::{blocking::StopSignal, glob::Glob};
use std::time::{Duration, Instant};

/// How a picture is written for callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PictureFormat {
    #[default]
    Jpeg,
    Png,
}

impl PictureFormat {
    pub const ALL: [Self; 2] = [Self::Jpeg, Self::Png];

    pub const fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }
    /// The extension of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }
}

/// Pixel formats of frames: those of V4L2 that this server can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// One JPEG per frame; possibly without Huffman tables, or with data behind its end.
    Mjpeg,
    Yuyv,
    Uyvy,
    Nv12,
    Rgb24,
    Bgr24,
    Grey,
}

impl Pixels {
    /// Codes of `linux/videodev2.h`. `JPEG` and `MJPG` differ in the driver's guarantees only; they are read alike.
    const CODES: [(&'static str, Self); 8] = [
        ("MJPG", Self::Mjpeg),
        ("JPEG", Self::Mjpeg),
        ("YUYV", Self::Yuyv),
        ("UYVY", Self::Uyvy),
        ("NV12", Self::Nv12),
        ("RGB3", Self::Rgb24),
        ("BGR3", Self::Bgr24),
        ("GREY", Self::Grey),
    ];

    /// The format of a four-character code.
    pub fn of(code: &str) -> Option<Self> {
        Self::CODES.iter().find(|(known, _)| *known == code).map(|(_, pixels)| *pixels)
    }
}

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    pub width: u32,
    pub height: u32,
}

impl Size {
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
    pub fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
    pub fn covers(self, other: Self) -> bool {
        self.width >= other.width && self.height >= other.height
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// The sizes of one format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    One(Size),
    /// Every size from `min` to `max` in such steps (never 0).
    Steps {
        min: Size,
        max: Size,
        step: Size,
    },
}

/// One format of a camera, with its sizes; empty if the driver does not report them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraFormat {
    /// Four characters, or a longer name of libcamera's.
    pub code: String,
    pub sizes: Vec<Sizes>,
}

/// Who a camera is reached through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Backend {
    V4l2,
    Rpicam,
    Simulated,
}

/// One camera.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Camera {
    /// Its id for callers: `/dev/video0`, `csi:0`.
    pub id: String,
    /// The driver's name for it.
    pub name: String,
    pub driver: String,
    /// Where it is connected: stable across restarts, while the number may change.
    pub bus: String,
    pub backend: Backend,
    pub modes: Vec<CameraFormat>,
}

impl Camera {
    /// Whether one of the patterns, with `*` and `?`, matches its id, its driver's name, or its location.
    pub fn is_among(&self, patterns: &[String]) -> bool {
        let fits = |text: &str| patterns.iter().any(|pattern| Glob::of_bytes(pattern).fits(text));
        [&self.id, &self.name, &self.bus].into_iter().any(|text| !text.is_empty() && fits(text))
    }
}

/// The requested picture.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub size: Size,
    pub format: PictureFormat,
    /// Quality of a JPEG encoded here, 1 to 100; the camera's own JPEGs are not re-encoded.
    pub quality: u8,
    /// Frames to skip first, so that exposure and colours settle.
    pub warmup: u32,
    /// The largest accepted picture, in bytes.
    pub max_bytes: usize,
}

/// One frame from the camera.
pub struct Raw<'a> {
    pub pixels: Pixels,
    pub size: Size,
    /// Bytes from one line to the next, of the first plane.
    pub stride: usize,
    /// Whether brightness is 0 to 255; video has 16 to 235.
    pub full_range: bool,
    pub bytes: &'a [u8],
}

/// A finished picture.
#[derive(Debug)]
pub struct Picture {
    pub bytes: Vec<u8>,
    pub format: PictureFormat,
    pub size: Size,
    /// The camera's own JPEG, unchanged.
    pub passed_through: bool,
}

/// A picture with its origin.
#[derive(Debug)]
pub struct Shot {
    pub picture: Picture,
    /// The code of the format that the camera delivered.
    pub code: String,
    /// Frames skipped; `None` when a program skips them itself.
    pub warmup: Option<u32>,
}

/// Encodes a frame. [`CameraError::Torn`] requests the next frame.
pub type Encode<'a> = &'a mut dyn FnMut(&Raw<'_>) -> Result<Picture, CameraError>;

/// The time limit and the cancellation of a call.
pub struct Until {
    pub deadline: Instant,
    pub stop: StopSignal,
}

/// Longest single wait, so that a cancellation is noticed.
const SLICE: Duration = Duration::from_millis(100);

impl Until {
    /// The rest of `patience` since `since`, as one wait of limited length; call it again after that. Never zero.
    ///
    /// # Errors
    /// [`CameraError::Cancelled`]; [`CameraError::NoFrame`] when `patience` or the time limit is over.
    pub fn slice(&self, since: Instant, patience: Duration) -> Result<Duration, CameraError> {
        self.stop.check().map_err(|_| CameraError::Cancelled)?;
        let now = Instant::now();
        let left = (since + patience).min(self.deadline).saturating_duration_since(now);
        if left.is_zero() {
            return Err(CameraError::NoFrame { waited: now - since });
        }
        // poll(2) counts in milliseconds.
        Ok(left.min(SLICE).max(Duration::from_millis(1)))
    }
}

/// The process that has a camera open.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    pub pid: u32,
    /// Its name (`comm`).
    pub name: String,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CameraError {
    /// It does not exist (any more).
    Absent,
    /// This user may not open it.
    Denied,
    /// In use by another process, which is named where the backend knows it.
    Busy(Option<Holder>),
    /// No frame came in this time.
    NoFrame { waited: Duration },
    /// It was disconnected during use.
    Unplugged,
    /// Every frame was incomplete.
    Torn(String),
    /// It has no readable format.
    Unfit(String),
    /// The picture exceeds the size limit.
    TooLarge { limit: usize },
    /// The caller is gone.
    Cancelled,
    /// The driver's or program's error.
    Failed(String),
}

/// A kind of camera.
pub trait CameraPort: Send + Sync {
    fn backend(&self) -> Backend;

    /// Lists the cameras. One that cannot be queried is skipped.
    ///
    /// # Errors
    /// When no camera can be listed at all.
    fn list(&self, until: &Until) -> Result<Vec<Camera>, CameraError>;

    /// The camera with this id or name. Ports override it where that is cheaper than the whole list.
    ///
    /// # Errors
    /// As [`CameraPort::list`].
    fn find(&self, named: &str, until: &Until) -> Result<Option<Camera>, CameraError> {
        Ok(self.list(until)?.into_iter().find(|camera| camera.id == named || camera.name == named))
    }

    /// Takes one picture: opens the camera, and has closed it when this returns.
    ///
    /// # Errors
    /// See [`CameraError`].
    fn take(&self, camera: &Camera, wish: &Wish, until: &Until, encode: Encode<'_>) -> Result<Shot, CameraError>;
}
