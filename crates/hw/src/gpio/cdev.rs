//! The lines of any Linux board: its GPIO character device, through gpio-cdev.
//!
//! gpio-cdev uses version 1 of the kernel's interface (Documentation/userspace-api/gpio/chardev_v1.rst). Inputs are
//! always requested with events, because version 1 cannot add them to a held line; the kernel keeps up to 16 and drops
//! newer ones.

use crate::line::{Edge, Function, GpioPort, Level, Line, LineError, LineInfo, Pull, Take};
use base::os::readable;
use contract::values::Pin;
use gpio_cdev::{Chip, EventRequestFlags, EventType, LineDirection, LineEventHandle, LineHandle, LineRequestFlags};
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};
use std::{
    error::Error,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    task::{self, Poll, Waker},
    time::Duration,
};
use tokio::io::unix::AsyncFd;

/// `GPIOHANDLE_REQUEST_BIAS_*` of `include/uapi/linux/gpio.h` (Linux 5.5), which the crate's type lacks.
const BIAS_PULL_UP: u32 = 1 << 5;
const BIAS_PULL_DOWN: u32 = 1 << 6;
const BIAS_DISABLE: u32 = 1 << 7;

/// A GPIO chip whose line numbers are those of the header.
pub struct Cdev {
    path: PathBuf,
    label: String,
    chip: Mutex<Chip>,
}

impl Cdev {
    /// # Errors
    /// When the chip cannot be opened: that requires the group `gpio`, or one that the machine's rules name.
    pub fn open(path: &Path) -> Result<Self, LineError> {
        let chip = Chip::new(path).map_err(fault)?;
        Ok(Self { path: path.to_owned(), label: chip.label().to_owned(), chip: Mutex::new(chip) })
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    fn line(&self, pin: Pin) -> Result<gpio_cdev::Line, LineError> {
        let mut chip = self.chip.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = chip.num_lines();
        if u32::from(pin.bcm()) >= lines {
            let why = format!("{} has {lines} lines, and none with number {}", self.path.display(), pin.bcm());
            return Err(LineError::NoLine(why));
        }
        chip.get_line(pin.bcm().into()).map_err(fault)
    }

    /// Completes the kernel's "busy" with the line's consumer.
    fn refused(line: &gpio_cdev::Line, error: gpio_cdev::Error) -> LineError {
        match fault(error) {
            LineError::Io(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                let info = line.info().ok();
                LineError::Busy { consumer: info.and_then(|info| info.consumer().map(str::to_owned)) }
            }
            other => other,
        }
    }
}

impl GpioPort for Cdev {
    fn name(&self) -> String {
        format!("{} ({})", self.path.display(), self.label)
    }

    fn look(&self, pin: Pin) -> Result<LineInfo, LineError> {
        let info = self.line(pin)?.info().map_err(fault)?;
        let function = match info.direction() {
            LineDirection::In => Function::Input,
            LineDirection::Out => Function::Output,
        };
        let consumer = info.consumer().map(str::to_owned);
        Ok(LineInfo { function, level: None, held: info.is_used(), consumer })
    }

    fn take(&self, pin: Pin, how: Take, consumer: &str) -> Result<Box<dyn Line>, LineError> {
        let line = self.line(pin)?;
        match how {
            Take::Output { level } => {
                let handle = line
                    .request(LineRequestFlags::OUTPUT, u8::from(level.is_high()), consumer)
                    .map_err(|error| Self::refused(&line, error))?;
                Ok(Box::new(Output(Mutex::new(Some(handle)))))
            }
            Take::Input { pull } => {
                let bias = match pull {
                    None => 0,
                    Some(Pull::None) => BIAS_DISABLE,
                    Some(Pull::Up) => BIAS_PULL_UP,
                    Some(Pull::Down) => BIAS_PULL_DOWN,
                };
                let flags = LineRequestFlags::INPUT | LineRequestFlags::from_bits_retain(bias);
                let handle = line
                    .events(flags, EventRequestFlags::BOTH_EDGES, consumer)
                    .map_err(|error| Self::refused(&line, error))?;
                let file = handle.file();
                fcntl_setfl(file, fcntl_getfl(file).map_err(io::Error::from)? | OFlags::NONBLOCK)
                    .map_err(io::Error::from)?;
                let held = Held { handle, awaited: None, waker: None };
                Ok(Box::new(Input(Mutex::new(Some(held)))))
            }
        }
    }

