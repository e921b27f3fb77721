//! Ends leases and takes levels back when their time is over. The keeper task exists only while something has a time.

use super::{
    lease::{Back, Drive, Lease},
    lines::{GpioLines, LinesState},
};
use contract::values::Pin;
use std::sync::{Arc, Weak};
use tokio::time::{Instant, sleep_until};

impl GpioLines {
    /// Makes the keeper wake for this pin.
    pub(super) fn schedule_expiry(self: &Arc<Self>, state: &mut LinesState, pin: Pin) {
        let Some(due) = state.leases.get(&pin).and_then(Lease::due) else { return };
        match state.keeper {
            // The keeper wakes earlier already, and then computes the next time.
            Some(wakes) if wakes <= due => {}
            Some(_) => {
                state.keeper = Some(due);
                self.earlier.notify_one();
            }
            None => {
                state.keeper = Some(due);
                base::task::spawn(keep(Arc::downgrade(self)));
            }
        }
    }

    /// The next due time; `None` ends the keeper.
    fn next_due(&self) -> Option<Instant> {
        let mut state = self.state();
        state.keeper = state.leases.values().filter_map(Lease::due).min();
        state.keeper
    }

    fn do_due(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let (mut ended, mut altered) = (Vec::new(), Vec::new());
        for (pin, lease) in &mut state.leases {
            if let Some((at, back)) = lease.revert
                && at <= now
            {
                lease.revert = None;
                altered.push(*pin);
                match (back, &lease.drive) {
                    (Back::To(level), Drive::Output { line }) => {
                        if let Err(fault) = line.set(level) {
                            tracing::error!(pin = pin.bcm(), %fault, "its level could not be taken back; its lease ends");
                            ended.push(*pin);
                        }
                    }
                    _ => ended.push(*pin),
                }
            }
            if let Some(repeat) = &mut lease.repeat
                && repeat.next <= now
            {
                altered.push(*pin);
                match (repeat.step(now), &lease.drive) {
                    (Some(level), Drive::Output { line }) => {
                        if let Err(fault) = line.set(level) {
                            tracing::error!(pin = pin.bcm(), %fault, "its repetition cannot go on; its lease ends");
                            ended.push(*pin);
                        }
                    }
                    _ => ended.push(*pin),
                }
            }
            if lease.until.is_some_and(|until| until <= now) && !ended.contains(pin) {
                ended.push(*pin);
                altered.push(*pin);
            }
        }
        self.settle_all(&mut state, &ended);
        drop(state);
        altered.into_iter().for_each(|pin| self.alter(pin));
    }
}

async fn keep(lines: Weak<GpioLines>) {
    loop {
        let Some(all) = lines.upgrade() else { return };
        let Some(due) = all.next_due() else { return };
        tokio::select! {
            () = sleep_until(due) => all.do_due(),
            () = all.earlier.notified() => {}
        }
    }
}
