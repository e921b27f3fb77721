//! A new host name.

use crate::{
    agent::{Agent, HostnameRequest, Peer, hostname, protocol::Hostname},
    error::ToolError,
};
use serde_json::json;

const TOOL: &str = "system.set_hostname";

impl Agent {
    pub(in crate::agent) async fn set_hostname(
        &self,
        peer: &Peer,
        request: &HostnameRequest,
    ) -> Result<Hostname, ToolError> {
        self.policy().check(TOOL)?;
        let previous = self.machine.hostname()?;
        hostname::check(&request.hostname)?;
        if !request.dry_run {
            self.admit(peer, TOOL, &request.authorization, |ask| {
                ask.request.args.get("hostname") == Some(&json!(request.hostname))
            })?;
            self.machine.set_hostname(&request.hostname).await.map_err(ToolError::maybe_changed)?;
        }
        Ok(Hostname { previous, simulated: self.simulated })
    }
}
