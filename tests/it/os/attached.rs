//! USB and PCI devices in sysfs, and Bluetooth adapters on a bus.

use crate::support::{private_bus::PrivateBus, trees::Copied};
use base::os::{bluez, bus::DBus, pci, usb};
use futures::StreamExt;
use std::collections::HashMap;
use zbus::{MessageStream, ObjectPath, Variant, message::Type};

const DEVICES: &str = "sys/bus/usb/devices";

/// A serial adapter behind a hub, with its two folders below the hub's, as sysfs has them.
fn with_adapter() -> Copied {
    let tree = Copied::empty();
    let hub = "sys/devices/pci0000:00/0000:01:00.0/usb1/1-1";
    let (device, interface) = (format!("{hub}/1-1.2"), format!("{hub}/1-1.2/1-1.2:1.0"));
    for (file, text) in [
        ("idVendor", "0403\n"),
        ("idProduct", "6001\n"),
        ("manufacturer", "FTDI\n"),
        ("product", "FT232R USB UART\n"),
        ("serial", "A50285BI\n"),
        ("speed", "12\n"),
        ("bDeviceClass", "00\n"),
    ] {
        tree.write(&format!("{device}/{file}"), text);
    }
    tree.write(&format!("{interface}/bInterfaceClass"), "ff\n")
        .write(&format!("{interface}/ttyUSB0/tty/ttyUSB0/uevent"), "MAJOR=188\nMINOR=0\nDEVNAME=ttyUSB0\n")
        .write(&format!("{interface}/ttyUSB0/uevent"), "DRIVER=ftdi_sio\n")
        .link(&format!("{interface}/driver"), "../../../../../../../bus/usb-serial/drivers/ftdi_sio")
        .write(&format!("{hub}/idVendor"), "05e3\n")
        .write(&format!("{hub}/idProduct"), "0610\n")
        .write(&format!("{hub}/bDeviceClass"), "09\n")
        .write(&format!("{hub}/speed"), "480\n");
    for (name, at) in
        [("usb1", "usb1"), ("1-1", "usb1/1-1"), ("1-1.2", "usb1/1-1/1-1.2"), ("1-1.2:1.0", "usb1/1-1/1-1.2/1-1.2:1.0")]
    {
        tree.link(&format!("{DEVICES}/{name}"), &format!("../../../devices/pci0000:00/0000:01:00.0/{at}"));
    }
    tree
}

#[test]
fn a_serial_adapter_behind_a_hub() {
    let tree = with_adapter();
    let found = usb::read(&tree.root()).unwrap();
    let ids: Vec<&str> = found.iter().map(|device| device.id.as_str()).collect();
    assert_eq!(ids, ["1-1", "1-1.2"], "root hubs and interfaces are none");
    let (hub, adapter) = (&found[0], &found[1]);
    assert_eq!(
        (&hub.classes[..], hub.nodes.len()),
        (&["hub".to_owned()][..], 0),
        "what is behind a hub is not its own"
    );
    assert_eq!((adapter.vendor_id.as_str(), adapter.product_id.as_str()), ("0403", "6001"));
    assert_eq!((adapter.product.as_deref(), adapter.serial.as_deref()), (Some("FT232R USB UART"), Some("A50285BI")));
    assert_eq!((adapter.speed_mbps, &adapter.classes[..]), (Some(12.0), &["vendor_specific".to_owned()][..]));
    assert_eq!(
        (&adapter.drivers[..], &adapter.nodes[..]),
        (&["ftdi_sio".to_owned()][..], &["/dev/ttyUSB0".to_owned()][..])
    );
}

#[test]
fn what_vanishes_while_it_is_read_is_left_out() {
    let tree = with_adapter();
    tree.without("sys/devices/pci0000:00/0000:01:00.0/usb1/1-1/1-1.2/idProduct");
    assert_eq!(usb::read(&tree.root()).unwrap().len(), 1);
    assert_eq!(usb::read(&Copied::empty().root()).unwrap(), []);
    tree.write("other/sys/bus/usb/devices", "a file");
    let broken = base::os::Root::at(tree.root().path("other"));
    assert!(usb::read(&broken).is_err(), "unreadable is not the same as none");
}

