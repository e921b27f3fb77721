//! `manage.preview_os_updates`: the plan of an OS update, which replaces the whole image (docs/contract/manage.md).

use super::update_args::{CHANNEL, LONGEST_CHANNEL, channel};
use crate::registry::{context::Context, tool::Tool};
use base::{clock::Stamp, error::ToolError};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use update::{Slot, bundle::Digest, job::WantedRelease};

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
    /// What apply_os_updates wants to be told, both of them.
    plan_id: String,
    #[schemars(with = "String")]
    plan_hash: Digest,
    from_version: Option<String>,
    to_version: String,
    channel: String,
    /// The slot that is overwritten.
    target_slot: Slot,
    /// SHA-256 of the bundle's manifest.
    #[schemars(with = "String")]
    manifest_sha256: Digest,
    /// Bytes of the whole bundle: no more than that is fetched, and of it only blocks that neither slot has.
    full_bytes: u64,
    /// Bytes of the images: no more than that is written.
    image_bytes: u64,
    /// An update of this very release was begun: what is written is not fetched again.
    resumes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    release_notes: Option<String>,
    /// What happens, and what can go wrong.
    risks: Vec<&'static str>,
    /// What the agent and the channel want a person to know.
    notes: Vec<String>,
    /// Until then it can be applied.
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Stamp,
}

const RISKS: &[&str] = &[
    "the device restarts once, and connections end; it is back in a minute or two",
    "a system that is not found healthy within its deadline is left again, by one more restart",
    "the system in the other slot is overwritten: until the new one is committed there is one good system, not two",
];

pub struct PreviewOsUpdates;

impl Tool for PreviewOsUpdates {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.preview_os_updates",
        title: "Preview an OS update",
        description: "Plan the OS update that the channel has; changes nothing.\n\nUse when: before apply_os_updates.\n\nReturns: plan_id, plan_hash, versions, sizes, risks.",
        listing: Listing::Extra,
        open_world: true,
        timeout_seconds: 60,
        estimated_tokens: 350,
        tags: &["update", "plan", "os"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        let channel = args.channel.unwrap_or_else(|| cx.services.settings.update.channel.clone());
        let wanted = WantedRelease { channel: channel.clone(), version: None, manifest: None };
        let (planned, judged) = updates.plan_of(&wanted).await?;
        if judged.simulated {
            cx.notes.simulated();
        }
        Ok(Out {
            plan_id: planned.id,
            plan_hash: planned.hash,
            from_version: planned.from_version,
            to_version: judged.version,
            channel,
            target_slot: judged.target,
            manifest_sha256: judged.manifest_sha256,
            full_bytes: planned.bundle_bytes,
            image_bytes: judged.total_bytes,
            resumes: judged.resumes,
            release_notes: Some(planned.offer.release.notes).filter(|notes| !notes.is_empty()),
            risks: RISKS.to_vec(),
            notes: judged.notes,
            expires_at: Stamp(planned.expires_ms),
        })
    }
}
