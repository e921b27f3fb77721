//! The port: what every kind of camera can be asked, and how it says that it will not.
//!
//! Both questions may sleep, so they are asked where that holds nobody up (see [`super::Cameras`]).

use base::os::{blocking::Stop, glob::Glob};
use std::time::{Duration, Instant};

/// How a picture is written for callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Format {
    #[default]
    Jpeg,
    Png,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Jpeg, Self::Png];

    pub const fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }
    /// Of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }
}

/// How a camera writes its frames: those of V4L2's formats that this server can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// A JPEG each; perhaps without Huffman tables, perhaps with something behind its end.
    Mjpeg,
    Yuyv,
    Uyvy,
    Nv12,
    Rgb24,
    Bgr24,
    Grey,
}

impl Pixels {
    /// Codes of `linux/videodev2.h`. `JPEG` and `MJPG` differ in what drivers promise, not in how they are read here.
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

    /// That of a four-character code.
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
    /// Everything from `min` to `max` in such steps (never 0).
    Steps {
        min: Size,
        max: Size,
        step: Size,
    },
}

/// One format of a camera, with its sizes; none where the driver does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
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
    /// What callers name it by: `/dev/video0`, `csi:0`.
    pub id: String,
    /// What its driver calls it.
    pub name: String,
    pub driver: String,
    /// Where it is plugged in: the same after a restart, where the number may be another.
    pub bus: String,
    pub backend: Backend,
    pub modes: Vec<Mode>,
}

impl Camera {
    /// Whether one of the patterns, with `*` and `?`, names it: by what callers call it, its driver's name, or its place.
    pub fn is_among(&self, patterns: &[String]) -> bool {
        let fits = |text: &str| patterns.iter().any(|pattern| Glob::of_bytes(pattern).fits(text));
        [&self.id, &self.name, &self.bus].into_iter().any(|text| !text.is_empty() && fits(text))
    }
}

/// The picture that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub size: Size,
    pub format: Format,
    /// Of a JPEG that is made here, 1 to 100; one that the camera made keeps its own.
    pub quality: u8,
    /// Frames that are let go first, so that exposure and colours have settled.
    pub warmup: u32,
    /// The largest picture that is of use, in bytes.
    pub max_bytes: usize,
}

/// One frame as it came.
pub struct Raw<'a> {
    pub pixels: Pixels,
    pub size: Size,
    /// Bytes from one line to the next, of the first plane.
    pub stride: usize,
    /// Whether brightness goes from 0 to 255; video has 16 to 235.
    pub full_range: bool,
    pub bytes: &'a [u8],
}

/// A picture ready for callers.
#[derive(Debug)]
pub struct Picture {
    pub bytes: Vec<u8>,
    pub format: Format,
    pub size: Size,
    /// The camera's own JPEG, not decoded in between.
    pub passed_through: bool,
}

/// A picture and how it came about.
#[derive(Debug)]
pub struct Shot {
    pub picture: Picture,
    /// The code of the format that the camera gave.
    pub code: String,
    /// Frames that were let go; `None` where a program counts them itself.
    pub warmup: Option<u32>,
}

/// Makes a picture of a frame. [`Fault::Torn`] asks for the next frame.
pub type Encode<'a> = &'a mut dyn FnMut(&Raw<'_>) -> Result<Picture, Fault>;

/// How long there is, and whether anybody waits.
pub struct Until {
    pub deadline: Instant,
    pub stop: Stop,
}

/// A wait is cut into pieces of this length at most, to notice that nobody waits any more.
const SLICE: Duration = Duration::from_millis(100);

impl Until {
    /// What is left of `patience` since `since`, in one piece: to wait for, then to ask again. Never zero.
    ///
    /// # Errors
    /// [`Fault::Cancelled`]; [`Fault::NoFrame`] when patience or time are at their end.
    pub fn slice(&self, since: Instant, patience: Duration) -> Result<Duration, Fault> {
        self.stop.check().map_err(|_| Fault::Cancelled)?;
        let now = Instant::now();
        let left = (since + patience).min(self.deadline).saturating_duration_since(now);
        if left.is_zero() {
            return Err(Fault::NoFrame { waited: now - since });
        }
        // poll(2) counts in milliseconds.
        Ok(left.min(SLICE).max(Duration::from_millis(1)))
    }
}

/// Who has a camera open.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    pub pid: u32,
    /// Its name (`comm`).
    pub name: String,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not there (any more).
    Absent,
    /// This user may not open it.
    Denied,
    /// Somebody else uses it; who, where the backend knows.
    Busy(Option<Holder>),
    /// Nothing came for so long.
    NoFrame { waited: Duration },
    /// It went away while it was used.
    Unplugged,
    /// Every frame came incomplete.
    Torn(String),
    /// It has no format that can be read here.
    Unfit(String),
    /// The picture has more bytes than are of use.
    TooLarge { limit: usize },
    /// Nobody waits any more.
    Cancelled,
    /// The driver or program says this.
    Failed(String),
}

/// A kind of camera.
pub trait Port: Send + Sync {
    fn backend(&self) -> Backend;

    /// Those there are. One that cannot be looked at is left out.
    ///
    /// # Errors
    /// When there is no looking at all.
    fn list(&self, until: &Until) -> Result<Vec<Camera>, Fault>;

    /// The one called `named`, by id or name. Where a look at it alone costs less than the whole list, ports do that.
    ///
    /// # Errors
    /// As [`Port::list`].
    fn find(&self, named: &str, until: &Until) -> Result<Option<Camera>, Fault> {
        Ok(self.list(until)?.into_iter().find(|camera| camera.id == named || camera.name == named))
    }

    /// One picture: opens the camera, takes what it needs, and has let go of it when this returns.
    ///
    /// # Errors
    /// See [`Fault`].
    fn take(&self, camera: &Camera, wish: &Wish, until: &Until, encode: Encode<'_>) -> Result<Shot, Fault>;
}
