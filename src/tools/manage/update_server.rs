//! `manage.update_server`: downloads and installs a release, starts its trial, and reports progress
//! (docs/contract/manage.md).

use super::{
    under_way::{StartedUpdate, begin, follow},
    update_args::{LONGEST_VERSION, UpdateChannel, VERSION, version},
};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::Deserialize;
use update::job::WantedRelease;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Else the configured one, which is stable unless the owner says otherwise.
    #[serde(default)]
    channel: Option<UpdateChannel>,
    /// The newest unless given.
    #[schemars(with = "Option<String>", length(min = 1, max = LONGEST_VERSION), regex(pattern = VERSION), example = "1.4.2")]
    #[serde(default, deserialize_with = "version")]
    target_version: Option<String>,
    /// Only say what would be installed.
    #[serde(default)]
    dry_run: bool,
}

pub struct UpdateServer;

impl Tool for UpdateServer {
    type Args = Args;
    type Out = StartedUpdate;
    const META: Meta = Meta {
        name: "manage.update_server",
        title: "Update this device",
        description: "Install a release into the unused slot and restart into it; it goes back by itself unless found healthy.\n\nUse when: the person wants the newest release, or a certain one.\n\nReturns: old and new version, status.\n\nNote: it goes on when you leave; get_update_status follows it, rollback ends it.",
        open_world: true,
        timeout_seconds: 3600,
        long: true,
        dry_run: true,
        estimated_tokens: 150,
        tags: &["update", "install"],
        ..Meta::RISKY
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<StartedUpdate, ToolError> {
        let named = args.channel.map(|channel| channel.name().to_owned());
        let channel = named.unwrap_or_else(|| cx.services.settings.update.channel.clone());
        let wanted = WantedRelease { channel, version: args.target_version, manifest: None };
        if args.dry_run {
            return StartedUpdate::planned(cx, &wanted).await;
        }
        begin(cx, Self::META.name, wanted).await?;
        follow(cx).await
    }

    fn whole(out: &StartedUpdate) -> Option<serde_json::Value> {
        out.task()
    }
}
