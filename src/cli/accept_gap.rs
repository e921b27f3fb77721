//! `raspi-mcp audit accept-gap`: an owner accepts that records are missing.
//!
//! Goes only through the agent's socket, which accepts it from approvers and never from the server's user. The agent
//! records who accepted what, and the server records it in the chain.

use super::{
    audit,
    exit::{Exit, Failure},
    say::outln,
    slot::agreed,
};
use crate::store;
use agent::{
    AgentLink, Client,
    operations::audit::{AcceptGap, GapRequest},
};
use contract::config::Settings;
use std::path::Path;

pub fn run(settings: &Settings, file: &Path, yes: bool) -> Result<(), Failure> {
    let (report, _) = audit::verdict(settings, file)?;
    if report.gaps.is_empty() {
        return match report.reason {
            None => {
                outln!("nothing is missing");
                Ok(())
            }
            Some(reason) => Err(Failure::new(
                Exit::Failed,
                format!(
                    "no gap, but a change: {reason}\n  this cannot be accepted: keep the file as evidence (stop the server, move \
                     {} and its -wal away), start the server, then accept what is missing",
                    file.display()
                ),
            )),
        };
    }
    outln!("{}", audit::told(&report, true));
    if !agreed(yes, "accept for good that this is missing?")? {
        outln!("left as it is");
        return Ok(());
    }
    let agent = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    super::runtime()?.block_on(async {
        for gap in &report.gaps {
            let accepted = agent.call::<AcceptGap>(GapRequest { chain: gap.chain.clone(), seq: gap.last_seq }).await?;
            // If this user may. The server does it as well, once the agent reports the gap.
            store::settle(file, accepted.ts_ms);
            outln!("accepted by {}: {}", accepted.by, gap.what);
        }
        Ok(())
    })
}
