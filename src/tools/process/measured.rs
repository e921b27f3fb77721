//! All processes at one moment, and an earlier reading to compute their processor time.

use super::summary::Scale;
use crate::registry::context::Context;
use base::{
    error::ToolError,
    os::processes::{
        Proc, Stat,
        load::{EarlierReading, SHORTEST},
    },
};
use hw::machine::unreadable;

pub struct ProcessMeasurement {
    pub scale: Scale,
    pub proc: Proc,
    pub stats: Vec<Stat>,
    pub since: EarlierReading,
}

impl ProcessMeasurement {
    /// Reads all processes. With `sample`, and if no call within the last minute has left a reading, it reads twice,
    /// [`SHORTEST`] apart; `since` is then never "since they started". `tool` is the calling tool.
    ///
    /// # Errors
    /// `capability_missing` or `unavailable` if `/proc` cannot be read, `cancelled` during the wait.
    pub async fn read(cx: &Context, sample: bool, tool: &'static str) -> Result<Self, ToolError> {
        let machine = &cx.services.machine;
        let failed = |fault: std::io::Error| unreadable("the list of processes", &fault);
        let scale = Scale::read(machine)?;
        let mut proc = Proc::open(&machine.root).map_err(failed)?;
        let stats = proc.all().map_err(failed)?;
        let since = machine.load.compare(scale.now, &stats);
        if !sample || since.seconds().is_some() {
            return Ok(Self { scale, proc, stats, since });
        }
        tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled(tool)),
            () = tokio::time::sleep(SHORTEST) => {}
        }
        let (before, earlier) = (scale.now, stats);
        let scale = Scale::read(machine)?;
        let stats = proc.all().map_err(failed)?;
        let since = EarlierReading::between(before, &earlier, scale.now);
        Ok(Self { scale, proc, stats, since })
    }
}
