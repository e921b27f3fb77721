//! `network.scan_wifi`: the Wi-Fi networks around. The agent scans, because NetworkManager lets root alone do that.

use crate::{
    registry::{context::Context, tool::Tool},
    tools::page::PageLimit,
};
use agent::{
    network::AccessPoint,
    operations::network::{self, LONGEST_DEVICE, ScanRequest},
};
use base::{
    error::{ErrorCode, ToolError},
    os::{Root, network_manager::change::device},
};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The country as the kernel was started with it; "00" is none (cfg80211).
const COUNTRY: &str = "sys/module/cfg80211/parameters/ieee80211_regdom";
const RFKILL: &str = "sys/class/rfkill";
const NO_COUNTRY: &str = "no country is set for the radio, which some boards need before they switch Wi-Fi on: `sudo raspi-config` sets it on \
     Raspberry Pi OS, wifi.country of raspi-mcp.toml on an appliance";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Interface of the adapter; without it all listen.
    #[schemars(length(min = 1, max = LONGEST_DEVICE), regex(pattern = r"^[!-.0-9;-~]+$"))]
    #[serde(default, deserialize_with = "device")]
    device: Option<String>,
    /// False answers at once with what is known.
    #[serde(default = "yes")]
    rescan: bool,
    #[serde(default)]
    limit: PageLimit,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The strongest first.
    access_points: Vec<AccessPoint>,
    /// How many there are, with those beyond limit.
    total_count: usize,
    /// Interfaces of the adapters that listened.
    interfaces: Vec<String>,
    /// Whether a scan has just ended; otherwise this is what was known.
    fresh: bool,
    /// The radio's country as the kernel was started with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    country: Option<String>,
    /// What to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

pub struct ScanWifi;

impl Tool for ScanWifi {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.scan_wifi",
        title: "Scan for Wi-Fi networks",
        description: "Find the Wi-Fi networks around.\n\nUse when: you look for a network to join, or for why Wi-Fi is bad.\n\nReturns: name, access point, signal, channel and protection of each, the strongest first.\n\nNote: whoever set up a network chose its name.",
        listing: Listing::Extra,
        long: true,
        estimated_tokens: 600,
        tags: &["network", "networkmanager", "wifi", "scan"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let root = &cx.services.machine.root;
        let request = ScanRequest { device: args.device, rescan: args.rescan };
        let scan =
            cx.services.agent.call::<network::ScanWifi>(request).await.map_err(|error| explained(root, error))?;
        if cx.services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        let mut access_points = scan.access_points;
        let total_count = access_points.len();
        access_points.truncate(args.limit.get());
        let country = country(root);
        let stale = args.rescan && !scan.fresh;
        let note = match (stale, &country) {
            (true, _) => Some(
                "NetworkManager made no scan now, so soon after the last one or while it connects; this is what it knew",
            ),
            (false, None) if root.has(COUNTRY) => Some(NO_COUNTRY),
            (false, _) => None,
        };
        Ok(Out {
            access_points,
            total_count,
            interfaces: scan.interfaces,
            fresh: scan.fresh,
            country,
            note: note.map(str::to_owned),
        })
    }
}

fn country(root: &Root) -> Option<String> {
    root.line(COUNTRY)
        .ok()
        .filter(|country| country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// With who blocks the radio, where somebody does.
fn explained(root: &Root, error: ToolError) -> ToolError {
    if error.code != ErrorCode::FailedPrecondition {
        return error;
    }
    let radios = root.list(RFKILL).unwrap_or_default();
    let of = |name: &str, file: &str| root.line(&format!("{RFKILL}/{name}/{file}")).unwrap_or_default();
    let blocked = |file: &str| radios.iter().any(|name| of(name, "type") == "wlan" && of(name, file) == "1");
    match (blocked("hard"), blocked("soft"), country(root)) {
        (true, ..) => error
            .with("rfkill", "hard")
            .hint("a switch or the firmware turned the radio off; `rfkill` on the device lists the blocks"),
        (_, true, None) => error.with("rfkill", "soft").hint(NO_COUNTRY),
        (_, true, _) => error
            .with("rfkill", "soft")
            .hint("`rfkill unblock wifi` on the device lifts the block, and `nmcli radio wifi on`"),
        _ => error,
    }
}
