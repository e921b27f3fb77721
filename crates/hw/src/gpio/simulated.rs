//! The simulated lines: 28 in memory, with the kernel's rules. External signals come only from holders of the board,
//! such as tests, never from `raspi-mcp serve`.

use crate::line::{Edge, Function, GpioPort, Level, Line, LineError, LineInfo, Pull, Take};
use base::os::clock::monotonic;
use contract::values::Pin;
use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{self, Poll, Waker},
};

/// Edges queued per holder, as in the kernel; newer ones are dropped.
const KEPT_EDGES: usize = 16;

/// Functions at power-on other than input: the bus and the serial port that Raspberry Pi OS has on the header. They
/// last until the pin is requested.
const FUNCTIONS: [(u8, &str); 4] = [(2, "SDA1"), (3, "SCL1"), (14, "TXD1"), (15, "RXD1")];

/// The lines of a simulated board. Clones are handles to the same lines.
#[derive(Clone, Debug, Default)]
pub struct SimulatedGpio(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Lines that differ from their state at power-on.
    lines: BTreeMap<Pin, Wire>,
    failing: Option<String>,
    /// Whether pins start without a function.
    unused_at_power_on: bool,
    /// Counts requests, so that a late close of an earlier holder does not free the line of a newer one.
    taken: u64,
}

#[derive(Debug, Default)]
struct Wire {
    /// The external level.
    outside: Option<Level>,
    pull: Option<Pull>,
    holder: Option<Holder>,
    /// It was requested once, and is no longer a bus or serial port.
    taken: bool,
    /// The level its last holder left: an output stays one, as with `persist_gpio_outputs` of Raspberry Pi's kernel.
    left: Option<Level>,
}

#[derive(Debug)]
struct Holder {
    number: u64,
    consumer: String,
    /// `None` is an input.
    drives: Option<Level>,
    edges: VecDeque<Edge>,
    waker: Option<Waker>,
}

impl Wire {
    fn drives(&self) -> Option<Level> {
        self.holder.as_ref().map_or(self.left, |holder| holder.drives)
    }

    fn level(&self, pin: Pin) -> Level {
        let pulled = match self.pull {
            Some(Pull::Up) => Level::High,
            Some(Pull::Down) => Level::Low,
            // Without a pull an open line keeps its last level; here it is the one at power-on.
            Some(Pull::None) | None => Level::of(pin.pull_at_power_on() == Pull::Up),
        };
        self.drives().or(self.outside).unwrap_or(pulled)
    }
}

impl State {
    fn function(&mut self, pin: Pin) -> Function {
        let wire = self.lines.entry(pin).or_default();
        let own = FUNCTIONS.iter().find(|(number, _)| *number == pin.bcm() && !wire.taken);
        match own {
            Some((_, name)) => Function::Alt((*name).into()),
            None if wire.drives().is_some() => Function::Output,
            None if self.unused_at_power_on && !wire.taken => Function::NoFunction,
            None => Function::Input,
        }
    }
}

impl SimulatedGpio {
    /// Drives a line externally; `None` releases it. An output wins over it.
    pub fn drive(&self, pin: Pin, level: Option<Level>) {
        self.alter(pin, |wire| wire.outside = level);
    }

    /// The level on the line, as a meter would show.
    pub fn level(&self, pin: Pin) -> Level {
        self.state().lines.entry(pin).or_default().level(pin)
    }

    /// The consumer label of the line's holder.
    pub fn consumer(&self, pin: Pin) -> Option<String> {
        let state = self.state();
        state.lines.get(&pin)?.holder.as_ref().map(|holder| holder.consumer.clone())
    }

    /// Requests the line like another process. Dropping the result releases it.
    ///
    /// # Errors
    /// [`LineError::Busy`].
    pub fn hold(&self, pin: Pin, consumer: &str) -> Result<Box<dyn Line>, LineError> {
        self.take(pin, Take::Input { pull: None }, consumer)
    }

    /// Kills the holder of a line: the kernel frees the line, and nothing else is notified.
    pub fn kill_holder(&self, pin: Pin) {
        self.alter(pin, |wire| wire.left = wire.holder.take().and_then(|holder| holder.drives));
    }

    /// From now on every access fails with `why`; `None` clears the fault.
    pub fn fail(&self, why: Option<&str>) {
        self.state().failing = why.map(str::to_owned);
    }

    /// Pins that nobody has requested yet have no function from now on, as on a Raspberry Pi 5, except those of a bus or
    /// serial port.
    pub fn like_a_pi_5(&self) {
        self.state().unused_at_power_on = true;
    }

    /// Number of held lines.
    pub fn held(&self) -> usize {
        self.state().lines.values().filter(|wire| wire.holder.is_some()).count()
    }

