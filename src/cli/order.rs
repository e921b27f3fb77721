//! Commands for a device in the network, signed with an approver's key: `--url --pin --key --device` (docs/approvals.md).

use super::{
    approver,
    exit::{Exit, Failure},
    say::outln,
    target,
};
use crate::{
    claim::uri::device_id,
    client::{Approvals, Remote, Trust},
    terminal::printable,
};
use appliance::certificate::Fingerprint;
use base::{error::ToolError, redact::shown_address};
use serde_json::Value;
use std::path::PathBuf;

/// The device that is meant, if it is not this one.
#[derive(clap::Args, Default)]
pub struct Device {
    /// The address of a device in the network, e.g. https://pi.local:8765; default: this device
    #[arg(long, requires_all = ["key", "device"])]
    pub url: Option<String>,
    /// The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts
    #[arg(long, value_name = "PIN", requires = "url", value_parser = target::pin)]
    pub pin: Option<Fingerprint>,
    /// Your secret key, from `raspi-mcp approver key`
    #[arg(long, value_name = "FILE", requires = "url")]
    pub key: Option<PathBuf>,
    /// The device's ID, as `raspi-mcp approver add` printed it at its console: others are refused
    #[arg(long, value_name = "ID", requires = "url")]
    pub device: Option<String>,
}

impl Device {
    /// The device in the network, if one is named.
    pub(super) fn reached(&self) -> Result<Option<Approvals>, Failure> {
        let (Some(url), Some(key), Some(device)) = (&self.url, &self.key, &self.device) else { return Ok(None) };
        let device = device_id(device).ok_or_else(|| {
            ToolError::invalid("a device's ID has 64 hexadecimal digits")
                .hint("`raspi-mcp approver list` at the device's console shows it")
        })?;
        let key = approver::secret(key)?;
        // No token is needed, so none is sent.
        let url = url.parse().map_err(|error| ToolError::invalid(format!("--url {}: {error}", shown_address(url))))?;
        let trust = self.pin.map_or(Trust::System, Trust::Pin);
        Ok(Some(Approvals::new(Remote::listed(url, &trust, None)?, device, key)))
    }
}

/// Signs an order, has the device perform it and returns its answer.
///
/// # Errors
/// As the device judges it; [`Exit::Usage`] without a device.
pub(super) fn performed(device: &Device, operation: &str, args: &Value) -> Result<Value, Failure> {
    let Some(device) = device.reached()? else { return Err(Failure::new(Exit::Usage, "--url is missing")) };
    Ok(super::runtime()?.block_on(device.order(operation, args))?)
}

/// As [`performed`], and prints what the device says.
pub(super) fn send(device: &Device, operation: &str, args: &Value) -> Result<(), Failure> {
    outln!("{}", text(&performed(device, operation, args)?));
    Ok(())
}

/// What was done, for people. It may come from a device that was taken over.
pub(super) fn text(done: &Value) -> String {
    let lines = done["text"].as_str().unwrap_or("done").lines().map(printable);
    lines.collect::<Vec<_>>().join("\n")
}
