//! `network.add_connection`: adds a connection profile, with a checkpoint that reverts it unless it is confirmed.

use super::edit::{self, Out};
use crate::registry::{context::Context, tool::Tool};
use agent::operations::network::ProfileChange;
use base::error::ToolError;
use contract::meta::Meta;

pub struct AddConnection;

impl Tool for AddConnection {
    type Args = ProfileChange;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.add_connection",
        title: "Add a connection",
        description: "Add a connection for a Wi-Fi network or a cable, and use it; it is taken back by itself unless you confirm it.\n\nUse when: the device shall join a network that no connection is for.\n\nReturns: the connection, what was active before, and until when to confirm.\n\nNote: call network.confirm_connection in time, through the new network. With activate=false it is only saved.",
        ..edit::META
    };

    fn asks(args: &ProfileChange) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: ProfileChange) -> Result<Out, ToolError> {
        edit::call(cx, args, true).await
    }
}
