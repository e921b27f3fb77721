//! Every tool for routers, as rows: descriptor, arguments, result, and what runs. A row is data; its schemas are made of it.

mod applies;
mod arguments;
mod bridge;
mod devices;
mod dhcp;
mod diagnostics;
mod dns;
mod firewall;
mod interfaces;
mod ip;
mod kept;
mod logs;
mod plans;
mod results;
mod routes;
mod system;
mod wireless;
mod writes;

pub use arguments::{Arg, ArgKind, DEVICE, DEVICES, DRY_RUN, may, need, or};
pub use results::{Out, OutKind, PAGINATION, maybe, out};
pub(super) use routes::ROUTE;

use super::{
    call::RouterCall,
    reads::{
        MenuRead,
        Shape::{self, List, One, Whole},
    },
    routers::Router,
    service::RouterService,
    value::{
        Field,
        Kind::{Flag, Integer, List as Texts, Number, Seconds, Text},
    },
};
use base::error::ToolError;
use contract::meta::{Effect, Tier};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

/// The namespace of all of them.
pub const NAMESPACE: &str = "routeros";

/// One tool.
pub struct RouterTool {
    /// With its namespace: `routeros.get_system_clock`.
    pub name: &'static str,
    /// Another name that is accepted and not listed: `system/get-clock`. Empty: none.
    pub catalogue: &'static str,
    pub title: &'static str,
    /// One sentence, then "Use when" and "Returns", as all tools have it.
    pub description: &'static str,
    pub tags: &'static [&'static str],
    pub tier: Tier,
    pub phase: u8,
    /// Whether `tools/list` shows it by default.
    pub listed: bool,
    pub effect: Effect,
    /// Whether a person is asked where policy says "ask". A plan changes no router, so nobody is asked about one.
    pub asks: bool,
    pub timeout_seconds: u32,
    pub estimated_tokens: u32,
    /// The resource that holds the same, with `{device_id}` in it.
    pub resource_uri: Option<&'static str>,
    /// For [`Run::Menu`]: beside those that follow from the menu.
    pub args: &'static [Arg],
    /// For [`Run::Menu`]: none, they follow from the menu.
    pub output: &'static [Out],
    pub run: Run,
}

/// The result of a tool's work.
pub type Answer<'a> = BoxFuture<'a, Result<Value, ToolError>>;
/// What does the work of a tool.
pub type Handler = for<'a> fn(&'a RouterService, &'a RouterCall) -> Answer<'a>;

/// What a device is read with.
pub type DeviceRead = for<'a> fn(&'a Router, &'a RouterCall) -> BoxFuture<'a, Fields>;
/// The fields of a result.
pub type Fields = Result<Map<String, Value>, ToolError>;

/// What runs.
#[derive(Clone, Copy)]
pub enum Run {
    /// Shows a menu of the device in `device_id`.
    Menu(&'static MenuRead),
    /// Reads from the device in `device_id`.
    Device(DeviceRead),
    Call(Handler),
    /// As [`Run::Call`]; the first says what a person is asked about, in place of the arguments.
    Asked(Handler, Handler),
}

/// A read. Write `RouterTool { description: ..., args: ..., output: ..., ..read(...) }`.
pub const fn read(name: &'static str, catalogue: &'static str, title: &'static str, run: Run) -> RouterTool {
    RouterTool {
        name,
        catalogue,
        title,
        description: "",
        tags: &[NAMESPACE],
        tier: Tier::Fundamental,
        phase: 1,
        listed: false,
        effect: Effect::Read,
        asks: false,
        timeout_seconds: 30,
        estimated_tokens: 300,
        resource_uri: None,
        args: &[],
        output: &[],
        run,
    }
}

/// All of them, by topic.
static TABLES: &[&[RouterTool]] = &[
    devices::TOOLS,
    system::TOOLS,
    interfaces::TOOLS,
    ip::TOOLS,
    routes::TOOLS,
    dns::TOOLS,
    dhcp::TOOLS,
    firewall::TOOLS,
    bridge::TOOLS,
    wireless::TOOLS,
    logs::TOOLS,
    diagnostics::TOOLS,
    writes::TOOLS,
    plans::TOOLS,
    kept::TOOLS,
    applies::TOOLS,
];

/// Every tool, in the order of the listing.
pub fn all() -> impl Iterator<Item = &'static RouterTool> {
    TABLES.iter().copied().flatten()
}

/// The tool with this name, such as `routeros.get_system_clock`.
pub fn find(name: &str) -> Option<&'static RouterTool> {
    all().find(|tool| tool.name == name)
}

impl RouterTool {
    /// Its arguments, in order.
    pub fn arguments(&self) -> Vec<Arg> {
        let mut all = match self.run {
            Run::Menu(_) | Run::Device(_) => vec![DEVICE],
            Run::Call(_) | Run::Asked(..) => Vec::new(),
        };
        if let Run::Menu(MenuRead { shape: Shape::One { argument, .. }, .. }) = self.run {
            all.push(need(argument, ArgKind::Text(1, 255), "An id such as *1, or a name."));
        }
        all.extend_from_slice(self.args);
        if let Run::Menu(MenuRead { shape: Shape::List { most, usual, .. }, .. }) = self.run {
            all.push(or("limit", ArgKind::Integer(1, *most), usual, "Page size."));
            all.push(OFFSET);
        }
        all
    }

    /// JSON Schema of the arguments as they are advertised, and of those that accept more.
    pub fn input(&self) -> (Value, Map<String, Value>) {
        let args = self.arguments();
        let accepts = args.iter().filter_map(|arg| Some((arg.name.to_owned(), arg.kind.accepts()?)));
        (arguments::closed(&args), accepts.collect())
    }

    /// JSON Schema of the result.
    pub fn output(&self) -> Value {
        let Run::Menu(read) = self.run else { return results::open(self.output) };
        let device = out("device_id", OutKind::Text);
        match read.shape {
            Shape::List { name, .. } => results::open(&[
                device,
                out(name, OutKind::Rows(read.fields)),
                out("total_count", OutKind::Integer),
                PAGINATION,
            ]),
            Shape::One { name, .. } => results::open(&[device, out(name, OutKind::Row(read.fields))]),
            Shape::Whole => {
                let mut schema = results::whole(read.fields);
                schema["properties"]["device_id"] = json!({ "type": "string" });
                schema
            }
        }
    }

    /// Its name without the namespace.
    pub fn operation(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, operation)| operation)
    }

    pub fn has(&self, argument: &str) -> bool {
        self.arguments().iter().any(|arg| arg.name == argument)
    }
}

/// The place of a page.
pub const OFFSET: Arg = or("offset", ArgKind::Count, "0", "Items to skip.");
