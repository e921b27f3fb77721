//! The methods at this door: their interfaces and types, and what introspection shows of them.

use crate::compressed::{self, Compressed};
use zbus::Message;

pub const NAME: &str = "org.raspimcp";
pub const OBJECT: &str = "/org/raspimcp";
/// Above the objects of calls.
pub const CALLS: &str = "/org/raspimcp/calls";
pub const TOOLS: &str = "org.raspimcp.Tools1";
pub const EVENTS: &str = "org.raspimcp.Events1";
pub const CALL: &str = "org.raspimcp.Call1";
/// The names of dbus-mcp.
pub const ORCHESTRATOR: &str = "org.dbusmcp.Orchestrator";
pub const ORCHESTRATOR_OBJECT: &str = "/org/dbusmcp/Orchestrator";
pub const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

const PEER: &str = "org.freedesktop.DBus.Peer";
const INTROSPECTABLE: &str = "org.freedesktop.DBus.Introspectable";
/// What the packages install, and what `Introspect` answers.
const OBJECT_XML: Compressed = include!(concat!(env!("OUT_DIR"), "/org.raspimcp.xml.rs"));
const CALL_XML: Compressed = include!(concat!(env!("OUT_DIR"), "/org.raspimcp.Call1.xml.rs"));
const ORCHESTRATOR_XML: Compressed = include!(concat!(env!("OUT_DIR"), "/org.dbusmcp.Orchestrator.xml.rs"));

/// Most bytes of arguments that are small by nature: names, options, the addresses of sixteen subscriptions.
pub const SMALL: usize = 16 * 1024;

/// One method.
#[derive(Debug)]
pub struct Method {
    pub interface: &'static str,
    pub member: &'static str,
    /// The types of its arguments.
    pub takes: &'static str,
}

const fn method(interface: &'static str, member: &'static str, takes: &'static str) -> Method {
    Method { interface, member, takes }
}

static METHODS: &[Method] = &[
    method(PEER, "Ping", ""),
    method(PEER, "GetMachineId", ""),
    method(INTROSPECTABLE, "Introspect", ""),
    method(PROPERTIES, "Get", "ss"),
    method(PROPERTIES, "GetAll", "s"),
    method(PROPERTIES, "Set", "ssv"),
    method(TOOLS, "List", "a{sv}"),
    method(TOOLS, "Describe", "s"),
    method(TOOLS, "Call", "ssa{sv}"),
    method(TOOLS, "Start", "ssa{sv}"),
    method(TOOLS, "Read", "s"),
    method(EVENTS, "Subscribe", "as"),
    method(EVENTS, "Unsubscribe", "as"),
    method(CALL, "Cancel", ""),
    method(CALL, "Result", ""),
    method(ORCHESTRATOR, "SpawnAgent", "ss"),
    method(ORCHESTRATOR, "SendTask", "ss"),
    method(ORCHESTRATOR, "ListAgents", ""),
    method(ORCHESTRATOR, "GetAgentStatus", "s"),
];

impl Method {
    /// The method that a message calls. A message without an interface means the one method of that name.
    pub fn of(message: &Message) -> Option<&'static Self> {
        let header = message.header();
        let (interface, member) = (header.interface(), header.member()?);
        METHODS.iter().find(|method| {
            method.member == member.as_str() && interface.is_none_or(|name| name.as_str() == method.interface)
        })
    }

    /// Whether an object has it.
    pub fn is_at(&self, place: &Place) -> bool {
        match self.interface {
            PEER | INTROSPECTABLE => true,
            CALL => matches!(place, Place::Call(_)),
            ORCHESTRATOR => matches!(place, Place::Orchestrator),
            _ => matches!(place, Place::Server),
        }
    }

    /// Whether its second argument may be as long as a request.
    pub fn has_arguments(&self) -> bool {
        self.takes == "ssa{sv}" || self.interface == ORCHESTRATOR && self.takes == "ss"
    }
}

/// What there is at a path.
pub enum Place {
    /// The object of the server.
    Server,
    /// That of dbus-mcp.
    Orchestrator,
    /// Something between objects, with these children.
    Between(&'static [&'static str]),
    /// Above the objects of calls.
    Calls,
    /// The object of this call, if it is the caller's.
    Call(u64),
    Nothing,
}

impl Place {
    /// `dbus_mcp`: its names are served.
    pub fn at(path: &str, dbus_mcp: bool) -> Self {
        match path {
            OBJECT => Self::Server,
            ORCHESTRATOR_OBJECT if dbus_mcp => Self::Orchestrator,
            "/" => Self::Between(&["org"]),
            "/org" if dbus_mcp => Self::Between(&["dbusmcp", "raspimcp"]),
            "/org" => Self::Between(&["raspimcp"]),
            "/org/dbusmcp" if dbus_mcp => Self::Between(&["Orchestrator"]),
            CALLS => Self::Calls,
            _ => match path.strip_prefix(CALLS).and_then(|rest| rest.strip_prefix('/')?.parse().ok()) {
                // Only the written form of the number.
                Some(number) if path == path_of(number) => Self::Call(number),
                _ => Self::Nothing,
            },
        }
    }

    /// The answer to `Introspect`; `calls` are the numbers of the caller's calls.
    pub fn xml(&self, calls: impl Iterator<Item = u64>) -> String {
        match self {
            Self::Server => compressed::text(OBJECT_XML),
            Self::Call(_) => compressed::text(CALL_XML),
            Self::Orchestrator => compressed::text(ORCHESTRATOR_XML),
            Self::Between(children) => nodes(children.iter().map(|child| (*child).to_owned())),
            Self::Calls => nodes(calls.map(|number| number.to_string())),
            Self::Nothing => nodes(std::iter::empty()),
        }
    }
}

fn nodes(children: impl Iterator<Item = String>) -> String {
    let inner: String = children.map(|child| format!("<node name=\"{child}\"/>")).collect();
    format!("<node>{inner}</node>\n")
}

/// The path of a call's object.
pub fn path_of(number: u64) -> String {
    format!("{CALLS}/{number}")
}
