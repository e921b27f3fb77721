//! A cache of the pins' registers, as the agent reported them last. On an installed system the server may not open
//! them: write access would let it press the approval button.

use super::lines::GpioLines;
use crate::line::{Function, Level};
use crate::model::BoardKind;
use base::error::ToolError;
use contract::values::Pin;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// One pin, by its registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinLook {
    /// The Broadcom number.
    pub pin: u8,
    pub function: Function,
    /// None for a pin without a function.
    pub level: Option<Level>,
}

/// The pins of the header as of the last request; empty if they cannot be read.
#[derive(Default)]
pub struct PinCache(Mutex<BTreeMap<Pin, (Function, Option<Level>)>>);

impl PinCache {
    pub fn look(&self, pin: Pin) -> Option<(Function, Option<Level>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&pin).cloned()
    }

    fn learn(&self, looks: Vec<PinLook>) {
        let known = looks.into_iter().filter_map(|look| {
            let pin = Pin::try_from(u64::from(look.pin)).ok()?;
            Some((pin, (look.function, look.level)))
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = base::sort::map(known);
    }
}

impl GpioLines {
    /// Lets the agent read the registers through `ask`, where only it may. `ask` is not called when the answer is not
    /// needed. Without an answer the function of an unused pin is unknown; that of a held pin is known here.
    pub async fn refresh<A>(&self, pin: Option<Pin>, ask: impl FnOnce() -> A)
    where
        A: Future<Output = Result<Vec<PinLook>, ToolError>>,
    {
        // A hardware wave is leased without a line.
        let is_held = |pin| self.state().leases.get(&pin).is_some_and(|lease| lease.drive.has_line());
        if self.hardware.kind != BoardKind::RaspberryPi || pin.is_some_and(is_held) || self.reads_registers() {
            return;
        }
        let looks = ask().await.unwrap_or_else(|error| {
            tracing::debug!(target: "raspi_mcp::hw::gpio::told", %error, "the agent does not tell what the pins are");
            Vec::new()
        });
        self.pin_cache.learn(looks);
    }
}
