//! Bluetooth adapters, as BlueZ has them on the system bus (BlueZ 5, doc/org.bluez.Adapter.rst).

use super::{
    bus::{BUS, BUS_OBJECT, DBus, DBusObject, refusal},
    network_manager::Objects,
};
use crate::error::{ErrorCode, ToolError};

const SERVICE: &str = "org.bluez";
const ADAPTER: &str = "org.bluez.Adapter1";

/// One adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// `hci0`.
    pub id: String,
    /// Six bytes in hexadecimal, with colons.
    pub address: String,
    /// What others see it as.
    pub name: Option<String>,
    pub powered: bool,
    pub discoverable: bool,
}

/// All adapters, by name. `None` where BlueZ does not run, or there is no bus; it is not started for this.
///
/// # Errors
/// As [`DBus::call`].
pub async fn adapters(bus: &DBus) -> Result<Option<Vec<Adapter>>, ToolError> {
    let the_bus = DBusObject { service: BUS, path: BUS_OBJECT, interface: BUS };
    let method = "NameHasOwner";
    let answer = match bus.call(the_bus, method, &SERVICE).await {
        Err(error) if error.code == ErrorCode::CapabilityMissing => return Ok(None),
        answer => answer?,
    };
    if !answer.body().deserialize().map_err(|fault| refusal(BUS, method, &fault))? {
        return Ok(None);
    }
    let everything = DBusObject { service: SERVICE, path: "/", interface: "org.freedesktop.DBus.ObjectManager" };
    let objects = Objects::managed(bus, everything).await?;
    let mut adapters: Vec<Adapter> = objects
        .all(ADAPTER)
        .map(|(path, adapter)| Adapter {
            id: path.rsplit('/').next().unwrap_or_default().to_owned(),
            address: adapter.text("Address").unwrap_or_default().to_owned(),
            name: adapter.text("Alias").map(str::to_owned),
            powered: adapter.flag("Powered").unwrap_or(false),
            discoverable: adapter.flag("Discoverable").unwrap_or(false),
        })
        .collect();
    crate::sort::sort_by(&mut adapters, |a, b| a.id.cmp(&b.id));
    Ok(Some(adapters))
}
