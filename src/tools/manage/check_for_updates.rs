//! `manage.check_for_updates`: the update that the channel offers this device (docs/contract/manage.md).

use super::update_args::{CHANNEL, LONGEST_CHANNEL, channel};
use crate::registry::{context::Context, tool::Tool};
use base::{clock::Stamp, error::ToolError};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Else the configured one.
    #[schemars(with = "Option<String>", length(min = 1, max = LONGEST_CHANNEL), regex(pattern = CHANNEL))]
    #[serde(default, deserialize_with = "channel")]
    channel: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Whether there is something to install now.
    update_available: bool,
    current_version: String,
    /// The newest of the channel; the current one where it has none.
    latest_version: String,
    channel: String,
    /// When it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    release_date: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    release_notes_url: Option<String>,
    /// What the channel says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    release_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    download_url: Option<String>,
    /// Of the bundle's manifest, which holds the hashes of all the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    checksum: Option<String>,
    /// Of the whole bundle; blocks that are here already are not fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    download_bytes: Option<u64>,
    /// Why a newer version is not offered to this device now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    held: Option<String>,
    /// What a person should know: that the clock is not set, say.
    notes: Vec<String>,
    #[schemars(with = "String", extend("format" = "date-time"))]
    last_checked: Stamp,
}

pub struct CheckForUpdates;

impl Tool for CheckForUpdates {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.check_for_updates",
        title: "Check for updates",
        description: "Ask the channel for a newer release for this device.\n\nUse when: before update_server.\n\nReturns: current and latest version, notes, size, why one is held.",
        open_world: true,
        timeout_seconds: 60,
        estimated_tokens: 200,
        tags: &["update", "version"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        let channel = args.channel.unwrap_or_else(|| cx.services.settings.update.channel.clone());
        let current_version = updates.running_version().await;
        let found = updates.find(&channel, None).await?;
        let newest = found.offer.as_ref().or(found.newest.as_ref());
        Ok(Out {
            update_available: found.offer.is_some(),
            latest_version: newest.map_or_else(|| current_version.clone(), |offer| offer.release.version.clone()),
            release_date: newest.map(|offer| Stamp(offer.released_ms())),
            release_notes_url: newest.and_then(|offer| offer.release.notes_url.clone()),
            release_notes: newest.map(|offer| offer.release.notes.clone()).filter(|notes| !notes.is_empty()),
            download_url: newest.and_then(|offer| offer.places.first().map(ToString::to_string)),
            checksum: newest.map(|offer| format!("sha256:{}", offer.release.manifest)),
            download_bytes: newest.map(|offer| offer.release.size),
            held: found.held,
            notes: found.notes,
            last_checked: Stamp(found.checked_ms),
            current_version,
            channel,
        })
    }
}
