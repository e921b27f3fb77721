//! Whether an update could succeed now: `raspi-mcp doctor --update`. Read-only.

use super::Finding;
use base::{
    error::ToolError,
    os::{
        Root,
        cards::{self, Spare},
        clock,
    },
};
use contract::config::{Faults, InForce, Settings};
use hw::firmware::Throttled;
use std::path::PathBuf;
use update::{
    AHEAD,
    boot::{BootMachine, BootWitness, By, has_tryboot},
    bundle::Manifest,
    disk::Layout,
    status::{Phase, SlotState, UpdateStatus},
    trust::RootOfTrust,
};
use update_client;

/// The facts to check.
pub struct Preflight {
    pub root: Root,
    pub settings: Result<(Settings, Vec<InForce>), Faults>,
    /// The agent's report on the slots.
    pub status: Result<UpdateStatus, ToolError>,
    /// The firmware's power flags; `None` if unavailable.
    pub throttled: Option<Throttled>,
    /// Seconds since 1970, by the system's clock.
    pub now: u64,
    /// The release to check, or why its file cannot be read; `None`: no particular one.
    pub release: Option<Result<Manifest, String>>,
    /// The image's fragments, which every release replaces.
    pub image_dir: PathBuf,
    /// The owner's fragments, if this is an appliance: a release sets aside what it does not understand there.
    pub shared_dir: Option<PathBuf>,
}

/// Typical changes of a root file system in a month, in bytes.
const USUAL: u64 = 256 << 20;
/// Used part of an eMMC's lifetime that is reported, in percent.
const WORN: u8 = 90;
/// Keys that expire sooner than this are reported, in seconds.
const SOON: u64 = 30 * 86_400;

/// Runs all checks.
pub fn preflight(about: &Preflight) -> Vec<Finding> {
    let mut findings = slots(&about.status);
    match &about.settings {
        Err(faults) => findings.push(Finding::wrong(
            "configuration",
            faults.to_string().trim().to_owned(),
            "mend it first: a new version starts restricted with what it does not understand",
        )),
        Ok((settings, set)) => {
            findings.push(configuration(settings));
            findings.extend(super::release::findings(about, settings, set));
            findings.push(channel(settings));
            findings.push(space(settings));
            findings.push(keys(settings, about));
            if about.status.as_ref().is_ok_and(|status| !status.simulated) {
                findings.extend(board(settings, &about.root));
            }
        }
    }
    findings.extend(power(about.throttled));
    findings.extend(wear(&about.root));
    findings.push(time(about));
    findings
}

fn slots(status: &Result<UpdateStatus, ToolError>) -> Vec<Finding> {
    let about = "slots";
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            let mend = error.hint.clone().unwrap_or_else(|| "look at: journalctl -u raspi-mcp-agent".into());
            return vec![Finding::wrong(about, error.message.clone(), mend)];
        }
    };
    let mut findings = Vec::new();
    for slot in &status.slots {
        let version = slot.version.as_deref().unwrap_or("of no known version");
        let says = format!("slot {} ({version}) is {}", slot.slot, word(slot.state));
        findings.push(match (slot.running, slot.state) {
            (true, SlotState::Good) => Finding::ok(about, format!("{says}, and runs")),
            (true, SlotState::Trial) => {
                Finding::wrong(about, format!("{says}: no update while it is"), "wait until it has proved itself")
            }
            (true, _) => {
                Finding::wrong(about, format!("{says}, and runs"), "raspi-mcp slot mark-good, once all is well")
            }
            (false, SlotState::Good) => Finding::ok(about, says),
            (false, _) => Finding::note(
                about,
                format!("{says}: there is nothing to go back to until an update is committed"),
                "nothing; an update writes it",
            ),
        });
    }
    if let Some(last) =
        status.last_attempt.as_ref().filter(|last| matches!(last.phase, Phase::RolledBack | Phase::Failed))
    {
        findings.push(Finding::note(
            "last update",
            format!("{} did not stay: {}", last.version, last.reason),
            "install another version, or mend what it says and try again",
        ));
    }
    findings.extend(status.faults.iter().map(|fault| Finding::wrong(about, fault.clone(), "see docs/update.md")));
    findings
}

fn word(state: SlotState) -> &'static str {
    match state {
        SlotState::Good => "good",
        SlotState::Writing => "half written",
        SlotState::Armed => "armed",
        SlotState::Trial => "on trial",
        SlotState::Bad => "not to be started",
        SlotState::Unknown => "unknown",
    }
}

fn configuration(settings: &Settings) -> Finding {
    match settings.restricted.first() {
        None => Finding::ok(
            "configuration",
            "understood whole; state fragments are the only ones that another version writes",
        ),
        Some(fault) => Finding::note(
            "configuration",
            format!("a fragment is set aside already, and the next version may read it again: {fault}"),
            "remove it from the state folder, or mend it",
        ),
    }
}

fn channel(settings: &Settings) -> Finding {
    let update = &settings.update;
    if update.url.is_empty() {
        return Finding::note(
            "channel",
            "none is configured: releases come from a file alone (raspi-mcp slot install)",
            "set update.url",
        );
    }
    Finding::ok("channel", format!("{} of {}", update.channel, update.url))
}

