//! A device as `fleet.list_devices` shows it.

use crate::{
    fleet::console::report::DeviceRow,
    fleet_port::{FleetDeviceState, FleetUpdate},
};
use base::clock::Stamp;

pub fn state(row: &DeviceRow<'_>) -> FleetDeviceState {
    let document = row.status.map(|status| &status.document);
    FleetDeviceState {
        name: row.device.name.clone(),
        health: row.health(),
        version: row.version().map(str::to_owned),
        tags: row.tags().map(str::to_owned).collect(),
        problems: row.problems(),
        halted: document.map(|document| document.halted),
        open_asks: document.map(|document| document.asks as u64),
        last_update: row.attempt().map(|attempt| FleetUpdate {
            version: attempt.version.clone(),
            phase: attempt.phase.clone(),
            reason: attempt.reason.clone(),
        }),
        heard_at: row.status.map(|status| Stamp(status.heard_ms).to_string()),
        simulated: document.map(|document| document.simulated),
    }
}