    /// Changes a line, and reports the edge to an input.
    fn alter<T>(&self, pin: Pin, change: impl FnOnce(&mut Wire) -> T) -> T {
        let mut state = self.state();
        let wire = state.lines.entry(pin).or_default();
        let before = wire.level(pin);
        let changed = change(wire);
        let to = wire.level(pin);
        if to != before
            && let Some(holder) = &mut wire.holder
            && holder.drives.is_none()
        {
            if holder.edges.len() < KEPT_EDGES {
                holder.edges.push_back(Edge { to, at: monotonic() });
            }
            if let Some(waker) = holder.waker.take() {
                waker.wake();
            }
        }
        changed
    }

    fn working(&self) -> Result<MutexGuard<'_, State>, LineError> {
        let state = self.state();
        match &state.failing {
            Some(why) => Err(LineError::Io(io::Error::other(why.clone()))),
            None => Ok(state),
        }
    }

    /// Every change is completed or not begun, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GpioPort for SimulatedGpio {
    fn name(&self) -> String {
        "simulated lines".into()
    }

    fn look(&self, pin: Pin) -> Result<LineInfo, LineError> {
        let mut state = self.working()?;
        let function = state.function(pin);
        let wire = state.lines.entry(pin).or_default();
        let consumer = wire.holder.as_ref().map(|holder| holder.consumer.clone());
        let level = (function != Function::NoFunction).then(|| wire.level(pin));
        Ok(LineInfo { function, level, held: consumer.is_some(), consumer })
    }

    fn take(&self, pin: Pin, how: Take, consumer: &str) -> Result<Box<dyn Line>, LineError> {
        let mut state = self.working()?;
        state.taken += 1;
        let number = state.taken;
        let wire = state.lines.entry(pin).or_default();
        if let Some(holder) = &wire.holder {
            return Err(LineError::Busy { consumer: Some(holder.consumer.clone()) });
        }
        let drives = match how {
            Take::Input { pull } => {
                wire.pull = pull.or(wire.pull);
                wire.left = None;
                None
            }
            Take::Output { level } => Some(level),
        };
        wire.taken = true;
        let consumer = consumer.chars().take(31).collect();
        wire.holder = Some(Holder { number, consumer, drives, edges: VecDeque::new(), waker: None });
        Ok(Box::new(SimulatedLine { board: self.clone(), pin, number }))
    }

    fn peek(&self, pin: Pin) -> Result<Level, LineError> {
        let mut state = self.working()?;
        let unused = state.function(pin) == Function::NoFunction;
        let wire = state.lines.entry(pin).or_default();
        match &wire.holder {
            None if unused => Err(LineError::no_level()),
            Some(holder) => Err(LineError::Busy { consumer: Some(holder.consumer.clone()) }),
            None => Ok(wire.level(pin)),
        }
    }
}

struct SimulatedLine {
    board: SimulatedGpio,
    pin: Pin,
    number: u64,
}

impl SimulatedLine {
    fn with<T>(&self, ask: impl FnOnce(&mut Holder) -> Result<T, LineError>) -> Result<T, LineError> {
        let mut state = self.board.working()?;
        let holder = state.lines.get_mut(&self.pin).and_then(|wire| wire.holder.as_mut());
        ask(holder.filter(|holder| holder.number == self.number).ok_or(LineError::Closed)?)
    }
}

impl Line for SimulatedLine {
    fn level(&self) -> Result<Level, LineError> {
        self.with(|_| Ok(()))?;
        Ok(self.board.level(self.pin))
    }

    fn set(&self, level: Level) -> Result<(), LineError> {
        self.with(|holder| match &mut holder.drives {
            Some(drives) => {
                *drives = level;
                Ok(())
            }
            None => Err(LineError::Unsupported("an input cannot be driven".into())),
        })
    }

    fn poll_edge(&self, cx: &mut task::Context<'_>) -> Poll<Result<Edge, LineError>> {
        let next = self.with(|holder| {
            let next = holder.edges.pop_front();
            holder.waker = Some(cx.waker().clone());
            Ok(next)
        });
        match next {
            Ok(Some(edge)) => Poll::Ready(Ok(edge)),
            Ok(None) => Poll::Pending,
            Err(fault) => Poll::Ready(Err(fault)),
        }
    }

    fn forget_edges(&self) {
        let _ = self.with(|holder| {
            holder.edges.clear();
            Ok(())
        });
    }

    fn close(&self) {
        let mut state = self.board.state();
        let Some(wire) = state.lines.get_mut(&self.pin) else { return };
        if wire.holder.as_ref().is_none_or(|holder| holder.number != self.number) {
            return;
        }
        let Some(holder) = wire.holder.take() else { return };
        wire.left = holder.drives;
        if let Some(waker) = holder.waker {
            waker.wake();
        }
    }
}

impl Drop for SimulatedLine {
    fn drop(&mut self) {
        self.close();
    }
}
