//! A device on a bus that says what it is: USB or PCI.

use super::Root;

/// Folders that are looked into for device files, of one device or interface. A keyboard has 8, a disk with many
/// partitions some 40.
const MOST_FOLDERS: usize = 256;
/// How deep they are nested at most: `host0/target0:0:0/0:0:0:0/block/sda/sda1`.
const DEEPEST: usize = 7;
/// Most device files of one device.
const MOST_NODES: usize = 32;
/// Folders of sysfs that never have a device below them.
const BARREN: [&str; 6] = ["power", "queue", "mq", "integrity", "statistics", "queues"];

/// One device. Texts are as the device gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachedDevice {
    /// The kernel's name: `1-1.2`, `0000:01:00.0`.
    pub id: String,
    /// Four hexadecimal digits each.
    pub vendor_id: String,
    pub product_id: String,
    pub manufacturer: Option<String>,
    pub product: Option<String>,
    pub serial: Option<String>,
    /// The signalling rate, in Mbit/s.
    pub speed_mbps: Option<f64>,
    pub classes: Vec<String>,
    pub drivers: Vec<String>,
    /// Device files with their path, network interfaces by name.
    pub nodes: Vec<String>,
}

impl AttachedDevice {
    pub(super) fn add_class(&mut self, class: Option<String>) {
        add(&mut self.classes, class);
    }

    pub(super) fn add_driver(&mut self, root: &Root, folder: &str) {
        let driver = root.link(&format!("{folder}/driver")).ok();
        add(&mut self.drivers, driver.and_then(|link| Some(link.file_name()?.to_str()?.to_owned())));
    }

    /// Adds what the kernel made of `folder`: the devices below it, but those of buses that begin there.
    pub(super) fn add_nodes(&mut self, root: &Root, folder: &str) {
        let mut waiting = vec![(folder.to_owned(), 0)];
        let mut looked_into = 0;
        while let Some((folder, depth)) = waiting.pop() {
            looked_into += 1;
            if looked_into > MOST_FOLDERS || self.nodes.len() >= MOST_NODES {
                break;
            }
            if depth > 0 {
                add(&mut self.nodes, node(root, &folder));
            }
            if depth == DEEPEST {
                continue;
            }
            let names = root.list(&folder).unwrap_or_default().into_iter().rev();
            waiting.extend(names.filter_map(|name| {
                let path = format!("{folder}/{name}");
                let is_folder = root.path(&path).symlink_metadata().is_ok_and(|facts| facts.is_dir());
                (is_folder && !BARREN.contains(&name.as_str()) && !is_on_another_bus(&name))
                    .then_some((path, depth + 1))
            }));
        }
    }
}

/// A USB root hub or a PCI device, which are devices of their own.
fn is_on_another_bus(name: &str) -> bool {
    let is_pci = name.len() == 12 && name.as_bytes()[4] == b':' && name.as_bytes()[7] == b':';
    is_pci || name.strip_prefix("usb").is_some_and(|rest| rest.parse::<u8>().is_ok())
}

/// Of a folder's `uevent`: the name of the device file, or of the network interface.
fn node(root: &Root, folder: &str) -> Option<String> {
    let text = root.read(&format!("{folder}/uevent")).ok()?;
    text.lines().find_map(|line| match line.split_once('=')? {
        ("DEVNAME", name) => Some(format!("/dev/{name}")),
        ("INTERFACE", name) if folder.contains("/net/") => Some(name.to_owned()),
        _ => None,
    })
}

fn add(list: &mut Vec<String>, item: Option<String>) {
    if let Some(item) = item.filter(|item| !list.contains(item)) {
        list.push(item);
    }
}
