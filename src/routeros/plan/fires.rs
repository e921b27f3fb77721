//! Whether a way back works on this router: a harmless change is left unconfirmed, and the router has to take it back by
//! itself. An entry of the scheduler that is there and never runs is no way back.

use super::{
    apply::{AddedRows, Apply, BACK},
    base::Base,
    change::{Change, fields},
};
use crate::routeros::client::RouterClient;
use base::error::ToolError;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// How long the router has.
const TIMER: Duration = Duration::from_secs(10);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(500);

/// An address for documentation, in a list that no rule names.
fn harmless() -> Change {
    let select = fields(&[("list", "raspi-mcp-test"), ("address", "192.0.2.1")]);
    Change::add("ip/firewall/address-list", select, fields(&[("comment", "raspi-mcp: takes itself back")]))
}

/// Adds an entry to a list of addresses that nothing uses, and waits until the router has taken it back by itself.
/// Returns the version of RouterOS that did.
///
/// # Errors
/// `failed_precondition` when it did not in time: the entry is taken away then. Those of the connection.
pub async fn rollback_test(client: &RouterClient) -> Result<String, ToolError> {
    let changes = [harmless()];
    let resource = client.get("system/resource").await?;
    let version = resource["version"].as_str().unwrap_or_default().to_owned();
    let base = Base::read(client, &changes).await?;
    let hash = base.hash();
    let test = Apply {
        device: client.device(),
        plan: "test",
        changes: &changes,
        base: &hash,
        timer: TIMER,
        keep: &|_| Ok(()),
        added: AddedRows::default(),
    };
    let until = Instant::now() + TIMER + BACK;
    let written = async {
        test.arm(client, &base).await?;
        test.write(client, &base).await
    };
    let fired = match written.await {
        Ok(()) => timeout_at(until, async {
            while !test.is_as_before(client, &base).await {
                sleep(LOOK).await;
            }
        })
        .await
        .is_ok(),
        Err(error) => {
            let _ = test.take_back(&base, until).await;
            return Err(error);
        }
    };
    // Takes the entries of the scheduler away, and the harmless one if it is still there.
    test.take_back(&base, Instant::now() + BACK).await?;
    if fired {
        return Ok(version);
    }
    let device = client.device().id.as_str();
    Err(ToolError::precondition(format!("the scheduler of the router {device} did not take a change back by itself"))
        .with("device_id", device)
        .with("mcp_error_code", "UNSAFE_OPERATION")
        .hint("does its user's group have the policies read and write, and does its log say why? Nothing was changed"))
}
