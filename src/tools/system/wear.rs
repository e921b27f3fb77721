//! History in a health snapshot: throttling, wear of the card, reason of the last reset.

use super::rates::rounded;
use crate::sampling::power::{FlagHistory, Story};
use base::{
    clock::Stamp,
    os::{
        cards::{self, Spare},
        diskstats::DiskCounters,
    },
};
use hw::{
    machine::Machine,
    reset::{self, Cause},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{io, time::Duration};

/// A board has one or two.
const MOST_CARDS: usize = 4;
/// Shortest uptime for estimating daily writes: a start writes more than usual.
const SHORTEST: Duration = Duration::from_secs(3600);

/// How often each flag was seen to go up, also before this boot; those that never were are absent.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct ThrottlingHistory {
    #[schemars(with = "String", extend("format" = "date-time"))]
    recorded_since: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Past")]
    under_voltage: Option<Past>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Past")]
    freq_capped: Option<Past>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Past")]
    throttled: Option<Past>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Past")]
    soft_temperature_limit: Option<Past>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Past {
    /// What comes and goes between two looks counts once a boot.
    times: u32,
    #[schemars(with = "String", extend("format" = "date-time"))]
    first_seen: Stamp,
    #[schemars(with = "String", extend("format" = "date-time"))]
    last_seen: Stamp,
}

impl From<Story> for ThrottlingHistory {
    fn from(story: Story) -> Self {
        let past = |seen: FlagHistory| {
            Some(Past { times: seen.times, first_seen: Stamp(seen.first_ms?), last_seen: Stamp(seen.last_ms?) })
        };
        Self {
            recorded_since: Stamp(story.since_ms),
            under_voltage: past(story.under_voltage),
            freq_capped: past(story.freq_capped),
            throttled: past(story.throttled),
            soft_temperature_limit: past(story.soft_temperature_limit),
        }
    }
}

/// An SD or eMMC card, which writing wears out.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct CardWear {
    device: String,
    /// SD or MMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    kind: Option<String>,
    written_since_boot_bytes: u64,
    /// At the pace since boot; absent in the first hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    written_per_day_bytes: Option<u64>,
    /// Of its estimated life, at most so much; 110 is beyond it. eMMC only: SD cards do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 10, max = 110))]
    life_used_percent: Option<u8>,
    /// Used: less than 80 %, 80 %, 90 %. eMMC only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SpareBlocks")]
    spare_blocks: Option<SpareBlocks>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SpareBlocks {
    Normal,
    Warning,
    Urgent,
}

/// The cards among the disks; none is left out. Errors of a card are passed to `fault`.
pub fn cards(machine: &Machine, disks: &[DiskCounters], mut fault: impl FnMut(io::Error)) -> Option<Vec<CardWear>> {
    let uptime = machine.about.uptime().ok().filter(|uptime| *uptime >= SHORTEST);
    let cards: Vec<CardWear> = disks
        .iter()
        .filter(|disk| disk.name.starts_with("mmcblk"))
        .take(MOST_CARDS)
        .map(|disk| {
            let card = cards::read(&machine.root, &disk.name);
            let per_day =
                |uptime: Duration| rounded(disk.written_bytes as f64 / uptime.as_secs_f64() * 86_400.0, 0) as u64;
            CardWear {
                device: disk.name.clone(),
                kind: card.kind.ok(),
                written_since_boot_bytes: disk.written_bytes,
                written_per_day_bytes: uptime.map(per_day),
                life_used_percent: card.life_used_percent.unwrap_or_else(|error| {
                    fault(error);
                    None
                }),
                spare_blocks: card
                    .spare
                    .unwrap_or_else(|error| {
                        fault(error);
                        None
                    })
                    .map(|spare| match spare {
                        Spare::Normal => SpareBlocks::Normal,
                        Spare::Warning => SpareBlocks::Warning,
                        Spare::Urgent => SpareBlocks::Urgent,
                    }),
            }
        })
        .collect();
    (!cards.is_empty()).then_some(cards)
}

/// Why the machine started last.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct LastReset {
    cause: Cause,
    /// Who says so.
    source: &'static str,
    /// Crashes of the kernel that are kept in pstore, of whatever start; absent where that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    crash_records: Option<usize>,
}

/// # Errors
/// Those of [`reset::read`].
pub async fn last_reset(machine: &Machine) -> io::Result<Option<LastReset>> {
    let reset = reset::read(&machine.root, &machine.firmware).await?;
    Ok(reset.map(|reset| LastReset {
        cause: reset.cause,
        source: reset.source,
        crash_records: reset::crash_records(&machine.root),
    }))
}
