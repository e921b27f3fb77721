//! Cameras on the ribbon cable, through `rpicam-still`: their sensors deliver raw values, which libcamera converts with
//! the tuning of each sensor.
//!
//! The program is the leader of its own process group, which has ended when this returns. Its options and its listing
//! are those of rpicam-apps' documentation. Not tested with a sensor yet (docs/hardware.md).

use super::{
    port::{
        Backend, Camera, CameraError, CameraPort, Encode, Picture, PictureFormat, Pixels, Raw, Shot, Size, Until, Wish,
    },
    rpicam_list,
};
use base::os::Root;
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
    time::Timespec,
};
use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The first is Raspberry Pi OS' name since 2024, the second the older one. Absolute paths, so that `PATH` does not
/// matter.
const PLACES: [&str; 2] = ["usr/bin/rpicam-still", "usr/bin/libcamera-still"];
/// Time limit of a picture: libcamera takes two seconds to start on a Zero 2 W, plus long exposures.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest listing, in bytes: a camera has a dozen modes of some 80.
const LONGEST_LIST: usize = 64 * 1024;
/// Bytes kept of its error output.
const LONGEST_COMPLAINT: usize = 8 * 1024;
/// It takes a settling time, not a number of frames; it runs at thirty frames a second.
const FRAME_MS: u32 = 34;
/// Exposure and white balance need about half a second at any frame rate.
const SETTLE_MS: u32 = 500;

/// The program, where it is installed.
pub struct Rpicam {
    program: PathBuf,
    /// Its listing: it takes a second, and cameras are only connected with the power off.
    listed: OnceLock<Vec<Camera>>,
}

impl Rpicam {
    pub fn find(root: &Root) -> Option<Self> {
        PLACES.iter().find(|place| root.has(place)).map(|place| Self::at(root.path(place)))
    }

    /// Uses a program with the same options.
    pub fn at(program: PathBuf) -> Self {
        Self { program, listed: OnceLock::new() }
    }

    /// Runs it to its end. Returns at most `limit` bytes of output.
    fn run(&self, args: &[String], limit: usize, until: &Until) -> Result<Vec<u8>, CameraError> {
        let failed =
            |error: io::Error| CameraError::Failed(format!("{} cannot be run: {error}", self.program.display()));
        let child = Command::new(&self.program)
            .args(args)
            .env_clear()
            // Its log goes to stderr; only errors are useful here.
            .env("LIBCAMERA_LOG_LEVELS", "*:ERROR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut running = Running::new(child).map_err(failed)?;
        let (output, complaint) = running.finish(limit, until)?;
        let status = running.end().map_err(failed)?;
        if status.success() {
            return Ok(output);
        }
        Err(judged(&String::from_utf8_lossy(&complaint), &status.to_string()))
    }
}

/// The fault of a failed run: libcamera allows one process per camera.
fn judged(complaint: &str, status: &str) -> CameraError {
    let mut said = complaint.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let has = |words: &[&str]| words.iter().any(|words| complaint.to_ascii_lowercase().contains(words));
    if has(&["in use by another process", "device or resource busy", "failed to acquire camera"]) {
        CameraError::Busy(None)
    } else if has(&["no cameras available", "selected camera is not available"]) {
        CameraError::Absent
    } else {
        let last: String = said.next().unwrap_or(status).chars().take(200).collect();
        CameraError::Failed(last)
    }
}

impl CameraPort for Rpicam {
    fn backend(&self) -> Backend {
        Backend::Rpicam
    }

    fn list(&self, until: &Until) -> Result<Vec<Camera>, CameraError> {
        if let Some(listed) = self.listed.get() {
            return Ok(listed.clone());
        }
        match self.run(&["--list-cameras".into()], LONGEST_LIST, until) {
            Ok(text) => {
                let cameras = rpicam_list::parse(&String::from_utf8_lossy(&text));
                // An empty list is not cached: a camera may not be ready yet.
                if !cameras.is_empty() {
                    // Another thread may have set it; its list is as current.
                    let _ = self.listed.set(cameras.clone());
                }
                Ok(cameras)
            }
            // Older releases fail when there is nothing to list.
            Err(CameraError::Absent) => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }

    fn take(&self, camera: &Camera, wish: &Wish, until: &Until, encode: Encode<'_>) -> Result<Shot, CameraError> {
        let number = camera.id.strip_prefix("csi:").ok_or(CameraError::Absent)?;
        let bytes = self.run(&arguments(number, wish), wish.max_bytes, until)?;
        let (picture, code) = match wish.format {
            PictureFormat::Jpeg => {
                let raw = Raw { pixels: Pixels::Mjpeg, size: wish.size, stride: 0, full_range: true, bytes: &bytes };
                (encode(&raw)?, "JPEG")
            }
            // Made by the program from the sensor's data, without a JPEG in between.
            PictureFormat::Png => {
                let size = png_size(&bytes).ok_or_else(|| CameraError::Torn("what it wrote is no PNG".into()))?;
                (Picture { bytes, format: PictureFormat::Png, size, passed_through: true }, "PNG")
            }
        };
        Ok(Shot { picture, code: code.into(), warmup: None })
    }
}

fn arguments(number: &str, wish: &Wish) -> Vec<String> {
    let settle = (wish.warmup * FRAME_MS).max(SETTLE_MS);
    let encoding = if wish.format == PictureFormat::Png { "png" } else { "jpg" };
    let pairs = [
        ("--camera", number.to_owned()),
        ("--width", wish.size.width.to_string()),
        ("--height", wish.size.height.to_string()),
        ("--encoding", encoding.into()),
        ("--quality", wish.quality.to_string()),
        ("--timeout", settle.to_string()),
        ("--thumb", "none".into()),
        ("--verbose", "0".into()),
        ("--output", "-".into()),
    ];
    pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).chain(["--nopreview".to_owned()]).collect()
}

/// Width and height in the first chunk of a PNG (ISO/IEC 15948, 11.2.1).
fn png_size(bytes: &[u8]) -> Option<Size> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    Some(Size::new(number(0)?, number(4)?))
}

