//! Approval, or a halt, by a button whose line the agent holds, with an LED that shows what a press would do.
//!
//! The kernel gives a line to one holder, so no other process can read or drive either while the agent runs. The LED:
//! off, no ask is pending; slow blinking, one ask waits for the button; fast blinking, the button cannot answer. During
//! a hold: on, it is being timed; off, letting go approves; fast blinking, letting go does nothing and holding on halts;
//! on again, it has halted ([`state`]).

mod reserved;

pub use reserved::answerable;
mod state;

use self::state::{Hand, Signal, Waiting};
use super::{
    asks::Asks,
    halt::{HaltActor, Latch},
    log::OpLog,
    peer::{Peer, PeerKind},
    settings::AgentSettings,
};
use base::{error::ToolError, os::clock::monotonic};
use contract::values::Pin;
use futures::FutureExt;
use hw::line::{Edge, GpioPort, Level, Line, LineError, Pull, Take};
use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{sync::Notify, task::AbortHandle};

/// Consumer label that the kernel shows to others who request the line.
const BUTTON: &str = "raspi-mcp approval button";
const LED: &str = "raspi-mcp approval LED";

/// The button's and the LED's lines, held open.
pub(super) struct Button {
    pin: Pin,
    /// The level while the button is pressed.
    active: Level,
    line: Arc<dyn Line>,
    led: Option<Led>,
}

struct Led {
    line: Arc<dyn Line>,
    signal: Signal,
    /// When the current signal began.
    began: Duration,
}

impl Button {
    /// Requests the lines that the configuration names. A line that cannot be had is recorded as a fault; the agent
    /// starts anyway.
    pub(super) fn take(
        settings: &AgentSettings,
        port: Option<Result<Arc<dyn GpioPort>, LineError>>,
        faults: &mut Vec<String>,
    ) -> Option<Self> {
        let (pin, active) = (settings.approval.button()?, settings.approval.button_active);
        let port = match port? {
            Ok(port) => port,
            Err(fault) => {
                faults.push(format!("no approval button: {fault}"));
                return None;
            }
        };
        let pull = if active.is_high() { Pull::Down } else { Pull::Up };
        let line = match port.take(pin, Take::Input { pull: Some(pull) }, BUTTON) {
            Ok(line) => line.into(),
            Err(fault) => {
                faults.push(format!("no approval button: GPIO {} of {}: {fault}", pin.bcm(), port.name()));
                return None;
            }
        };
        let led = settings.approval.led().and_then(|pin| {
            let taken = port.take(pin, Take::Output { level: Level::Low }, LED).inspect_err(|fault| {
                faults.push(format!("no approval LED: GPIO {} of {}: {fault}", pin.bcm(), port.name()));
            });
            Some(Led { line: taken.ok()?.into(), signal: Signal::Off, began: Duration::ZERO })
        });
        Some(Self { pin, active, line, led })
    }

    /// Watches the button as long as the agent lives.
    pub(super) fn watch(self, latch: &Arc<Latch>) -> Grip {
        let trouble = Arc::default();
        let lines = [Some(Arc::clone(&self.line)), self.led.as_ref().map(|led| Arc::clone(&led.line))];
        let task = base::task::spawn(watch(Arc::downgrade(latch), latch.asks.changed(), self, Arc::clone(&trouble)));
        Grip { task: task.abort_handle(), lines, trouble }
    }

    fn pressed(&self) -> Result<bool, LineError> {
        Ok(self.line.level()? == self.active)
    }

    /// Reads all queued edges.
    fn drain(&self, hand: &mut Hand, now: Duration) -> Result<(), LineError> {
        while let Some(edge) = poll_fn(|cx| self.line.poll_edge(cx)).now_or_never() {
            self.felt(hand, edge?, now);
        }
        Ok(())
    }

    fn felt(&self, hand: &mut Hand, edge: Edge, now: Duration) {
        // Before Linux 5.7 edges carry wall-clock time, which is later than the boot clock.
        hand.edge(edge.to == self.active, edge.at.min(now));
    }
}

impl Led {
    /// Shows `signal` on the LED. Returns the time until its next change.
    fn say(&mut self, signal: Signal, now: Duration) -> Result<Option<Duration>, LineError> {
        if signal != self.signal {
            (self.signal, self.began) = (signal, now);
        }
        let Some(half) = signal.half() else {
            self.line.set(Level::of(signal == Signal::On))?;
            return Ok(None);
        };
        let passed = now.saturating_sub(self.began).as_millis() / half.as_millis();
        self.line.set(Level::of(passed.is_multiple_of(2)))?;
        Ok(Some(self.began + half * u32::try_from(passed + 1).unwrap_or(u32::MAX)))
    }
}

