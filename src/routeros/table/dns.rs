//! Names and time.

use super::*;

const TAGS: &[&str] = &["routeros", "dns", "ntp"];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show the names that a router has resolved lately.\n\nUse when: a name resolves wrongly.\n\nReturns: name, type, data and ttl in seconds of each.",
        tags: TAGS,
        ..read(
            "routeros.get_dns_cache",
            "dns/get-cache",
            "Show a router's DNS cache",
            Run::Menu(&MenuRead {
                menus: &["ip/dns/cache"],
                shape: List { name: "cache_entries", usual: "100", most: 1000 },
                fields: &[
                    ("name", "name", Text),
                    ("type", "type", Text),
                    ("data", "data", Text),
                    ("ttl", "ttl", Seconds),
                ],
            }),
        )
    },
    // Sizes are in KiB, as RouterOS gives them.
    RouterTool {
        description: "Show the DNS servers of a router.\n\nUse when: names do not resolve.\n\nReturns: servers, cache, whether others may ask it.",
        listed: true,
        tags: TAGS,
        ..read(
            "routeros.get_dns_status",
            "dns/get-status",
            "Show a router's DNS",
            Run::Menu(&MenuRead {
                menus: &["ip/dns"],
                shape: Whole,
                fields: &[
                    ("dns_servers", "servers", Texts),
                    ("dynamic_servers", "dynamic-servers", Texts),
                    ("allow_remote_requests", "allow-remote-requests", Flag),
                    ("cache_size_kb", "cache-size", Integer),
                    ("cache_used_kb", "cache-used", Integer),
                    ("use_doh_server", "use-doh-server", Text),
                ],
            }),
        )
    },
    // The `monitor` of older descriptions exists in no version 7.
    RouterTool {
        description: "Show whether a router's clock follows NTP.\n\nUse when: its clock is wrong.\n\nReturns: servers, status, stratum and offset in milliseconds.",
        tags: TAGS,
        ..read(
            "routeros.get_ntp_status",
            "ntp/get-status",
            "Show a router's NTP client",
            Run::Menu(&MenuRead {
                menus: &["system/ntp/client"],
                shape: Whole,
                fields: &[
                    ("enabled", "enabled", Flag),
                    ("ntp_servers", "servers", Texts),
                    ("mode", "mode", Text),
                    ("status", "status", Text),
                    ("synced_server", "synced-server", Text),
                    ("stratum", "synced-stratum", Integer),
                    ("offset_ms", "system-offset", Number),
                ],
            }),
        )
    },
];
