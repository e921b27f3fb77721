//! Selects this machine's boot flow: the configured one, or the one detected.

use super::{
    BootFlow, BootMachine, By, Custom, Tryboot, Uboot, custom,
    tryboot::{SET_REBOOT_FLAGS, TrybootFlag},
};
use crate::{
    boot::has_tryboot,
    disk::{Disk, Layout},
};
use base::{
    error::ToolError,
    os::{Root, command_line::argument, ioctl},
};
use std::{fs::File, sync::Arc};

/// Raspberry Pi kernels have the firmware's mailbox here.
const VCIO: &str = "dev/vcio";

/// `update.flow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSetting {
    /// Tryboot where the firmware reports it, U-Boot where boot.cmd started the machine.
    Auto,
    Tryboot,
    Uboot,
    /// With the path of its program.
    Custom(String),
}

/// The flow of the machine under `root`.
///
/// # Errors
/// `capability_missing` when the flow cannot be detected, `invalid_argument` for a program without an absolute path.
pub fn of_machine(
    root: &Root,
    layout: &Layout,
    wanted: &FlowSetting,
    disk: Arc<dyn Disk>,
) -> Result<Box<dyn BootFlow>, ToolError> {
    let machine = |by| Arc::new(BootMachine::new(root.clone(), layout.clone(), by));
    let tryboot = || {
        let flow = Tryboot::new(disk.clone(), layout.clone(), machine(By::DeviceTree), mailbox(root));
        Box::new(flow.with_template(layout.config_template.clone()))
    };
    let uboot = || Box::new(Uboot::new(disk.clone(), machine(By::CommandLine)));
    Ok(match wanted {
        FlowSetting::Tryboot => tryboot(),
        FlowSetting::Uboot => uboot(),
        FlowSetting::Custom(program) => Box::new(Custom::new(program, machine(By::CommandLine), custom::LIMIT)?),
        // boot.cmd is checked first: U-Boot may pass on the device tree of a firmware that has tryboot.
        FlowSetting::Auto if argument(root, "raspi_mcp.slot").is_some() => uboot(),
        FlowSetting::Auto if has_tryboot(root) => tryboot(),
        FlowSetting::Auto => {
            return Err(ToolError::missing("nothing says how this machine chooses the system it starts")
                .hint("updates of whole images need an image with two slots; for another boot chain set update.flow"));
        }
    })
}

fn mailbox(root: &Root) -> Option<TrybootFlag> {
    let path = root.path(VCIO);
    path.exists().then(|| -> TrybootFlag {
        Arc::new(move |on| {
            let vcio = File::options().read(true).write(true).open(&path)?;
            ioctl::set_firmware_property(&vcio, SET_REBOOT_FLAGS, u32::from(on))
        })
    })
}