/// A started program and its process group, which is killed on drop.
struct Running {
    child: Child,
    /// Readable once the leader has ended. The leader is not reaped before its group has ended, so that its id cannot
    /// be reused.
    leader: OwnedFd,
    ended: bool,
}

impl Running {
    fn new(mut child: Child) -> io::Result<Self> {
        let leader = pid(&child).ok_or(io::ErrorKind::InvalidData.into());
        match leader.and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?)) {
            Ok(leader) => Ok(Self { child, leader, ended: false }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Reads both of its streams until it has ended.
    fn finish(&mut self, limit: usize, until: &Until) -> Result<(Vec<u8>, Vec<u8>), CameraError> {
        let since = Instant::now();
        let (mut stdout, mut stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let failed = |error: io::Error| CameraError::Failed(format!("its output cannot be read: {error}"));
        loop {
            let slice = until.slice(since, PATIENCE)?;
            let (out, err, gone) =
                self.ready(stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd), slice)?;
            if out && more(&mut stdout, &mut output, limit + 1).map_err(failed)? > limit {
                return Err(CameraError::TooLarge { limit });
            }
            if err {
                more(&mut stderr, &mut complaint, usize::MAX).map_err(failed)?;
                // The last lines give the reason.
                let excess = complaint.len().saturating_sub(LONGEST_COMPLAINT);
                complaint.drain(..excess);
            }
            // Other processes that hold the streams open are not waited for.
            if gone && !out && !err {
                return Ok((output, complaint));
            }
        }
    }

    /// Which of the streams can be read, and whether the leader has ended.
    fn ready(
        &self,
        stdout: Option<rustix::fd::BorrowedFd<'_>>,
        stderr: Option<rustix::fd::BorrowedFd<'_>>,
        slice: Duration,
    ) -> Result<(bool, bool, bool), CameraError> {
        // A stream that has ended is not polled; the leader's descriptor takes its place.
        let leader = self.leader.as_fd();
        let mut asked = [stdout.unwrap_or(leader), stderr.unwrap_or(leader), leader]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let wait = Timespec { tv_sec: slice.as_secs() as i64, tv_nsec: slice.subsec_nanos().into() };
        match poll(&mut asked, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(CameraError::Failed(error.to_string())),
        }
        let ready = |n: usize| !asked[n].revents().is_empty();
        Ok((stdout.is_some() && ready(0), stderr.is_some() && ready(1), ready(2)))
    }

    /// Ends the rest of the group, then reaps the leader.
    fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        if let Some(group) = pid(&self.child).filter(|_| !self.ended) {
            // On failure the group has ended already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.ended = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().cast_signed())
}

/// Reads available data, up to `limit` in total; drops the stream at its end. Returns the total.
fn more(stream: &mut Option<impl Read>, into: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
    let mut piece = [0; 16 * 1024];
    let Some(from) = stream else { return Ok(into.len()) };
    match from.read(&mut piece) {
        Ok(0) => *stream = None,
        Ok(n) => into.extend_from_slice(&piece[..n.min(limit.saturating_sub(into.len()))]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(into.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_apart_by_what_it_says() {
        let busy = "[0:01:02] ERROR Camera camera.cpp:1020 Pipeline handler in use by another process\nERROR: *** failed to acquire camera /base/x ***";
        assert_eq!(judged(busy, "1"), CameraError::Busy(None));
        assert_eq!(judged("ERROR: *** no cameras available ***\n", "255"), CameraError::Absent);
        assert_eq!(judged("\n  what now?  \n", "exit status: 1"), CameraError::Failed("what now?".into()));
        assert_eq!(judged("", "signal: 11"), CameraError::Failed("signal: 11".into()));
    }
}