/// A watched button. Dropping it releases the lines at once, with the LED off.
pub(super) struct Grip {
    task: AbortHandle,
    lines: [Option<Arc<dyn Line>>; 2],
    trouble: Arc<Mutex<Option<String>>>,
}

impl Grip {
    /// Why watching stopped.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        self.task.abort();
        let [button, led] = &self.lines;
        if let Some(led) = led {
            // An error is ignored: the next holder of the line will see it too.
            let _ = led.set(Level::Low);
            led.close();
        }
        if let Some(button) = button {
            button.close();
        }
    }
}

async fn watch(agent: Weak<Latch>, changed: Arc<Notify>, mut button: Button, trouble: Arc<Mutex<Option<String>>>) {
    if let Err(fault) = attend(&agent, &changed, &mut button).await {
        let why = format!("the approval button on GPIO {} is no longer watched: {fault}", button.pin.bcm());
        tracing::error!(target: "agent", fault = why, "approval by hand");
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        if let Some(led) = &button.led {
            let _ = led.line.set(Level::Low);
        }
    }
}

/// Returns without a fault when the agent is dropped.
async fn attend(agent: &Weak<Latch>, changed: &Notify, button: &mut Button) -> Result<(), LineError> {
    let mut hand = {
        let Some(latch) = agent.upgrade() else { return Ok(()) };
        Hand::new(button.pressed()?, waiting(&latch.asks).0, monotonic())
    };
    loop {
        let mut news = pin!(changed.notified());
        // Registered before the check, so that no change in between is missed.
        news.as_mut().enable();
        let Some(latch) = agent.upgrade() else { return Ok(()) };
        let next = step(&latch, button, &mut hand)?;
        if hand.halts(monotonic()) {
            halt_by_hand(&latch, button.pin).await;
            continue;
        }
        drop(latch);
        // No ask is pending: no timer, only the button and the asks wake this task.
        let alarm = async {
            match next {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            edge = poll_fn(|cx| button.line.poll_edge(cx)) => button.felt(&mut hand, edge?, monotonic()),
            () = news => {}
            () = alarm => {}
        }
    }
}

/// Evaluates the asks, the button and the clock once. Returns the longest time until the next evaluation.
fn step(latch: &Latch, button: &mut Button, hand: &mut Hand) -> Result<Option<Duration>, LineError> {
    let asks = &latch.asks;
    let (pending, mut expiry) = waiting(asks);
    hand.waiting(pending, monotonic());
    button.drain(hand, monotonic())?;
    hand.level(button.pressed()?, monotonic());
    if let Some(id) = hand.approved(monotonic()) {
        if let Err(error) = approve_by_hand(asks, &latch.log, &id, button.pin) {
            tracing::error!(target: "agent", %error, ask_id = id, "approval by hand");
        }
        let pending;
        (pending, expiry) = waiting(asks);
        hand.waiting(pending, monotonic());
    }
    let now = monotonic();
    let blink = match &mut button.led {
        Some(led) => led.say(hand.signal(now), now)?,
        None => None,
    };
    let next = [hand.due(now), blink].into_iter().flatten().min().map(|at| at.saturating_sub(now));
    Ok([next, expiry].into_iter().flatten().min())
}

/// The pending asks as the button sees them, and the time until the first of them expires.
fn waiting(asks: &Asks) -> (Waiting, Option<Duration>) {
    let (waiting, left, opened) = asks.waiting();
    let expiry = left.map(|left| left.max(Duration::from_millis(1)));
    let pending = waiting.into_iter().map(|ask| (ask.id, reserved::answerable(&ask.request.tool))).collect();
    (Waiting { pending, opened }, expiry)
}

fn approve_by_hand(asks: &Asks, log: &OpLog, id: &str, pin: Pin) -> Result<(), ToolError> {
    let peer = finger(pin);
    let ask = asks.answer(id, true, &peer.name, "button")?;
    log.note_ask("ask answered", &peer, &ask)
}

/// Halts the machine. What could not be written down is in the log: it is halted all the same.
async fn halt_by_hand(latch: &Arc<Latch>, pin: Pin) {
    let peer = finger(pin);
    let actor = HaltActor { by: peer.name.clone(), how: "button".into() };
    if let Err(error) = latch.set(actor, &peer, None).await {
        tracing::error!(target: "agent", %error, "halt by hand");
    }
}

/// Who presses the button, for the records.
fn finger(pin: Pin) -> Peer {
    let name = format!("the button on GPIO {}", pin.bcm());
    Peer { uid: rustix::process::getuid().as_raw(), name, standing: PeerKind::Approver }
}
