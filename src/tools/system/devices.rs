//! `system.list_devices`: what is plugged in and built in (docs/contract/system.md).

use crate::{
    registry::{context::Context, tool::Tool},
    terminal::printable,
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::{
    error::ToolError,
    os::{
        attached::AttachedDevice,
        blocking,
        bluez::{self, Adapter},
        pci, usb,
    },
};
use contract::meta::{Listing, Meta, Role};
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest text that a device says of itself, in characters; USB allows 126.
const LONGEST: usize = 128;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only those on this bus.
    #[serde(default)]
    bus: Option<Bus>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Bus {
    Usb,
    Pci,
    Bluetooth,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// USB first, then PCI, then Bluetooth.
    devices: Vec<Shown>,
    pagination: Pagination,
    /// Buses that could not be read, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Shown {
    bus: Bus,
    /// The kernel's name: 1-1.2, 0000:01:00.0, hci0.
    id: String,
    /// Four hexadecimal digits, as lsusb and lspci show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "String")]
    vendor_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "String")]
    product_id: String,
    /// As the device says: nobody checks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    manufacturer: Option<String>,
    /// As the device says; of an adapter, its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    product: Option<String>,
    /// For admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    serial_number: Option<String>,
    /// Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    speed_mbps: Option<f64>,
    /// hid, storage, audio, ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    /// None: nothing here uses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drivers: Vec<String>,
    /// Device files, and names of network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
    /// Of an adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    powered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    discoverable: Option<bool>,
}

/// What a device says of itself, made harmless and cut.
fn said(text: &str) -> String {
    printable(&text.chars().take(LONGEST).collect::<String>())
}

impl Shown {
    fn attached(bus: Bus, of: AttachedDevice, with_serial: bool) -> Self {
        Self {
            bus,
            id: of.id,
            vendor_id: said(&of.vendor_id),
            product_id: said(&of.product_id),
            manufacturer: of.manufacturer.as_deref().map(said),
            product: of.product.as_deref().map(said),
            serial_number: of.serial.as_deref().filter(|_| with_serial).map(said),
            speed_mbps: of.speed_mbps.filter(|speed| speed.is_finite()),
            classes: of.classes,
            drivers: of.drivers,
            nodes: of.nodes.iter().map(|node| said(node)).collect(),
            address: None,
            powered: None,
            discoverable: None,
        }
    }

    fn adapter(of: Adapter) -> Self {
        let empty = AttachedDevice { id: said(&of.id), product: of.name, ..AttachedDevice::default() };
        Self {
            address: Some(said(&of.address)),
            powered: Some(of.powered),
            discoverable: Some(of.discoverable),
            ..Self::attached(Bus::Bluetooth, empty, false)
        }
    }
}

/// What was found, and what could not be read.
#[derive(Default)]
struct Found {
    devices: Vec<Shown>,
    faults: Vec<String>,
}

impl Found {
    async fn on_this_machine(cx: &Context, only: Option<Bus>, with_serial: bool) -> Result<Self, ToolError> {
        let wants = move |bus: Bus| only.is_none_or(|only| only == bus);
        let root = cx.services.machine.root.clone();
        let mut found = blocking::run("system", move |_| {
            let mut found = Self::default();
            if wants(Bus::Usb) {
                found.add(
                    Bus::Usb,
                    usb::read(&root).map_err(|fault| unreadable("the list of USB devices", &fault)),
                    with_serial,
                );
            }
            if wants(Bus::Pci) {
                found.add(
                    Bus::Pci,
                    pci::read(&root).map_err(|fault| unreadable("the list of PCI devices", &fault)),
                    with_serial,
                );
            }
            Ok(found)
        })
        .await?;
        if wants(Bus::Bluetooth) {
            match bluez::adapters(&cx.services.machine.bus).await {
                Ok(adapters) => found.devices.extend(adapters.unwrap_or_default().into_iter().map(Shown::adapter)),
                Err(error) => found.faults.push(error.advice()),
            }
        }
        Ok(found)
    }

    fn add(&mut self, bus: Bus, read: Result<Vec<AttachedDevice>, ToolError>, with_serial: bool) {
        match read {
            Ok(devices) => {
                self.devices.extend(devices.into_iter().map(|device| Shown::attached(bus, device, with_serial)));
            }
            Err(error) => self.faults.push(error.advice()),
        }
    }

    /// A keyboard, a serial adapter and a Bluetooth adapter.
    fn simulated(only: Option<Bus>, with_serial: bool) -> Self {
        let text = |text: &str| Some(text.to_owned());
        let usb = |id: &str, ids: (&str, &str), product, class: &str, driver: &str, nodes: &[&str]| AttachedDevice {
            id: id.into(),
            vendor_id: ids.0.into(),
            product_id: ids.1.into(),
            manufacturer: text("raspi-mcp"),
            product,
            serial: text("SIM0001"),
            speed_mbps: Some(12.0),
            classes: vec![class.into()],
            drivers: vec![driver.into()],
            nodes: nodes.iter().map(|&node| node.into()).collect(),
        };
        let keyboard =
            usb("1-1.1", ("1209", "0001"), text("Simulated keyboard"), "hid", "usbhid", &["/dev/input/event0"]);
        let serial = usb(
            "1-1.2",
            ("1209", "0002"),
            text("Simulated serial port"),
            "communications",
            "cdc_acm",
            &["/dev/ttyACM0"],
        );
        let mut found = Self::default();
        found.add(Bus::Usb, Ok(vec![keyboard, serial]), with_serial);
        found.devices.push(Shown::adapter(Adapter {
            id: "hci0".into(),
            address: "02:00:00:00:00:01".into(),
            name: text("simulated"),
            powered: true,
            discoverable: false,
        }));
        found.devices.retain(|device| only.is_none_or(|only| only == device.bus));
        found
    }
}

pub struct ListDevices;

impl Tool for ListDevices {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.list_devices",
        title: "Connected devices",
        description: "USB and PCI devices and Bluetooth adapters.\n\nUse when: something was plugged in, or you need its device file.\n\nReturns: ids, names, speed, class, driver, device files.",
        listing: Listing::Extra,
        estimated_tokens: 800,
        paginated: true,
        tags: &["system", "usb", "pci", "bluetooth", "hardware"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let with_serial = cx.caller.role >= Role::Admin;
        let found = if cx.services.machine.board.is_simulated() {
            cx.notes.simulated();
            Found::simulated(args.bus, with_serial)
        } else {
            Found::on_this_machine(cx, args.bus, with_serial).await?
        };
        let (devices, pagination) = Pagination::of(found.devices, args.limit, args.offset);
        let none = || {
            (pagination.total_count == 0 && found.faults.is_empty())
                .then(|| "no such device is connected; Bluetooth adapters are those that BlueZ has".to_owned())
        };
        Ok(Out { note: empty::beyond(&pagination).or_else(none), devices, pagination, faults: found.faults })
    }
}
