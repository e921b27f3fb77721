//! Approval by hand: a button whose line belongs to the agent, and an LED that says what a press would do.
//!
//! The kernel gives a line to one holder, so while the agent runs nobody else reads or drives either. The LED: off, nothing is
//! asked; slow blinking, one ask waits for the button; on, a hold is counted; fast blinking, the button cannot answer.

mod reserved;

pub use reserved::answerable;
mod state;

use self::state::{Hand, Signal, Waiting};
use super::{
    asks::Asks,
    log::OpLog,
    peer::{Peer, Standing},
    settings::AgentSettings,
};
use base::{error::ToolError, os::clock::monotonic};
use contract::values::Pin;
use futures::FutureExt;
use hw::line::{Edge, Fault, Level, Line, Port, Pull, Take};
use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{sync::Notify, task::AbortHandle};

/// What others who want the line are told by the kernel.
const BUTTON: &str = "raspi-mcp approval button";
const LED: &str = "raspi-mcp approval LED";

/// The lines, held.
pub(super) struct Button {
    pin: Pin,
    /// The level while it is pressed.
    active: Level,
    line: Arc<dyn Line>,
    led: Option<Led>,
}

struct Led {
    line: Arc<dyn Line>,
    signal: Signal,
    /// When it began to say that.
    began: Duration,
}

impl Button {
    /// Takes the lines that the configuration names. What cannot be had is a fault of the agent's, and no reason not to start.
    pub(super) fn take(
        settings: &AgentSettings,
        port: Option<Result<Arc<dyn Port>, Fault>>,
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

    /// Watches the button until the agent goes.
    pub(super) fn watch(self, asks: &Arc<Asks>, log: &Arc<OpLog>) -> Grip {
        let trouble = Arc::default();
        let lines = [Some(Arc::clone(&self.line)), self.led.as_ref().map(|led| Arc::clone(&led.line))];
        let (changed, agent) = (asks.changed(), (Arc::downgrade(asks), Arc::downgrade(log)));
        let task = base::task::spawn(watch(agent, changed, self, Arc::clone(&trouble)));
        Grip { task: task.abort_handle(), lines, trouble }
    }

    fn pressed(&self) -> Result<bool, Fault> {
        Ok(self.line.level()? == self.active)
    }

    /// Every edge that has been told by now.
    fn drain(&self, hand: &mut Hand, now: Duration) -> Result<(), Fault> {
        while let Some(edge) = poll_fn(|cx| self.line.poll_edge(cx)).now_or_never() {
            self.felt(hand, edge?, now);
        }
        Ok(())
    }

    fn felt(&self, hand: &mut Hand, edge: Edge, now: Duration) {
        // Before Linux 5.7 edges carry the wall's time, which is later than any of this clock.
        hand.edge(edge.to == self.active, edge.at.min(now));
    }
}

impl Led {
    /// Says `signal`; when it has to change next.
    fn say(&mut self, signal: Signal, now: Duration) -> Result<Option<Duration>, Fault> {
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

/// A button under watch. Dropped, it lets go of the lines at once, with the LED off.
pub(super) struct Grip {
    task: AbortHandle,
    lines: [Option<Arc<dyn Line>>; 2],
    trouble: Arc<Mutex<Option<String>>>,
}

impl Grip {
    /// Why it watches no longer.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        self.task.abort();
        let [button, led] = &self.lines;
        if let Some(led) = led {
            // A line that fails now fails for whoever takes it next as well.
            let _ = led.set(Level::Low);
            led.close();
        }
        if let Some(button) = button {
            button.close();
        }
    }
}

/// The agent's asks and log, as long as it lives.
type Gone = (Weak<Asks>, Weak<OpLog>);

async fn watch(agent: Gone, changed: Arc<Notify>, mut button: Button, trouble: Arc<Mutex<Option<String>>>) {
    if let Err(fault) = attend(&agent, &changed, &mut button).await {
        let why = format!("the approval button on GPIO {} is no longer watched: {fault}", button.pin.bcm());
        tracing::error!(target: "agent", fault = why, "approval by hand");
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        if let Some(led) = &button.led {
            let _ = led.line.set(Level::Low);
        }
    }
}

/// Ends without a fault when the agent has gone.
async fn attend(agent: &Gone, changed: &Notify, button: &mut Button) -> Result<(), Fault> {
    let mut hand = {
        let Some(asks) = agent.0.upgrade() else { return Ok(()) };
        Hand::new(button.pressed()?, waiting(&asks).0, monotonic())
    };
    loop {
        let mut news = pin!(changed.notified());
        // Registered before the look, so that nothing in between is missed.
        news.as_mut().enable();
        let next = match (agent.0.upgrade(), agent.1.upgrade()) {
            (Some(asks), Some(log)) => step(&asks, &log, button, &mut hand)?,
            _ => return Ok(()),
        };
        // Nothing is asked: no timer, nothing wakes up but the button and the book of asks.
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

/// One look at the asks, the button and the clock; how long until the next one at the latest.
fn step(asks: &Asks, log: &OpLog, button: &mut Button, hand: &mut Hand) -> Result<Option<Duration>, Fault> {
    let (pending, mut expiry) = waiting(asks);
    hand.waiting(pending, monotonic());
    button.drain(hand, monotonic())?;
    hand.level(button.pressed()?, monotonic());
    if let Some(id) = hand.approved(monotonic()) {
        if let Err(error) = approve_by_hand(asks, log, &id, button.pin) {
            tracing::error!(target: "agent", %error, ask_id = id, "approval by hand");
        }
        let pending;
        (pending, expiry) = waiting(asks);
        hand.waiting(pending, monotonic());
    }
    let now = monotonic();
    let blink = match &mut button.led {
        Some(led) => led.say(hand.signal(), now)?,
        None => None,
    };
    let next = [hand.due(), blink].into_iter().flatten().min().map(|at| at.saturating_sub(now));
    Ok([next, expiry].into_iter().flatten().min())
}

/// What waits, as far as a button is concerned, and how long until the first of it has waited too long.
fn waiting(asks: &Asks) -> (Waiting, Option<Duration>) {
    let (waiting, left, opened) = asks.waiting();
    let expiry = left.map(|left| left.max(Duration::from_millis(1)));
    let pending = waiting.into_iter().map(|ask| (ask.id, reserved::answerable(&ask.request.tool))).collect();
    (Waiting { pending, opened }, expiry)
}

fn approve_by_hand(asks: &Asks, log: &OpLog, id: &str, pin: Pin) -> Result<(), ToolError> {
    let name = format!("the button on GPIO {}", pin.bcm());
    let peer = Peer { uid: rustix::process::getuid().as_raw(), name, standing: Standing::Approver };
    let ask = asks.answer(id, true, &peer.name, "button")?;
    log.note_ask("ask answered", &peer, &ask)
}
