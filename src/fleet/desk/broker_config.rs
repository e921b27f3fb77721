//! The configuration of nats-server for a fleet: TLS with client certificates, and what each of them may.
//!
//! Sources: the manual of nats-server, "TLS authentication" (`verify_and_map`), "Authorization" and "Multi Tenancy using Accounts". A
//! device may publish its own status, log and frames, and hear what is for it; nothing of JetStream. Nobody may answer to a reply
//! subject that a device chose (docs/fleet.md, "What a device may").
//!
//! nats-server limits connections and subscriptions of an account, not of a user. So each device has an account of its own, which
//! is joined to the fleet's account by subjects; in a large fleet a few devices share one (decision 494).

use super::super::console::FleetFolder;
use fleet_protocol::{name, subject};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write, net::IpAddr, path::Path};

/// Bytes that the broker keeps for a connection whose client does not read; more ends the connection. A tunnel has up to 4 MiB
/// under way, of which the kernels at both ends hold a part.
const PENDING_BYTES: usize = 4 * 1024 * 1024;
/// Connections of one device: the one it has, and two that it lost and that the broker has not noticed yet. It notices within six
/// minutes, by the PING of every two.
const CONNECTIONS: usize = 3;
/// Subscriptions of each connection of a device. It has four: orders, dials, frames, and answers.
const SUBSCRIPTIONS: usize = 32;
/// Connections of the broker for each device: all may come back at once, before it has noticed that they were away.
const CONNECTIONS_EACH: usize = 2;
/// Connections beyond those: of consoles, and while certificates are checked.
const SPARE_CONNECTIONS: usize = 256;
/// Accounts of devices, at most: the time in which nats-server loads them grows with their square.
const ACCOUNTS: usize = 500;

/// The main file. Users are in a file of their own, which changes with every device. All paths are relative, so that the
/// folder can be on another computer; nats-server resolves them against the folder it is started in (only `include` against
/// the file's own). `hosts`: what it is reached by; if all of them are this computer itself, it listens at no other address.
pub fn server(hosts: &[String], port: u16) -> String {
    let is_own =
        |host: &String| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let address = match hosts.iter().find(|host| host.parse::<IpAddr>().is_ok()) {
        _ if !hosts.iter().all(is_own) => "0.0.0.0".to_owned(),
        Some(host) if host.contains(':') => format!("[{host}]"),
        Some(host) => host.clone(),
        None => "127.0.0.1".to_owned(),
    };
    format!(
        "# Written by `raspi-mcp fleet init`. Yours from now on. Start nats-server in this folder: paths are relative.\n\
         listen: \"{address}:{port}\"\n\
         max_payload: 131072\n\
         # What a client can take that does not read.\n\
         max_pending: {PENDING_BYTES}\n\
         max_control_line: 1024\n\
         tls {{\n  cert_file: \"./server.pem\"\n  key_file: \"./server.key\"\n  ca_file: \"./ca.pem\"\n  \
         verify_and_map: true\n  timeout: 30\n}}\n\
         jetstream {{\n  store_dir: \"./jetstream\"\n  max_memory_store: 67108864\n  max_file_store: 2147483648\n}}\n\
         include ./users.conf\n"
    )
}

/// The users, by the names in their certificates.
pub fn users(folder: &FleetFolder) -> String {
    let head = "# Written by `raspi-mcp fleet`; the next sign or revoke replaces it.\n";
    let body = if folder.accounts { accounts(folder) } else { together(folder) };
    format!("{head}{body}")
}

/// The console's user.
fn console(fleet: &str) -> String {
    format!(
        "{{ user: \"{}\", permissions: {{ publish: [\"rmcp.1.{fleet}.dev.>\", \"rmcp.1.{fleet}.s.*.*.up\", \"$JS.API.>\", \
         \"$KV.{}.>\"], subscribe: [\"rmcp.1.{fleet}.>\", \"_INBOX_console.>\"] }} }}",
        name::console_user(fleet, "console"),
        subject::rollout_bucket(fleet),
    )
}

