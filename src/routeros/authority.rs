//! The privileged half as the authority for writes.

use super::service::WriteAuthority;
use agent::{
    AgentLink, Authorization,
    operations::routeros::{AuthorizeRouterWrite, RouterWrite},
};
use base::{canonical, error::ToolError};
use futures::future::BoxFuture;
use serde_json::Value;

/// Asks the privileged half, over a link that is this process's own: the server is not asked.
pub struct RootAuthority(pub AgentLink);

impl WriteAuthority for RootAuthority {
    fn authorize<'a>(
        &'a self,
        tool: &'a str,
        principal: &'a str,
        subject: &'a Value,
        ask_id: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let authorization = Authorization {
                principal: principal.to_owned(),
                args_sha256: canonical::sha256_hex(subject),
                ask_id: ask_id.map(str::to_owned),
            };
            let write = RouterWrite { tool: tool.to_owned(), subject: subject.clone(), authorization };
            self.0.call::<AuthorizeRouterWrite>(write).await.map(drop)
        })
    }
}
