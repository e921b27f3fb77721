//! What an owner changes in the site's configuration: grants and tokens. One set of functions for the command line of
//! root at the machine, and for signed orders from elsewhere, which the agent checks and hands in here
//! (docs/approvals.md).

pub mod grants;
#[cfg(feature = "routeros")]
pub mod routers;
pub mod tokens;

use agent::SiteOrders;
use base::error::ToolError;
use contract::config::{Faults, Reload, Sources};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One operation: from the sources, its arguments and the name of who ordered it, to `text` for people and fields for
/// programs.
type Perform = fn(&Sources, Map<String, Value>, &str) -> Result<Value, ToolError>;

struct Order {
    name: &'static str,
    /// The arguments that it may have. Others are refused.
    args: &'static [&'static str],
    perform: Perform,
}

/// All operations on the site's configuration.
const ORDERS: &[Order] = &[
    Order { name: "allow", args: grants::ALLOW_ARGS, perform: grants::ordered_open },
    Order { name: "revoke", args: grants::REVOKE_ARGS, perform: grants::ordered_close },
    Order { name: "list_grants", args: &[], perform: |sources, _, _| grants::list(sources) },
    Order {
        name: "make_token",
        args: &["name", "role", "owner", "expires", "sha256"],
        perform: |sources, args, _| tokens::ordered(sources, args),
    },
    Order { name: "revoke_token", args: &["name"], perform: |sources, args, _| tokens::ordered_revoke(sources, &args) },
    Order { name: "list_tokens", args: &[], perform: |sources, _, _| tokens::list(sources) },
];

/// The site of a process that was started with these sources.
#[derive(Debug)]
struct Site(Arc<Sources>);

/// What the agent does orders with; `None` where the configuration is one file that its owner writes.
pub fn site(reload: &Reload) -> Option<Arc<dyn SiteOrders>> {
    reload.sources().map(|sources| Arc::new(Site(sources)) as _)
}

impl SiteOrders for Site {
    fn perform(&self, operation: &str, args: Map<String, Value>, by: &str) -> Option<Result<Value, ToolError>> {
        let order = ORDERS.iter().find(|order| order.name == operation)?;
        let unknown = args.keys().find(|name| !order.args.contains(&name.as_str()));
        Some(match unknown {
            None => (order.perform)(&self.0, args, by),
            Some(name) => Err(ToolError::ignored(name, &format!("{operation} has no such argument"))),
        })
    }
}

/// The error for a configuration that is not understood. `configuration` in its details tells the command line.
fn misconfigured(faults: &Faults) -> ToolError {
    ToolError::precondition(format!("the configuration is wrong:\n{faults}")).with("configuration", true)
}

fn unreadable(error: &serde_json::Error) -> ToolError {
    ToolError::invalid(format!("args: {error}")).with("name", "args")
}
