//! The DNS and NTP servers of one router.

use super::{Deed, write};
use crate::routeros::{
    call::RouterCall,
    plan::{Change, Fields, Selector, fields},
    plans::{
        kinds::rollout::{dns_servers, ntp_servers, one_answers},
        seen::Seen,
    },
    service::RouterService,
    table::Answer,
    value::{Kind, typed},
};
use base::error::ToolError;
use contract::meta::Environment;
use serde_json::{Map, json};

const DNS: &str = "ip/dns";
const NTP: &str = "system/ntp/client";

pub fn dns<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        service.router(call, call.text("device_id"))?;
        dns_servers(&call.texts("dns_servers"))?;
        ready(service, call, "dns_servers").await?;
        write(service, call, &[DNS, "ip/firewall/filter", "ip/firewall/address-list"], |call, seen| {
            let new = call.texts("dns_servers");
            Ok(deed(seen, DNS, fields(&[("servers", &dns_servers(&new)?)]), &new))
        })
        .await
    })
}

pub fn ntp<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        service.router(call, call.text("device_id"))?;
        ntp_servers(&call.texts("ntp_servers"))?;
        ready(service, call, "ntp_servers").await?;
        write(service, call, &[NTP], |call, seen| {
            let enabled = if call.flag("enabled") { "yes" } else { "no" };
            let new = call.texts("ntp_servers");
            Ok(deed(seen, NTP, fields(&[("servers", &ntp_servers(&new)?), ("enabled", enabled)]), &new))
        })
        .await
    })
}

fn deed(seen: &Seen, menu: &str, to: Fields, new: &[String]) -> Deed {
    let says = [
        ("old_servers".to_owned(), typed(Kind::List, seen.text(menu, "servers"))),
        ("new_servers".to_owned(), json!(new)),
    ];
    Deed { change: Change::set(menu, Selector::new(), to), says: Map::from_iter(says), id: "" }
}

/// At a router in production, a person approves such a change as a plan. Elsewhere, one of the servers has to answer.
async fn ready(service: &RouterService, call: &RouterCall, parameter: &'static str) -> Result<(), ToolError> {
    let router = service.router(call, call.text("device_id"))?;
    let unsafe_for = |why: String| {
        ToolError::precondition(why)
            .with("device_id", router.id())
            .with("mcp_error_code", "UNSAFE_OPERATION")
            .with("parameter", parameter)
    };
    if router.standing.environment == Environment::Prod {
        return Err(unsafe_for(format!("the router {} is in production", router.id())).hint(
            "make a plan with routeros.config_plan_dns_ntp_rollout: it takes itself back, and a person approves it",
        ));
    }
    if !call.flag("check_reachable") {
        return Ok(());
    }
    one_answers(router, &call.texts(parameter), parameter).await
}