    fn peek(&self, pin: Pin) -> Result<Level, LineError> {
        let line = self.line(pin)?;
        // No direction flag: it stays as it is.
        let handle = line
            .request(LineRequestFlags::empty(), 0, "raspi-mcp look")
            .map_err(|error| Self::refused(&line, error))?;
        handle.get_value().map(|value| Level::of(value != 0)).map_err(fault)
    }
}

struct Output(Mutex<Option<LineHandle>>);

impl Output {
    fn with<T>(&self, ask: impl FnOnce(&LineHandle) -> Result<T, gpio_cdev::Error>) -> Result<T, LineError> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ask(held.as_ref().ok_or(LineError::Closed)?).map_err(fault)
    }
}

impl Line for Output {
    fn level(&self) -> Result<Level, LineError> {
        self.with(|handle| handle.get_value().map(|value| Level::of(value != 0)))
    }
    fn set(&self, level: Level) -> Result<(), LineError> {
        self.with(|handle| handle.set_value(u8::from(level.is_high())))
    }
    fn poll_edge(&self, _: &mut task::Context<'_>) -> Poll<Result<Edge, LineError>> {
        Poll::Ready(Err(LineError::Unsupported("an output has no edges but those its holder makes".into())))
    }
    fn forget_edges(&self) {}
    fn close(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

struct Input(Mutex<Option<Held>>);

struct Held {
    handle: LineEventHandle,
    /// Registered with the runtime only while a listener waits, so that an unused line causes no wake-ups.
    awaited: Option<AsyncFd<OwnedFd>>,
    /// The waiting task, woken when the line is closed.
    waker: Option<Waker>,
}

impl Held {
    fn next(&mut self) -> Result<Option<Edge>, LineError> {
        match self.handle.get_event() {
            Ok(event) => {
                let to = Level::of(matches!(event.event_type(), EventType::RisingEdge));
                Ok(Some(Edge { to, at: Duration::from_nanos(event.timestamp()) }))
            }
            Err(error) => match fault(error) {
                LineError::Io(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                other => Err(other),
            },
        }
    }
}

impl Input {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line for Input {
    fn level(&self) -> Result<Level, LineError> {
        let held = self.held();
        let value = held.as_ref().ok_or(LineError::Closed)?.handle.get_value().map_err(fault)?;
        Ok(Level::of(value != 0))
    }

    fn set(&self, _: Level) -> Result<(), LineError> {
        Err(LineError::Unsupported("an input cannot be driven".into()))
    }

    fn poll_edge(&self, cx: &mut task::Context<'_>) -> Poll<Result<Edge, LineError>> {
        let mut guard = self.held();
        let Some(held) = guard.as_mut() else { return Poll::Ready(Err(LineError::Closed)) };
        loop {
            if let Some(edge) = held.next()? {
                return Poll::Ready(Ok(edge));
            }
            held.waker = Some(cx.waker().clone());
            if held.awaited.is_none() {
                held.awaited = Some(readable::listen(held.handle.file().try_clone()?.into())?);
            }
            let Some(awaited) = &held.awaited else { continue };
            match awaited.poll_read_ready(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                // Spurious readiness: clear it and wait again.
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
            }
            if let Some(edge) = held.next()? {
                return Poll::Ready(Ok(edge));
            }
        }
    }

    fn forget_edges(&self) {
        if let Some(held) = self.held().as_mut() {
            while let Ok(Some(_)) = held.next() {}
            held.awaited = None;
        }
    }

    fn close(&self) {
        let held = self.held().take();
        if let Some(Held { waker: Some(waker), .. }) = held {
            waker.wake();
        }
    }
}

/// The crate exposes the errno only through [`Error::source`].
fn fault(error: gpio_cdev::Error) -> LineError {
    let source = error.source();
    let number = source.and_then(|source| {
        let errno = source.downcast_ref::<nix::errno::Errno>().map(|errno| *errno as i32);
        errno.or_else(|| source.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error))
    });
    LineError::Io(number.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error))
}
