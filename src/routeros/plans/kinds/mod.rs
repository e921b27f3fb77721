//! What each planning tool makes of its arguments and of what a router holds: changes by natural keys, never by ids alone.

pub mod bridge;
pub mod dhcp;
pub mod firewall;
pub mod lists;
pub mod rollout;
pub mod routes;
pub mod wireless;

use super::{
    super::{
        call::RouterCall,
        network::{Network, range},
        plan::{Change, Fields, normalized_form},
        routers::Router,
    },
    seen::Seen,
};
use base::error::ToolError;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// How one tool plans.
pub struct Kind {
    /// The tool that applies it.
    pub apply: &'static str,
    /// What has to be read of each router, beside the way to it.
    pub menus: &'static [&'static str],
    pub build: Build,
    /// What else has to be so at a router, which is asked once its changes are known.
    pub check: Option<Check>,
}

impl Kind {
    /// One that checks nothing else.
    const fn new(apply: &'static str, menus: &'static [&'static str], build: Build) -> Self {
        Self { apply, menus, build, check: None }
    }
}

/// What is to be changed at one router; nothing when it is as wanted.
pub type Build = fn(&RouterCall, &Seen) -> Result<Vec<Change>, ToolError>;

pub type Check = for<'a> fn(&'a Router, &'a RouterCall) -> BoxFuture<'a, Result<(), ToolError>>;

/// The arguments `names` that were given, as fields of RouterOS: `dst_address` is `dst-address`. Addresses, protocols and ports are written
/// as RouterOS shows them.
///
/// # Errors
/// `invalid_argument` for an address that is none.
pub(super) fn given(args: &Map<String, Value>, names: &[&str]) -> Result<Fields, ToolError> {
    let mut fields = Fields::new();
    for name in names {
        let text = match args.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        let theirs = name.replace('_', "-");
        let text = match *name {
            "src_address" | "dst_address" => matcher(name, &text)?,
            // A rule of all protocols has no such field.
            "protocol" | "dst_port" => normalized_form(&theirs, &text).into_owned(),
            _ => text,
        };
        fields.insert(theirs, text);
    }
    Ok(fields)
}

/// An object argument.
pub(super) fn object<'a>(call: &'a RouterCall, name: &str) -> Option<&'a Map<String, Value>> {
    call.args.get(name).and_then(Value::as_object)
}

/// Refuses addresses, networks and ranges of IPv6, which are in menus of their own (`ipv6/...`).
///
/// # Errors
/// `invalid_argument`.
pub fn only_ipv4(parameter: &str, text: &str) -> Result<(), ToolError> {
    let begin = Network::parse(text).map(|network| network.address).or_else(|| range(text).map(|(first, _)| first));
    if begin.is_none_or(|address| address.is_ipv4()) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{text:?} is of IPv6, and tools change rules, routes, lists, pools and addresses of IPv4"
    ))
    .with("parameter", parameter)
    .hint("change what is below /ipv6 at the router"))
}

/// An address, a network or a range, perhaps with `!` before it, as RouterOS shows it.
///
/// # Errors
/// `invalid_argument`.
pub fn matcher(parameter: &str, text: &str) -> Result<String, ToolError> {
    let (not, bare) = text.strip_prefix('!').map_or(("", text), |rest| ("!", rest));
    let wrong = |why: &str| ToolError::invalid(format!("{bare:?} {why}")).with("parameter", parameter);
    only_ipv4(parameter, bare)?;
    if let Some(network) = Network::parse(bare) {
        if !network.is_network() {
            return Err(wrong(&format!("has bits of a host; the network is {}", network.shown())));
        }
        return Ok(if network.is_one() {
            format!("{not}{}", network.address)
        } else {
            format!("{not}{}", network.shown())
        });
    }
    range(bare).ok_or_else(|| wrong("is no address, no network and no range of addresses"))?;
    Ok(normalized_form("src-address", text).into_owned())
}
