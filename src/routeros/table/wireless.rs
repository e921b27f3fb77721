//! Wi-Fi, of both packages: `wifi` and the older `wireless` with CAPsMAN.

use super::*;

const TAGS: &[&str] = &["routeros", "wifi"];

const CLIENT: &[Field] = &[
    ("interface", "interface", Text),
    ("ssid", "ssid", Text),
    ("mac_address", "mac-address", Text),
    ("uptime_seconds", "uptime", Seconds),
    ("signal", "signal", Text),
    ("signal", "signal-strength", Text),
    ("signal", "rx-signal", Text),
    ("rx_rate", "rx-rate", Text),
    ("tx_rate", "tx-rate", Text),
    ("band", "band", Text),
    ("authorized", "authorized", Flag),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "List the wireless interfaces of a router.\n\nUse when: a Wi-Fi network or its channel is in question.\n\nReturns: SSID, mode, band, frequency and state of each.",
        tags: TAGS,
        ..read(
            "routeros.get_wireless_interfaces",
            "",
            "List a router's radios",
            Run::Menu(&MenuRead {
                menus: &["interface/wifi", "interface/wireless"],
                shape: List { name: "interfaces", usual: "50", most: 500 },
                fields: &[
                    ("id", ".id", Text),
                    ("name", "name", Text),
                    ("mac_address", "mac-address", Text),
                    ("ssid", "ssid", Text),
                    ("ssid", "configuration.ssid", Text),
                    ("mode", "mode", Text),
                    ("mode", "configuration.mode", Text),
                    ("band", "band", Text),
                    ("band", "channel.band", Text),
                    ("frequency", "frequency", Text),
                    ("frequency", "channel.frequency", Text),
                    ("security_profile", "security-profile", Text),
                    ("configuration", "configuration", Text),
                    ("running", "running", Flag),
                    ("disabled", "disabled", Flag),
                    ("comment", "comment", Text),
                ],
            }),
        )
    },
    RouterTool {
        description: "List the devices on a router's Wi-Fi.\n\nUse when: a signal or rate is in question.\n\nReturns: MAC address, signal, rates, uptime.",
        tags: TAGS,
        ..read(
            "routeros.get_wireless_clients",
            "",
            "List a router's Wi-Fi clients",
            Run::Menu(&MenuRead {
                menus: &["interface/wifi/registration-table", "interface/wireless/registration-table"],
                shape: List { name: "clients", usual: "100", most: 1000 },
                fields: CLIENT,
            }),
        )
    },
    RouterTool {
        description: "List the access points that a router manages.\n\nUse when: a managed access point is missing.\n\nReturns: address, identity, board, version and state of each.",
        tags: TAGS,
        ..read(
            "routeros.get_capsman_remote_caps",
            "",
            "List CAPsMAN's access points",
            Run::Menu(&MenuRead {
                menus: &["interface/wifi/capsman/remote-cap", "caps-man/remote-cap"],
                shape: List { name: "remote_caps", usual: "100", most: 500 },
                fields: &[
                    ("address", "address", Text),
                    ("identity", "identity", Text),
                    ("board_name", "board-name", Text),
                    ("version", "version", Text),
                    ("state", "state", Text),
                ],
            }),
        )
    },
    RouterTool {
        description: "List the devices on access points that a router manages.\n\nUse when: a device roams or has a weak signal.\n\nReturns: interface, SSID, MAC address, signal and rates of each.",
        tags: TAGS,
        ..read(
            "routeros.get_capsman_registrations",
            "",
            "List CAPsMAN's clients",
            Run::Menu(&MenuRead {
                menus: &["interface/wifi/registration-table", "caps-man/registration-table"],
                shape: List { name: "registrations", usual: "100", most: 1000 },
                fields: CLIENT,
            }),
        )
    },
];