#[test]
fn folders_without_end_are_bounded() {
    let tree = with_adapter();
    let interface = "sys/devices/pci0000:00/0000:01:00.0/usb1/1-1/1-1.2/1-1.2:1.0";
    for number in 0..100 {
        tree.write(&format!("{interface}/host/input{number}/uevent"), format!("DEVNAME=input/event{number}\n"));
    }
    assert_eq!(usb::read(&tree.root()).unwrap()[1].nodes.len(), 32);
}

#[test]
fn a_pi_5s_controllers_and_a_disk() {
    let tree = Copied::empty();
    let disk = "sys/devices/platform/axi/1000110000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0";
    for (file, text) in [("vendor", "0x144d\n"), ("device", "0xa808\n"), ("class", "0x010802\n")] {
        tree.write(&format!("{disk}/{file}"), text);
    }
    tree.write(&format!("{disk}/nvme/nvme0/uevent"), "DEVNAME=nvme0\n")
        .write(&format!("{disk}/nvme/nvme0/nvme0n1/uevent"), "DEVNAME=nvme0n1\n")
        .link(&format!("{disk}/driver"), "/sys/bus/pci/drivers/nvme");
    let bridge = disk.strip_suffix("/0000:01:00.0").unwrap();
    for (file, text) in [("vendor", "0x14e4\n"), ("device", "0x2712\n"), ("class", "0x060400\n")] {
        tree.write(&format!("{bridge}/{file}"), text);
    }
    for (name, at) in [("0000:00:00.0", bridge), ("0000:01:00.0", disk)] {
        tree.link(&format!("sys/bus/pci/devices/{name}"), &format!("../../../../{at}"));
    }
    let found = pci::read(&tree.root()).unwrap();
    assert_eq!((found.len(), &found[0].classes[..], found[0].nodes.len()), (2, &["bridge".to_owned()][..], 0));
    assert_eq!((found[1].vendor_id.as_str(), &found[1].classes[..]), ("144d", &["storage".to_owned()][..]));
    assert_eq!(found[1].nodes, ["/dev/nvme0", "/dev/nvme0n1"]);
    assert_eq!(pci::read(&Copied::empty().root()).unwrap(), []);
}

#[tokio::test]
async fn adapters_where_bluez_runs_and_none_where_it_does_not() {
    assert_eq!(bluez::adapters(&DBus::at("unix:path=/nowhere")).await.unwrap(), None, "no bus");
    let bus = PrivateBus::start();
    assert_eq!(bluez::adapters(&bus.bus()).await.unwrap(), None, "no BlueZ");
    let bluez = bus.connect().await;
    let mut calls = MessageStream::from(&bluez);
    bluez.request_name("org.bluez").await.unwrap();
    tokio::spawn(async move {
        while let Some(Ok(message)) = calls.next().await {
            if message.message_type() != Type::MethodCall {
                continue;
            }
            let header = message.header();
            assert_eq!(
                (header.member().unwrap().as_str(), header.path().unwrap().as_str()),
                ("GetManagedObjects", "/")
            );
            let adapter: HashMap<&str, Variant<'_>> = [
                ("Address", Variant::from("DC:A6:32:00:00:01")),
                ("Alias", Variant::from("pi")),
                ("Powered", Variant::from(true)),
                ("Discoverable", Variant::from(false)),
            ]
            .into();
            let headset: HashMap<&str, Variant<'_>> = [("Address", Variant::from("00:11:22:33:44:55"))].into();
            let objects: HashMap<ObjectPath<'_>, HashMap<&str, HashMap<&str, Variant<'_>>>> = [
                ("/org/bluez/hci0".try_into().unwrap(), [("org.bluez.Adapter1", adapter)].into()),
                ("/org/bluez/hci0/dev_00".try_into().unwrap(), [("org.bluez.Device1", headset)].into()),
            ]
            .into();
            bluez.reply(&header, &objects).await.unwrap();
        }
    });
    let found = bluez::adapters(&bus.bus()).await.unwrap().unwrap();
    assert_eq!(found.len(), 1, "devices in reach are no adapters: {found:?}");
    assert_eq!((found[0].id.as_str(), found[0].name.as_deref()), ("hci0", Some("pi")));
    assert!(found[0].powered && !found[0].discoverable);
}