fn space(settings: &Settings) -> Finding {
    let (about, update) = ("space", &settings.update);
    // The folder is created when first needed.
    let there = update.spool_dir.ancestors().find(|folder| folder.exists()).unwrap_or(&update.spool_dir);
    match update_client::fetch::free(there) {
        Ok(free) if free.saturating_sub(update.spool_reserve_bytes) >= USUAL => {
            Finding::ok(about, format!("{} MiB free for blocks in {}", free >> 20, update.spool_dir.display()))
        }
        Ok(free) => Finding::note(
            about,
            format!(
                "{} MiB free in {}, {} of them reserved: a large update is written as it comes, with nothing to go back to meanwhile",
                free >> 20,
                update.spool_dir.display(),
                update.spool_reserve_bytes >> 20
            ),
            "make room, or set update.spool_dir to a larger file system",
        ),
        Err(error) => Finding::wrong(about, format!("{}: {error}", there.display()), "see that it can be read"),
    }
}

fn keys(settings: &Settings, about: &Preflight) -> Finding {
    let path = about.root.path(&settings.update.trust.display().to_string());
    let shown = settings.update.trust.display();
    let wrong =
        |says: String| Finding::wrong("keys", says, "update.trust names the root of trust that came with the image");
    let roots = match std::fs::read(&path) {
        Ok(bytes) => match RootOfTrust::parse(&bytes) {
            Ok(roots) => roots,
            Err(fault) => return wrong(format!("{shown}: {fault}")),
        },
        Err(error) => return wrong(format!("{shown}: {error}")),
    };
    let version = roots.version();
    match (roots.fresh(about.now), roots.fresh(about.now + SOON)) {
        (Err(fault), _) => Finding::note(
            "keys",
            format!("root of trust {version}: {fault}"),
            "a look at the channel brings a newer one",
        ),
        (_, Err(_)) => Finding::note(
            "keys",
            format!("root of trust {version} expires within a month"),
            "a look at the channel brings a newer one",
        ),
        _ => Finding::ok("keys", format!("root of trust {version}, in {shown}")),
    }
}

fn board(settings: &Settings, root: &Root) -> Vec<Finding> {
    let file = root.path(&settings.update.layout.display().to_string());
    let layout = match Layout::read(&file) {
        Ok(layout) => layout,
        Err(error) => {
            return vec![Finding::wrong("layout", error.into_message(), "the image brings it; update.layout names it")];
        }
    };
    let by = if has_tryboot(root) { By::DeviceTree } else { By::CommandLine };
    let seen = BootMachine::new(root.clone(), layout.clone(), by).seen();
    let mut findings = vec![Finding::ok("layout", format!("{}, {}", layout.name, settings.update.layout.display()))];
    findings.push(match (seen.can_try, seen.bootloader_built) {
        (Some(false), _) => Finding::wrong(
            "bootloader",
            "the EEPROM is too old to try a slot",
            "update it with rpi-eeprom-update, and restart",
        ),
        (_, Some(built)) => Finding::ok(
            "bootloader",
            format!("of {}", base::clock::Stamp(i64::try_from(built).unwrap_or(0).saturating_mul(1000))),
        ),
        (_, None) => {
            Finding::note("bootloader", "does not say how old it is", "nothing, where U-Boot starts the board")
        }
    });
    findings.extend(seen.faults.into_iter().map(|fault| Finding::wrong("bootloader", fault, "see docs/boot.md")));
    findings
}

fn power(throttled: Option<Throttled>) -> Option<Finding> {
    let throttled = throttled?;
    Some(if throttled.under_voltage() {
        Finding::wrong(
            "power",
            "the supply is too low now: a card that is written then may be damaged",
            "use another supply or cable first",
        )
    } else if throttled.under_voltage_occurred() {
        Finding::note("power", "the supply has been too low since the start", "use another supply or cable")
    } else if !throttled.remembers() {
        Finding::note(
            "power",
            "the supply is good now; whether it was since the start is not known, for this kernel clears the record",
            "`vcgencmd get_throttled` as root or in the group video asks the firmware itself: 0x0 is good",
        )
    } else {
        Finding::ok("power", "the supply has been good since the start")
    })
}

fn wear(root: &Root) -> Vec<Finding> {
    let disks = root.list("sys/block").unwrap_or_default();
    let cards = disks.iter().filter(|name| name.starts_with("mmcblk") && !name.contains("boot"));
    cards
        .filter_map(|name| {
            let card = cards::read(root, name);
            let life = card.life_used_percent.ok().flatten();
            let spare = card.spare.ok().flatten();
            match (life, spare) {
                (_, Some(Spare::Urgent)) => Some(Finding::wrong(
                    "card",
                    format!("{name} has nearly no spare blocks left"),
                    "replace it before it is written any more",
                )),
                (Some(life), _) if life > WORN => Some(Finding::note(
                    "card",
                    format!("{name} says that {life} % of its life is used"),
                    "replace it soon; an update writes a few hundred MB",
                )),
                (Some(life), _) => {
                    Some(Finding::ok("card", format!("{name} says that at most {life} % of its life is used")))
                }
                (None, _) => None,
            }
        })
        .collect()
}

fn time(about: &Preflight) -> Finding {
    let floor = about.status.as_ref().map_or(0, |status| status.time_floor);
    if about.now.saturating_add(AHEAD) < floor {
        return Finding::wrong(
            "time",
            "the clock is earlier than the newest release that was verified here",
            "set it: timedatectl set-ntp true",
        );
    }
    match clock::synchronized(&about.root) {
        Some(true) => Finding::ok("time", "set from the network"),
        _ => Finding::note(
            "time",
            "nobody knows that the clock is right, so neither whether a release has expired",
            "wait for the network",
        ),
    }
}