/// A device's user.
fn device(fleet: &str, name: &str) -> String {
    let own = format!("rmcp.1.{fleet}");
    format!(
        "{{ user: \"{}\", permissions: {{ publish: [\"{own}.status.{name}\", \"{own}.log.{name}\", \
         \"{own}.s.{name}.*.down\"], subscribe: [\"{own}.dev.{name}.*\", \"{own}.s.{name}.*.up\", \"{}.>\"] }} }}",
        name::device_user(fleet, name),
        subject::inbox(name),
    )
}

/// Each device in an account with limits of its own, or a few of a large fleet in one. The account of the fleet, which has the
/// console and the streams, imports what they send, and they import what is sent to them. Which of it is a device's is the matter
/// of its user's permissions.
fn accounts(folder: &FleetFolder) -> String {
    let fleet = &folder.name;
    let own = format!("rmcp.1.{fleet}");
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let all = folder.active().count();
    for known in folder.active() {
        groups.entry(account(fleet, &known.name, all)).or_default().push(&known.name);
    }
    let subjects = |subjects: &[&str], form: &dyn Fn(&str) -> String| {
        subjects.iter().map(|subject| form(&format!("{own}.{subject}"))).collect::<Vec<_>>().join(", ")
    };
    let (sent, heard) = (["status.*", "log.*", "s.*.*.down"], ["dev.*.*", "s.*.*.up"]);
    let export = |subject: &str| format!("{{ stream: \"{subject}\" }}");
    let import =
        |account: &str, subject: &str| format!("{{ stream: {{ account: \"{account}\", subject: \"{subject}\" }} }}");
    let imports = groups.keys().map(|name| format!("      {}\n", subjects(&sent, &|subject| import(name, subject))));
    let mut text = format!(
        "max_connections: {}\nauthorization {{ timeout: 30 }}\naccounts {{\n  \"{fleet}\" {{\n    jetstream: enabled\n    \
         users: [ {} ]\n    exports: [ {} ]\n    imports: [\n{}    ]\n  }}\n",
        all * CONNECTIONS_EACH + SPARE_CONNECTIONS,
        console(fleet),
        subjects(&heard, &export),
        imports.collect::<String>(),
    );
    for (name, devices) in &groups {
        let users = devices.iter().map(|name| format!("      {}\n", device(fleet, name)));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  \"{name}\" {{\n    users: [\n{}    ]\n    limits: {{ max_connections: {}, max_subscriptions: {SUBSCRIPTIONS} }}\n    \
             exports: [ {} ]\n    imports: [ {} ]\n  }}",
            users.collect::<String>(),
            devices.len() * CONNECTIONS,
            subjects(&sent, &export),
            subjects(&heard, &|subject| import(fleet, subject)),
        );
    }
    text.push_str("}\n");
    text
}

/// The account of a device in a fleet of `all`: the same with every sign and revoke, or its connection would end.
fn account(fleet: &str, name: &str, all: usize) -> String {
    if all <= ACCOUNTS {
        return name::device_user(fleet, name);
    }
    let hash = Sha256::digest(name.as_bytes());
    format!("group-{}", (usize::from(hash[0]) << 8 | usize::from(hash[1])) % ACCOUNTS)
}

/// All in one account, as in folders that an older version made: the streams are in that account.
fn together(folder: &FleetFolder) -> String {
    let mut text = format!("authorization {{\n  timeout: 30\n  users: [\n    {}\n", console(&folder.name));
    for known in folder.active() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {}", device(&folder.name, &known.name));
    }
    text.push_str("  ]\n}\n");
    text
}

/// A unit of systemd for it. Go's collector lets the memory grow by a quarter of what is in use (`GOGC`): by default it doubles
/// what a client can take.
pub fn unit(folder: &Path) -> String {
    format!(
        "[Unit]\nDescription=NATS, the broker of a fleet of raspi-mcp\nAfter=network-online.target\nWants=network-online.target\n\n\
         [Service]\nWorkingDirectory={at}\nExecStart=/usr/sbin/nats-server -c nats-server.conf\nExecReload=/bin/kill -HUP $MAINPID\n\
         Environment=GOGC=25\n\
         Restart=always\nRestartSec=2\nLimitNOFILE=131072\nNoNewPrivileges=yes\nProtectSystem=strict\n\
         ReadWritePaths={at}/jetstream\nProtectHome=read-only\nPrivateTmp=yes\n\n[Install]\nWantedBy=multi-user.target\n",
        at = folder.display()
    )
}
