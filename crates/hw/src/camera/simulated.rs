//! The simulated cameras: they exist in memory, count their frames, and support fault injection.

use super::{
    card, jpeg,
    negotiate::choose,
    port::{
        Backend, Camera, CameraError, CameraFormat, CameraPort, Encode, Holder, Pixels, Raw, Shot, Size, Sizes, Until,
        Wish,
    },
};
use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A fault of a simulated camera.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CameraTrouble {
    /// That process has it open.
    Busy(Holder),
    /// It accepts everything and delivers no frame.
    NoFrames,
    /// Frames are cut short.
    Truncated,
    /// It is disconnected after this many frames.
    Unplugged { after: u32 },
}

/// The simulated board's cameras.
#[derive(Debug)]
pub struct SimulatedCameras {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    cameras: Vec<Camera>,
    trouble: BTreeMap<String, CameraTrouble>,
    /// Frames delivered so far.
    frames: u64,
    patience: Duration,
}

/// The sizes of an ordinary webcam.
const SIZES: [(u32, u32); 4] = [(320, 180), (640, 480), (1280, 720), (1920, 1080)];
/// The same as V4L2's.
const PATIENCE: Duration = Duration::from_secs(5);

impl Default for SimulatedCameras {
    /// Two cameras: one delivers raw pixels, the other also JPEG without Huffman tables.
    fn default() -> Self {
        let mode = |code: &str| CameraFormat {
            code: code.into(),
            sizes: SIZES.iter().map(|(width, height)| Sizes::One(Size::new(*width, *height))).collect(),
        };
        let camera = |id: &str, name: &str, bus: &str, codes: &[&str]| Camera {
            id: id.into(),
            name: name.into(),
            driver: "simulated".into(),
            bus: bus.into(),
            backend: Backend::Simulated,
            modes: codes.iter().map(|code| mode(code)).collect(),
        };
        let cameras = vec![
            camera("/dev/video0", "Simulated test card", "simulated-1", &["YUYV"]),
            camera("/dev/video2", "Simulated webcam", "simulated-2", &["YUYV", "MJPG"]),
        ];
        let state = State { cameras, trouble: BTreeMap::new(), frames: 0, patience: PATIENCE };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl SimulatedCameras {
    /// From now on the camera `id` has this fault.
    pub fn fail(&self, id: &str, trouble: CameraTrouble) {
        self.state().trouble.insert(id.to_owned(), trouble);
        self.changed.notify_all();
    }

    /// The camera `id` works again.
    pub fn heal(&self, id: &str) {
        self.state().trouble.remove(id);
        self.changed.notify_all();
    }

    /// Disconnects the camera `id` permanently.
    pub fn unplug(&self, id: &str) {
        self.state().cameras.retain(|camera| camera.id != id);
    }

    /// The connected cameras, by id and name.
    pub fn named(&self) -> Vec<(String, String)> {
        self.state().cameras.iter().map(|camera| (camera.id.clone(), camera.name.clone())).collect()
    }

    /// Sets the longest wait for a frame.
    pub fn set_patience(&self, patience: Duration) {
        self.state().patience = patience;
    }

    /// Frames delivered so far.
    pub fn frames(&self) -> u64 {
        self.state().frames
    }

    /// Every change is a single step, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next frame of `id`, after `given` frames: its number, and whether it is cut short.
    fn frame(&self, id: &str, given: u32, until: &Until) -> Result<(u64, bool), CameraError> {
        let since = Instant::now();
        let mut state = self.state();
        loop {
            let slice = until.slice(since, state.patience)?;
            match state.trouble.get(id) {
                Some(CameraTrouble::NoFrames) => {
                    state = self.changed.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(CameraTrouble::Unplugged { after }) if given >= *after => {
                    drop(state);
                    self.unplug(id);
                    return Err(CameraError::Unplugged);
                }
                trouble => {
                    let cut = trouble == Some(&CameraTrouble::Truncated);
                    state.frames += 1;
                    return Ok((state.frames, cut));
                }
            }
        }
    }
}

/// Limit of consecutive torn frames, the same as V4L2's.
const TORN: u32 = 8;

impl CameraPort for std::sync::Arc<SimulatedCameras> {
    fn backend(&self) -> Backend {
        Backend::Simulated
    }

    fn list(&self, _: &Until) -> Result<Vec<Camera>, CameraError> {
        Ok(self.state().cameras.clone())
    }

    fn take(&self, camera: &Camera, wish: &Wish, until: &Until, encode: Encode<'_>) -> Result<Shot, CameraError> {
        {
            let state = self.state();
            if !state.cameras.iter().any(|known| known.id == camera.id) {
                return Err(CameraError::Absent);
            }
            if let Some(CameraTrouble::Busy(holder)) = state.trouble.get(&camera.id) {
                return Err(CameraError::Busy(Some(holder.clone())));
            }
        }
        let choice = choose(&camera.modes, wish).ok_or_else(|| CameraError::Unfit("it gives nothing".into()))?;
        let (mut given, mut torn) = (0, 0);
        loop {
            let (number, cut) = self.frame(&camera.id, given, until)?;
            given += 1;
            if given <= wish.warmup {
                continue;
            }
            let mut bytes = card::yuyv(choice.size, number);
            let stride = choice.size.width.next_multiple_of(2) as usize * 2;
            if choice.pixels == Pixels::Mjpeg {
                bytes = compressed(&bytes, choice.size, stride)?;
            }
            if cut {
                bytes.truncate(bytes.len() / 2);
            }
            let raw = Raw { pixels: choice.pixels, size: choice.size, stride, full_range: false, bytes: &bytes };
            match encode(&raw) {
                Err(CameraError::Torn(_)) if torn + 1 < TORN => torn += 1,
                Err(fault) => return Err(fault),
                Ok(picture) => return Ok(Shot { picture, code: choice.code.to_owned(), warmup: Some(wish.warmup) }),
            }
        }
    }
}

/// Like a webcam's: without Huffman tables, in a longer buffer.
fn compressed(yuyv: &[u8], size: Size, stride: usize) -> Result<Vec<u8>, CameraError> {
    let raw = Raw { pixels: Pixels::Yuyv, size, stride, full_range: false, bytes: yuyv };
    let wish = Wish { size, format: super::port::PictureFormat::Jpeg, quality: 80, warmup: 0, max_bytes: usize::MAX };
    let mut frame = jpeg::without_tables(&super::encode::encode(&raw, &wish)?.bytes);
    frame.resize(frame.len().next_multiple_of(4096), 0);
    Ok(frame)
}
