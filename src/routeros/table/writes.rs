//! What is changed at one router at once.

use super::{plans::MAY_CUT_OFF, *};
use crate::routeros::write;

/// A write. Write `RouterTool { description: ..., args: ..., output: ..., ..one(...) }`.
const fn one(name: &'static str, catalogue: &'static str, title: &'static str, run: Handler) -> RouterTool {
    RouterTool {
        tier: Tier::Advanced,
        phase: 2,
        effect: Effect::Write { destructive: false, idempotent: true },
        asks: true,
        timeout_seconds: 60,
        ..read(name, catalogue, title, Run::Call(run))
    }
}

const DEVICE_ID: Out = out("device_id", OutKind::Text);
const CHANGED: Out = out("changed", OutKind::Flag);
const DRY: Out = maybe("dry_run", OutKind::Flag);
/// What changes, or would.
pub(super) const CHANGE: &[Out] = &[
    out("topic", OutKind::Text),
    out("action", OutKind::Text),
    maybe("old_value", OutKind::Map),
    maybe("new_value", OutKind::Map),
    out("description", OutKind::Text),
];
const CHANGES: Out = out("changes", OutKind::Objects(CHANGE));
const COMMENT: ArgKind = ArgKind::Text(0, 255);
const NAME: ArgKind = ArgKind::Text(1, 255);
pub(super) const CHECK: Arg = or("check_reachable", ArgKind::Flag, "true", "Refuse servers that answer no ping.");

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Change the name of a router.\n\nUse when: it is to be called otherwise.\n\nReturns: the old and the new name.",
        tags: &["routeros", "system"],
        args: &[DEVICE, need("identity", ArgKind::Pattern(64, "^[ -~]+$", "attic"), "The new name."), DRY_RUN],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("old_identity", OutKind::Text),
            out("new_identity", OutKind::Text),
        ],
        ..one("routeros.set_system_identity", "system/update-identity", "Rename a router", write::identity)
    },
    RouterTool {
        description: "Change the comment of a router's interface.\n\nUse when: it is to be said what a port is for.\n\nReturns: the old and the new comment.",
        tags: &["routeros", "interface"],
        args: &[
            DEVICE,
            need("interface_id", NAME, "An id such as *1, or a name."),
            need("comment", COMMENT, "The new comment; empty: none."),
            DRY_RUN,
        ],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("interface_id", OutKind::Text),
            out("interface_name", OutKind::Text),
            out("old_comment", OutKind::Text),
            out("new_comment", OutKind::Text),
        ],
        ..one(
            "routeros.update_interface_comment",
            "interface/update-comment",
            "Comment a router's interface",
            write::comment,
        )
    },
    RouterTool {
        description: "Add a second IPv4 address to a router's interface.\n\nUse when: a network is to be reached at this interface as well.\n\nReturns: the id of the address.\n\nNote: refused when it overlaps another network of the router. The router takes the change back after 30 s if this machine does not reach it any more.",
        tags: &["routeros", "ip"],
        timeout_seconds: 60,
        args: &[
            DEVICE,
            need("address", ArgKind::Text(9, 18), "With its length: 192.168.1.2/24."),
            need("interface", NAME, "The interface or bridge."),
            may("comment", COMMENT, "What it is for."),
            MAY_CUT_OFF,
            DRY_RUN,
        ],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            maybe("address_id", OutKind::Text),
            out("address", OutKind::Text),
            out("interface", OutKind::Text),
        ],
        ..one(
            "routeros.add_secondary_ip_address",
            "ip/add-secondary-address",
            "Add an address to a router",
            write::add_address,
        )
    },
    RouterTool {
        description: "Remove one of several addresses of a router's interface.\n\nUse when: a second address is no longer used.\n\nReturns: the address that was removed.\n\nNote: refused for the only address of an interface and for those that the router has of itself; for the one that this machine uses, unless may_cut_off is given. The router takes the change back after 30 s if this machine does not reach it any more.",
        tags: &["routeros", "ip"],
        effect: Effect::Write { destructive: true, idempotent: true },
        timeout_seconds: 60,
        args: &[
            DEVICE,
            need("address_id", NAME, "An id such as *10, or the address with its length."),
            MAY_CUT_OFF,
            DRY_RUN,
        ],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("address_id", OutKind::Text),
            out("removed_address", OutKind::Text),
        ],
        ..one(
            "routeros.remove_secondary_ip_address",
            "ip/remove-secondary-address",
            "Remove an address from a router",
            write::remove_address,
        )
    },
    RouterTool {
        description: "Add an entry to a list of addresses of a router's firewall, or remove one.\n\nUse when: a host is to be let in, or kept out, by rules that name such a list.\n\nReturns: the id of the entry.\n\nNote: lists whose names begin with mcp- only. An entry with a timeout goes by itself.",
        tags: &["routeros", "firewall"],
        effect: Effect::Write { destructive: true, idempotent: true },
        args: &[
            DEVICE,
            need("action", ArgKind::Word(&["add", "remove"]), "What to do."),
            need("list_name", LIST_NAME, "A list whose name begins with mcp-."),
            need("address", ArgKind::Text(1, 253), "An address, a network, a range or a host's name."),
            may("comment", COMMENT, "Of a new entry."),
            may("timeout", ArgKind::Pattern(20, "^([0-9]{1,4}[wdhms]){1,5}$", "7d"), "Of a new entry: 7d, 1h30m."),
            DRY_RUN,
        ],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("action", OutKind::Text),
            out("list_name", OutKind::Text),
            out("address", OutKind::Text),
            maybe("entry_id", OutKind::Text),
        ],
        ..one(
            "routeros.update_firewall_address_list",
            "ip/update-address-list-entry",
            "Change a router's address list",
            write::update_list,
        )
    },
    RouterTool {
        description: "Change the DNS servers of a router.\n\nUse when: one router uses the wrong ones.\n\nReturns: the old and the new servers.\n\nNote: refused in production, and for several routers: routeros.config_plan_dns_ntp_rollout plans those.",
        tags: &["routeros", "dns"],
        args: &[DEVICE, need("dns_servers", ArgKind::Texts(1, 8, 45), "Addresses, in order."), CHECK, DRY_RUN],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("old_servers", OutKind::Texts),
            out("new_servers", OutKind::Texts),
        ],
        ..one("routeros.update_dns_servers", "dns/update-servers", "Set a router's DNS servers", write::dns)
    },
    RouterTool {
        description: "Forget the DNS answers that a router keeps.\n\nUse when: it answers with an old address.\n\nReturns: how many there were.",
        tags: &["routeros", "dns"],
        args: &[DEVICE],
        output: &[DEVICE_ID, CHANGED, out("entries_flushed", OutKind::Integer)],
        ..one("routeros.flush_dns_cache", "dns/flush-cache", "Flush a router's DNS cache", write::flush)
    },
    RouterTool {
        description: "Change the NTP servers of a router.\n\nUse when: the clock of one router is wrong.\n\nReturns: the old and the new servers.\n\nNote: refused in production, and for several routers: routeros.config_plan_dns_ntp_rollout plans those.",
        tags: &["routeros", "ntp"],
        args: &[
            DEVICE,
            need("ntp_servers", ArgKind::Texts(1, 8, 253), "Addresses or names."),
            or("enabled", ArgKind::Flag, "true", "Whether the router asks them."),
            CHECK,
            DRY_RUN,
        ],
        output: &[
            DEVICE_ID,
            CHANGED,
            DRY,
            CHANGES,
            out("old_servers", OutKind::Texts),
            out("new_servers", OutKind::Texts),
        ],
        ..one("routeros.update_ntp_servers", "ntp/update-servers", "Set a router's NTP servers", write::ntp)
    },
];

/// Lists that tools may change.
pub(super) const LIST_NAME: ArgKind = ArgKind::Pattern(63, "^mcp-[A-Za-z0-9_.-]+$", "mcp-hosts");
