//! Steps 1 and 2 of an update: is this head signed, is it for this machine, may it be installed now. Nothing is
//! written.

use super::record::InstallRecord;
use crate::{
    Reckoning, Slot,
    bundle::{BundleHead, Envelope, Manifest},
    trust::{RootOfTrust, VerifiedRelease},
};
use base::error::{ErrorCode, ToolError};

/// What the manifest is compared with, besides the record.
#[derive(Clone, Debug, Default)]
pub struct MachineFacts {
    pub product: String,
    pub channel: String,
    pub layout: String,
    /// Device-tree compatibles, most specific first.
    pub hardware: Vec<String>,
    /// When its bootloader was built, in seconds since 1970, if it reports that.
    pub bootloader_built: Option<u64>,
    /// Whether its bootloader could be too old: a Raspberry Pi's EEPROM.
    pub has_eeprom: bool,
    /// When the running image was built, in seconds since 1970.
    pub built: u64,
}

/// The result.
#[derive(Debug)]
pub struct AcceptedBundle {
    pub release: VerifiedRelease,
    pub target: Slot,
    /// For people: what could not be determined.
    pub notes: Vec<String>,
}

/// Verifies the first bytes of a bundle. `clock` is the system's, in seconds since 1970; `synchronised`: whether it was
/// set from the network.
///
/// # Errors
/// `verification_failed` for signatures, `failed_precondition` for another machine or time, and those of
/// [`crate::slots::admit`].
pub fn judge(
    head: &[u8],
    roots: &RootOfTrust,
    machine: &MachineFacts,
    record: &InstallRecord,
    now: Reckoning,
) -> Result<AcceptedBundle, ToolError> {
    let envelope = match Envelope::read(head)? {
        BundleHead::Whole(envelope) => envelope,
        BundleHead::More(bytes) => {
            return Err(ToolError::invalid(format!("the bundle's head has {bytes} bytes, and {} came", head.len()))
                .hint("send all of it"));
        }
    };
    let release = roots.verify_release(&envelope)?;
    fits(&release.manifest, machine)?;
    let expires = release.manifest.expires;
    if now.now >= expires {
        return Err(ToolError::precondition(format!(
            "version {} was not to be installed after {expires}, and it is at least {} (seconds since 1970)",
            release.manifest.version, now.now
        ))
        .with("expires", expires)
        .with("not_earlier_than", now.now)
        .hint("get a newer release from the channel"));
    }
    release.manifest.made_by(now.latest())?;
    roots.fresh(now.now)?;
    let target = record.admit(&release)?;
    let mut notes = Vec::new();
    if !now.fresh {
        notes.push(format!(
            "the clock is not set from the network or not plausible: expiry was held against {} (seconds since 1970), freshness is unknown",
            now.now
        ));
    }
    Ok(AcceptedBundle { release, target, notes })
}

/// Whether it was made for this machine.
fn fits(manifest: &Manifest, machine: &MachineFacts) -> Result<(), ToolError> {
    let other = |what: &str, theirs: &str, ours: &str| {
        Err(ToolError::precondition(format!("the bundle is for {what} {theirs}, and this machine is {ours}"))
            .with("bundle", theirs)
            .with("machine", ours)
            .hint(format!("get the bundle for this {what}")))
    };
    if manifest.product != machine.product {
        return other("product", &manifest.product, &machine.product);
    }
    if manifest.layout != machine.layout {
        return other("layout", &manifest.layout, &machine.layout);
    }
    if manifest.channel != machine.channel {
        return other("channel", &manifest.channel, &machine.channel);
    }
    if !manifest.hardware.iter().any(|hardware| machine.hardware.contains(hardware)) {
        return other("hardware", &manifest.hardware.join(", "), &machine.hardware.join(", "));
    }
    match (manifest.min_eeprom.filter(|_| machine.has_eeprom), machine.bootloader_built) {
        (Some(oldest), Some(built)) if built < oldest => Err(ToolError::precondition(format!(
            "version {} needs a bootloader (EEPROM) of {oldest} or later, and this one is of {built} (seconds since 1970)",
            manifest.version
        ))
        .with("min_eeprom", oldest)
        .with("eeprom", built)
        .hint("update the bootloader first, with rpi-eeprom-update on the device")),
        (Some(oldest), None) => Err(ToolError::new(
            ErrorCode::FailedPrecondition,
            format!("version {} needs a bootloader of {oldest} or later, and this board does not tell its own", manifest.version),
        )
        .with("min_eeprom", oldest)
        .hint("update the bootloader first, with rpi-eeprom-update on the device")),
        _ => Ok(()),
    }
}
