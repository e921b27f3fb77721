//! NetworkManager, through its D-Bus interface (networkmanager.dev, "D-Bus API Reference", 1.42).
//!
//! One answer has all of its objects (`GetManagedObjects`); only the settings of profiles, without secrets, are
//! requested one by one.

pub mod activation;
pub mod change;
pub mod edit;
pub mod flush;
mod generated;
pub mod profile;
pub mod radio;
pub mod scan;
pub mod state;

use super::bus::{DBus, DBusObject, refusal};
use crate::error::{ErrorCode, ToolError};
use serde::Serialize;
use std::collections::HashMap;
use zbus::{DynamicType, Message, ObjectPath, OwnedObjectPath, OwnedVariant};

/// Its name on the bus.
pub const SERVICE: &str = "org.freedesktop.NetworkManager";
const MANAGER_PATH: &str = "/org/freedesktop/NetworkManager";
const MANAGER: &str = "org.freedesktop.NetworkManager";
const DEVICE: &str = "org.freedesktop.NetworkManager.Device";
const WIRELESS: &str = "org.freedesktop.NetworkManager.Device.Wireless";
const ACCESS_POINT: &str = "org.freedesktop.NetworkManager.AccessPoint";
const ACTIVE: &str = "org.freedesktop.NetworkManager.Connection.Active";
const PROFILE: &str = "org.freedesktop.NetworkManager.Settings.Connection";
/// The type of profiles for Ethernet (NM_SETTING_WIRED_SETTING_NAME).
const ETHERNET: &str = "802-3-ethernet";
const CHECKPOINT: &str = "org.freedesktop.NetworkManager.Checkpoint";
/// Limit of objects: a Pi has about a hundred, most of them access points.
const OBJECTS: usize = 8192;

/// The properties of one interface of an object.
pub struct InterfaceProperties(HashMap<String, OwnedVariant>);

impl InterfaceProperties {
    fn get<'a, T: TryFrom<&'a OwnedVariant>>(&'a self, name: &str) -> Option<T> {
        T::try_from(self.0.get(name)?).ok()
    }
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get::<&str>(name)
    }
    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)
    }
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
    }
    /// Another object; "/" means none.
    fn object(&self, name: &str) -> Option<&str> {
        let path: &ObjectPath<'_> = self.get(name)?;
        (path.as_str() != "/").then_some(path.as_str())
    }
    /// Other objects.
    fn objects(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(|value| value.try_clone().ok());
        let list = list.and_then(|value| Vec::<OwnedObjectPath>::try_from(value).ok());
        list.unwrap_or_default().iter().map(|path| path.as_str().to_owned()).collect()
    }
    /// Bytes, such as the name of a Wi-Fi network; `None` if there are none.
    fn raw(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = Vec::<u8>::try_from(self.0.get(name)?.try_clone().ok()?).ok()?;
        (!bytes.is_empty()).then_some(bytes)
    }
    /// Bytes that are text by convention only.
    fn bytes(&self, name: &str) -> Option<String> {
        self.raw(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// All of NetworkManager's objects at one moment.
pub struct Objects(HashMap<String, HashMap<String, InterfaceProperties>>);

type Managed = HashMap<OwnedObjectPath, HashMap<String, HashMap<String, OwnedVariant>>>;

impl Objects {
    /// # Errors
    /// `capability_missing` without a bus or NetworkManager, `unavailable` when it does not answer.
    pub async fn read(bus: &DBus) -> Result<Self, ToolError> {
        let everything =
            DBusObject { service: SERVICE, path: "/org/freedesktop", interface: "org.freedesktop.DBus.ObjectManager" };
        Self::managed(bus, everything).await.map_err(absent)
    }

    /// All objects that a service's object manager has.
    pub(super) async fn managed(bus: &DBus, manager: DBusObject<'_>) -> Result<Self, ToolError> {
        let method = "GetManagedObjects";
        let answer = bus.call(manager, method, &()).await?;
        let managed: Managed = answer.body().deserialize().map_err(|fault| refusal(manager.service, method, &fault))?;
        let objects = managed.into_iter().take(OBJECTS).map(|(path, interfaces)| {
            let interfaces = interfaces.into_iter().map(|(name, properties)| (name, InterfaceProperties(properties)));
            (path.as_str().to_owned(), interfaces.collect())
        });
        Ok(Self(objects.collect()))
    }

    /// One interface of one object.
    fn of(&self, path: &str, interface: &str) -> Option<&InterfaceProperties> {
        self.0.get(path)?.get(interface)
    }

    /// All objects with this interface.
    pub(super) fn all<'a>(&'a self, interface: &'a str) -> impl Iterator<Item = (&'a str, &'a InterfaceProperties)> {
        self.0.iter().filter_map(move |(path, interfaces)| Some((path.as_str(), interfaces.get(interface)?)))
    }

    fn manager(&self) -> Option<&InterfaceProperties> {
        self.of(MANAGER_PATH, MANAGER)
    }

    /// The kernel's interface name of a device.
    fn interface_of(&self, device: &str) -> Option<&str> {
        let device = self.of(device, DEVICE)?;
        // For a modem or tunnel, the interface that carries its packets.
        device.text("IpInterface").filter(|name| !name.is_empty()).or_else(|| device.text("Interface"))
    }
}

/// Calls a method of the manager itself.
async fn manage<B: Serialize + DynamicType>(bus: &DBus, method: &str, body: &B) -> Result<Message, ToolError> {
    let manager = DBusObject { service: SERVICE, path: MANAGER_PATH, interface: MANAGER };
    bus.call(manager, method, body).await.map_err(absent)
}

/// Reads one property.
async fn property(bus: &DBus, path: &str, interface: &str, name: &str) -> Result<OwnedVariant, ToolError> {
    let object = DBusObject { service: SERVICE, path, interface: "org.freedesktop.DBus.Properties" };
    let answer = bus.call(object, "Get", &(interface, name)).await.map_err(absent)?;
    answer.body().deserialize().map_err(|fault| unknown(name, &fault))
}

/// Adds the next step when NetworkManager is missing, and maps its errors to codes (nm-errors.h).
fn absent(error: ToolError) -> ToolError {
    if error.code == ErrorCode::CapabilityMissing {
        return error.hint("profiles of connections need NetworkManager; interfaces are in system.get_network_info");
    }
    let code = match said(&error) {
        Some("UnknownConnection" | "UnknownDevice") => ErrorCode::NotFound,
        Some("PermissionDenied") => ErrorCode::PermissionDenied,
        Some("InvalidArguments" | "ConnectionNotAvailable" | "MissingPlugin") => ErrorCode::FailedPrecondition,
        _ => error.code,
    };
    error.with_code(code)
}

fn unknown(what: &str, fault: &zbus::Error) -> ToolError {
    ToolError::unavailable(format!("NetworkManager's answer to {what} cannot be understood: {fault}"))
        .with("resource", SERVICE)
        .hint("it may be newer than this server")
}

/// The last part of the error's D-Bus name.
fn said(error: &ToolError) -> Option<&str> {
    error.details.get("dbus_error")?.as_str()?.rsplit('.').next()
}

/// Whether the object no longer exists: by the errors of D-Bus, of GLib, and of NetworkManager for checkpoints.
fn is_gone(error: &ToolError) -> bool {
    error.code == ErrorCode::NotFound
        || matches!(said(error), Some("UnknownMethod" | "UnknownObject" | "UnknownInterface" | "InvalidArguments"))
}
