//! This machine as a witness: every source missing, malformed and good.

use super::layout;
use crate::update::disk::real::Tree;
use ::update::{
    Slot,
    boot::{BootMachine, BootWitness, By, ResetCause, Seen, has_tryboot},
};

fn seen(tree: &Tree, by: By) -> Seen {
    BootMachine::new(tree.root(), layout(), by).seen()
}

fn cell(tree: &Tree, name: &str, value: u32) {
    tree.put(&format!("proc/device-tree/chosen/bootloader/{name}"), value.to_be_bytes());
}

#[test]
fn a_raspberry_pi_tells_by_its_device_tree() {
    let tree = Tree::new();
    assert!(!has_tryboot(&tree.root()));
    for (name, value) in
        [("tryboot", 1), ("partition", 3), ("rsts", 0x20), ("build-timestamp", 1_700_000_000), ("capabilities", 0x7f)]
    {
        cell(&tree, name, value);
    }
    assert!(has_tryboot(&tree.root()));
    let told = seen(&tree, By::DeviceTree);
    assert_eq!((told.trial, told.booted, told.root), (Some(true), Some(Slot::B), Some(Slot::A)));
    assert_eq!((told.reset, told.boot_id.as_deref()), (Some(ResetCause::Restart), Some("5d3f")));
    assert_eq!((told.bootloader_built, told.can_try), (Some(1_700_000_000), Some(true)));
    assert_eq!((told.last_words, told.faults), (vec![], vec![]));
    tree.put("sys/fs/pstore/dmesg-ramoops-0", "a panic\n");
    assert_eq!(seen(&tree, By::DeviceTree).last_words, ["a panic"]);
    cell(&tree, "tryboot", 0);
    cell(&tree, "capabilities", 0x8);
    let told = seen(&tree, By::DeviceTree);
    assert_eq!((told.trial, told.can_try), (Some(false), Some(false)));
}

#[test]
fn an_old_bootloader_of_a_raspberry_pi_5_that_says_partition_0_is_asked_no_more() {
    let tree = Tree::new();
    for (name, value) in [("tryboot", 0), ("partition", 0), ("capabilities", 0x7f)] {
        cell(&tree, name, value);
    }
    let told = seen(&tree, By::DeviceTree);
    assert_eq!((told.booted, told.root, told.faults), (Some(Slot::A), Some(Slot::A), vec![]));
}

#[test]
fn what_the_device_tree_does_not_say_is_not_made_up() {
    let tree = Tree::new();
    let told = seen(&tree, By::DeviceTree);
    assert_eq!((told.trial, told.booted, told.can_try, told.bootloader_built), (None, None, None, None));
    assert!(told.faults[0].contains("does not say which partition"), "{:?}", told.faults);
    tree.put("proc/device-tree/chosen/bootloader/tryboot", [1]);
    tree.put("proc/device-tree/chosen/bootloader/rsts", [0; 5]);
    cell(&tree, "partition", 300);
    let told = seen(&tree, By::DeviceTree);
    assert_eq!((told.trial, told.booted, told.reset), (None, None, None));
    for why in ["tryboot cannot be understood", "partition 300, which is no slot", "rsts cannot be understood"] {
        assert!(told.faults.iter().any(|fault| fault.contains(why)), "{why}: {:?}", told.faults);
    }
}

#[test]
fn u_boot_tells_by_the_command_line() {
    let tree = Tree::new();
    let told = seen(&tree, By::CommandLine);
    assert_eq!((told.trial, told.booted, told.root), (None, Some(Slot::A), Some(Slot::A)));
    assert_eq!(told.faults, [""; 0]);
    for (line, why) in [
        ("quiet", "no raspi_mcp.slot="),
        ("raspi_mcp.slot=C root=PARTUUID=72706d63-05", "raspi_mcp.slot=C"),
        ("raspi_mcp.slots=A", "no raspi_mcp.slot="),
    ] {
        tree.put("proc/cmdline", line);
        let told = seen(&tree, By::CommandLine);
        assert_eq!(told.booted, None);
        assert!(told.faults.iter().any(|fault| fault.contains(why)), "{line}: {:?}", told.faults);
    }
    // The last word counts, as for the kernel.
    tree.put("proc/cmdline", "raspi_mcp.slot=A raspi_mcp.slot=B");
    assert_eq!(seen(&tree, By::CommandLine).booted, Some(Slot::B));
    std::fs::remove_file(tree.path("proc/sys/kernel/random/boot_id")).unwrap();
    let told = seen(&tree, By::CommandLine);
    assert!(told.boot_id.is_none() && told.faults.iter().any(|fault| fault.contains("boot_id")), "{:?}", told.faults);
}

#[test]
fn a_watchdog_that_remembers_is_believed() {
    let tree = Tree::new();
    tree.put("sys/class/watchdog/watchdog0/bootstatus", "32\n");
    assert_eq!(seen(&tree, By::CommandLine).reset, Some(ResetCause::Watchdog));
}
