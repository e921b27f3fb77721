//! The same DNS and NTP servers on every router.

use super::Kind;
use crate::routeros::{
    call::RouterCall,
    plan::{Change, Selector, fields},
    plans::seen::Seen,
    routers::Router,
};
use base::error::ToolError;
use futures::future::join_all;
use serde_json::{Map, json};
use std::net::IpAddr;

pub static ROLLOUT: Kind = Kind {
    apply: "routeros.config_apply_dns_ntp_rollout",
    menus: &["ip/dns", "system/ntp/client", "ip/firewall/filter", "ip/firewall/address-list"],
    build: build_rollout,
    check: Some(|router, call| Box::pin(answer(router, call))),
};

/// One server of each kind has to answer the router, unless the caller says otherwise.
async fn answer(router: &Router, call: &RouterCall) -> Result<(), ToolError> {
    for parameter in ["dns_servers", "ntp_servers"] {
        let servers = call.texts(parameter);
        if call.flag("check_reachable") && !servers.is_empty() {
            one_answers(router, &servers, parameter).await?;
        }
    }
    Ok(())
}

/// Pings servers from a router.
///
/// # Errors
/// `failed_precondition` when none of them answers.
pub async fn one_answers(router: &Router, servers: &[String], parameter: &str) -> Result<(), ToolError> {
    let pings = servers.iter().map(|server| async move {
        let arguments = Map::from_iter([("address".to_owned(), json!(server)), ("count".to_owned(), json!("2"))]);
        let replies = router.client.command("tool/ping", &arguments).await?;
        let mut replies = replies.as_array().into_iter().flatten();
        Ok(replies.any(|reply| reply["received"].as_str().is_some_and(|count| count != "0")))
    });
    let answers: Result<Vec<bool>, ToolError> = join_all(pings).await.into_iter().collect();
    if answers.inspect_err(|error| router.note(Some(error)))?.contains(&true) {
        return Ok(());
    }
    let servers = servers.join(", ");
    Err(ToolError::precondition(format!("none of {servers} answers a ping of the router {}", router.id()))
        .with("device_id", router.id())
        .with("mcp_error_code", "UNSAFE_OPERATION")
        .with("parameter", parameter)
        .hint("check_reachable = false sets servers that answer no pings"))
}

fn build_rollout(call: &RouterCall, _: &Seen) -> Result<Vec<Change>, ToolError> {
    let (dns, ntp) = (call.texts("dns_servers"), call.texts("ntp_servers"));
    let mut changes = Vec::new();
    if !dns.is_empty() {
        changes.push(Change::set("ip/dns", Selector::new(), fields(&[("servers", &dns_servers(&dns)?)])));
    }
    if !ntp.is_empty() {
        let to = fields(&[("servers", &ntp_servers(&ntp)?), ("enabled", "yes")]);
        changes.push(Change::set("system/ntp/client", Selector::new(), to));
    }
    if changes.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give dns_servers or ntp_servers"));
    }
    Ok(changes)
}

/// Addresses, with commas between them.
///
/// # Errors
/// `invalid_argument`.
pub fn dns_servers(all: &[String]) -> Result<String, ToolError> {
    distinct("dns_servers", all)?;
    match all.iter().find(|one| one.parse::<IpAddr>().is_err()) {
        Some(bad) => Err(ToolError::invalid(format!("{bad:?} is no address")).with("parameter", "dns_servers")),
        None => Ok(all.join(",")),
    }
}

/// Addresses or names of hosts, with commas between them.
///
/// # Errors
/// `invalid_argument`.
pub fn ntp_servers(all: &[String]) -> Result<String, ToolError> {
    distinct("ntp_servers", all)?;
    let is_host = |one: &String| {
        one.parse::<IpAddr>().is_ok()
            || one.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
    };
    match all.iter().find(|one| !is_host(one)) {
        Some(bad) => {
            Err(ToolError::invalid(format!("{bad:?} is no address and no name")).with("parameter", "ntp_servers"))
        }
        None => Ok(all.join(",")),
    }
}

fn distinct(parameter: &str, all: &[String]) -> Result<(), ToolError> {
    match all.iter().enumerate().find(|(at, one)| all[..*at].contains(one)) {
        Some((_, twice)) => Err(ToolError::invalid(format!("{twice:?} is named twice")).with("parameter", parameter)),
        None => Ok(()),
    }
}
