//! `network.update_connection`: changes a connection profile, with a checkpoint that reverts it unless it is confirmed.

use super::edit::{self, Out};
use crate::registry::{context::Context, tool::Tool};
use agent::operations::network::ProfileChange;
use base::error::ToolError;
use contract::meta::{Effect, Meta};

pub struct UpdateConnection;

impl Tool for UpdateConnection {
    type Args = ProfileChange;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.update_connection",
        title: "Change a connection",
        description: "Change a connection's passphrase, network, address or name servers; one in use is taken back by itself unless you confirm it.\n\nUse when: a network got another passphrase or address.\n\nReturns: the connection, what was active before, and until when to confirm.\n\nNote: what is not named stays, the passphrase too. A connection that is not in use is saved at once.",
        effect: Effect::Write { destructive: true, idempotent: true },
        ..edit::META
    };

    fn asks(args: &ProfileChange) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: ProfileChange) -> Result<Out, ToolError> {
        edit::call(cx, args, false).await
    }
}
