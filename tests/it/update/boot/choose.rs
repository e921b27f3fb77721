//! Which flow a machine has.

use super::{card, layout};
use crate::update::disk::real::Tree;
use ::update::{
    Slot,
    boot::{BootFlow, FlowSetting, of_machine},
};
use base::error::{ErrorCode, ToolError};
use std::sync::Arc;

fn chosen(tree: &Tree, wanted: &FlowSetting) -> Result<Box<dyn BootFlow>, ToolError> {
    of_machine(&tree.root(), &layout(), wanted, Arc::new(card()))
}

fn name(tree: &Tree, wanted: &FlowSetting) -> &'static str {
    chosen(tree, wanted).unwrap().name()
}

#[test]
fn the_machine_shows_which_it_has() {
    let tree = Tree::new();
    // boot.cmd started it.
    assert_eq!(name(&tree, &FlowSetting::Auto), "uboot");
    tree.put("proc/device-tree/chosen/bootloader/tryboot", [0; 4]);
    assert_eq!(name(&tree, &FlowSetting::Auto), "uboot");
    tree.put("proc/cmdline", "quiet root=PARTUUID=72706d63-05");
    assert_eq!(name(&tree, &FlowSetting::Auto), "tryboot");
    let plain = Tree::new();
    plain.put("proc/cmdline", "quiet");
    let error = chosen(&plain, &FlowSetting::Auto).err().unwrap();
    assert!(error.code == ErrorCode::CapabilityMissing && error.hint.as_ref().unwrap().contains("update.flow"));
}

#[test]
fn what_is_configured_is_taken_and_told_apart_from_the_mailbox() {
    let tree = Tree::new();
    assert_eq!(name(&tree, &FlowSetting::Uboot), "uboot");
    assert_eq!(name(&tree, &FlowSetting::Custom("/usr/lib/boot-flow".into())), "custom");
    assert_eq!(chosen(&tree, &FlowSetting::Custom("flow".into())).err().unwrap().code, ErrorCode::InvalidArgument);
    assert_eq!(chosen(&tree, &FlowSetting::Tryboot).unwrap().trial_argument(), Some("0 tryboot"));
    // With a mailbox the flag is set by arming: a file that is none says so.
    tree.put("dev/vcio", "");
    for (cell, value) in [("tryboot", 0_u32), ("partition", 2)] {
        tree.put(&format!("proc/device-tree/chosen/bootloader/{cell}"), value.to_be_bytes());
    }
    let flow = chosen(&tree, &FlowSetting::Tryboot).unwrap();
    assert_eq!(flow.trial_argument(), None);
    let error = flow.arm(Slot::B).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("tryboot flag"), "{}", error.message);
}
