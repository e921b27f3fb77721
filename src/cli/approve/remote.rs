//! `raspi-mcp approve --url`: the same from another computer, signed with an approver's key.

use super::{Args, Keyboard, question, say};
use crate::{
    cli::{
        approver,
        exit::{Exit, Failure},
        target,
    },
    client::{Approvals, OpenedAsk, Remote},
};
use agent::{approvers::Decision, asks::normal_id};
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use contract::audit::rfc3339;
use std::{io::Write, path::PathBuf};

/// The device whose requests are answered, if it is not this one.
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
    /// The device's ID, as `raspi-mcp approver add` printed it at its console: requests of others are refused
    #[arg(long, value_name = "ID", requires = "url", value_parser = approver::device)]
    pub device: Option<String>,
}

impl Device {
    /// The device in the network, if one is named.
    pub(super) fn reached(&self) -> Result<Option<Approvals>, Failure> {
        let (Some(url), Some(key), Some(device)) = (&self.url, &self.key, &self.device) else { return Ok(None) };
        let key = approver::secret(key)?;
        // No token is needed, so none is sent.
        let url = url.parse().map_err(|error| ToolError::invalid(format!("--url {url}: {error}")))?;
        let trust = self.pin.map_or(crate::client::Trust::System, crate::client::Trust::Pin);
        Ok(Some(Approvals::new(Remote::listed(url, &trust, None)?, device.clone(), key)))
    }
}

/// Shows the device's asks and signs the answers.
pub(super) async fn converse(
    device: &Approvals,
    args: &Args,
    input: &mut dyn Keyboard,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let mut waiting = device.list().await?;
    if let Some(id) = &args.id {
        let wanted = normal_id(id);
        waiting.retain(|opened| opened.ask.ask == wanted);
        if waiting.is_empty() {
            return Err(Failure::new(Exit::Failed, format!("ask {wanted} does not wait on that device")));
        }
    }
    if waiting.is_empty() {
        return say(output, "nothing waits for an approval\n");
    }
    for opened in &waiting {
        show(opened, output)?;
        if args.list {
            continue;
        }
        let ask = &opened.ask;
        let Some(yes) = (if args.deny { Some(false) } else { question(&ask.ask, &ask.tool, input, output)? }) else {
            say(output, "left as it is\n\n")?;
            continue;
        };
        device.answer(opened, if yes { Decision::Approve } else { Decision::Deny }).await?;
        say(output, if yes { "approved: good for one such call\n\n" } else { "denied\n\n" })?;
    }
    Ok(())
}

/// Shows what the device has signed, with control characters escaped once more: a device may be taken over.
fn show(opened: &OpenedAsk, output: &mut dyn Write) -> Result<(), Failure> {
    let ask = &opened.ask;
    let lines: String = ask.lines.iter().map(|line| format!("{}\n", crate::terminal::printable(line))).collect();
    say(output, &format!("ask {}\n{lines}  expires   {}\n", ask.ask, rfc3339(ask.expires_ms)))
}
