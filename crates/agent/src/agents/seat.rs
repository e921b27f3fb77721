//! Where an agent runs: an account that is free, an id among those that run, and the connection that becomes its standard input and
//! output.

use super::Agents;
use crate::exec::RunningCommand;
use base::error::ToolError;
use contract::config::{
    AgentType,
    sections::agents::{AGENT_USER, first_account},
};
use std::os::fd::OwnedFd;

impl Agents {
    /// Keeps a connection for the agent that is started under `id`.
    pub(crate) fn keep_stream(&self, id: &str, stream: OwnedFd) {
        let mut state = self.state();
        // One that nobody has come for is of a server that has gone.
        if state.streams.len() >= contract::config::sections::agents::MOST {
            state.streams.clear();
        }
        state.streams.insert(id.to_owned(), stream);
    }

    pub(crate) fn take_stream(&self, id: &str) -> Option<OwnedFd> {
        self.state().streams.remove(id)
    }

    /// A place to run in: an id among the running ones, and an account of this type that is free.
    ///
    /// # Errors
    /// `resource_exhausted` while all instances are in use.
    pub(crate) fn seat<'a>(
        &'a self,
        agent: &AgentType,
        id: &'a str,
    ) -> Result<(AccountSeat<'a>, RunningCommand<'a>), ToolError> {
        let first = first_account(&self.declared, &agent.name);
        let number = {
            let mut state = self.state();
            let free = (first..first + agent.instances).find(|number| !state.accounts.contains(number));
            let free = free.ok_or_else(|| {
                ToolError::exhausted(format!("{} runs {} times already", agent.name, agent.instances))
                    .with("limit", agent.instances)
                    .with("dbus_mcp_code", -32102)
                    .hint("wait for a call to end, or raise instances of the agent")
            })?;
            state.accounts.insert(free);
            free
        };
        let seat = AccountSeat { agents: self, number };
        Ok((seat, self.running.start(id, usize::MAX)?))
    }
}

/// An account that is in use. Dropping it frees it.
pub(crate) struct AccountSeat<'a> {
    agents: &'a Agents,
    number: usize,
}

impl AccountSeat<'_> {
    pub(crate) fn user(&self) -> String {
        format!("{AGENT_USER}{}", self.number)
    }
}

impl Drop for AccountSeat<'_> {
    fn drop(&mut self) {
        self.agents.state().accounts.remove(&self.number);
    }
}
