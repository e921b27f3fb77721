//! `raspi-mcp routeros test`: whether a router answers, its version, and whether its user may do more than it needs.

use crate::{
    cli::{
        exit::{Exit, Failure},
        say::outln,
    },
    routeros::{
        RouterClient,
        call::Report,
        configured::{self, Passwords},
        link,
        wire::Asked,
    },
    terminal::printable,
};
use base::error::ToolError;
use contract::config::RouterSetting;
use serde_json::Value;
use std::{path::Path, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The policies that a group can need for this machine (docs/routeros.md). `test` is for ping and traceroute.
const NEEDED: [&str; 4] = ["read", "write", "test", "rest-api"];

/// `socket`: of the routers' process, which alone writes to routers and keeps which ones were tested.
pub async fn run(router: &RouterSetting, socket: &Path) -> Result<(), Failure> {
    let client = RouterClient::new(configured::device(router, &Passwords::Files)?)?;
    answers(&client).await?;
    let changes = router.allow_advanced || router.allow_professional;
    let faults = rights(&client, changes).await?;
    if faults.is_empty() {
        outln!("its user has the rights that it needs, and no others");
    }
    if router.allow_professional {
        outln!("a harmless entry of an address list is added; the router has 10 s to take it back by itself");
        let asked = Asked::Test(router.name.clone());
        let silent: Report = Arc::new(|_, _, _| {});
        let version = link::ask(socket, &asked, true, &CancellationToken::new(), &silent).await?;
        let version = printable(version.as_str().unwrap_or_default()).to_string();
        outln!("it did: plans may be applied to it while it runs RouterOS {version}");
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(Exit::Failed, faults.join("\n"))) }
}

/// Reads the router, and says what it is.
///
/// # Errors
/// Those of the client.
pub async fn answers(client: &RouterClient) -> Result<(), ToolError> {
    let about = client.get("system/resource").await?;
    let text = |field: &str| printable(about[field].as_str().unwrap_or("?")).to_string();
    let device = client.device();
    outln!("{}: RouterOS {} ({}) answers at {}", device.id, text("version"), text("board-name"), device.address);
    Ok(())
}

/// What is wrong with the rights of the router's user. `changes`: the configuration opens the router to changes.
async fn rights(client: &RouterClient, changes: bool) -> Result<Vec<String>, ToolError> {
    let user = &client.device().user;
    let rows = client.get("user").await?;
    let Some(group) = found(&rows, user).and_then(|row| row["group"].as_str()) else {
        return Ok(vec![format!("the router does not show its user {user}, so its rights are not known")]);
    };
    let groups = client.get("user/group").await?;
    let policy = found(&groups, group).and_then(|row| row["policy"].as_str()).unwrap_or_default();
    // RouterOS lists those that a group lacks too, with "!".
    let has: Vec<&str> = policy.split(',').filter(|one| !one.is_empty() && !one.starts_with('!')).collect();
    let group = printable(group);
    let mut faults = Vec::new();
    let more: Vec<&str> = has.iter().copied().filter(|one| !NEEDED.contains(one)).collect();
    if !more.is_empty() {
        let more = more.join(",");
        faults.push(format!("group {group} has more rights than this machine needs: {}", printable(&more)));
    }
    match (has.contains(&"write"), changes) {
        (true, false) => faults.push(format!("group {group} may write, and no change of this router is allowed here")),
        (false, true) => faults.push(format!("group {group} lacks the policy write, which changes need")),
        _ => {}
    }
    if !faults.is_empty() {
        faults.push("docs/routeros.md has the group to make on the router".into());
    }
    Ok(faults)
}

fn found<'a>(rows: &'a Value, name: &str) -> Option<&'a Value> {
    rows.as_array()?.iter().find(|row| row["name"] == name)
}
