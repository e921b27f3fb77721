//! The configuration of nats-server for a fleet: TLS with client certificates, and what each of them may.
//!
//! Sources: the manual of nats-server, "TLS authentication" (`verify_and_map`) and "Authorization". A device may publish its
//! own status, log and frames, and hear what is for it; nothing of JetStream. Nobody may answer to a reply subject that a
//! device chose (docs/fleet.md, "What a device may").

use super::super::console::FleetFolder;
use fleet_protocol::{name, subject};
use std::{fmt::Write, net::IpAddr, path::Path};

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
         max_connections: 65536\n\
         tls {{\n  cert_file: \"./server.pem\"\n  key_file: \"./server.key\"\n  ca_file: \"./ca.pem\"\n  \
         verify_and_map: true\n  timeout: 30\n}}\n\
         jetstream {{\n  store_dir: \"./jetstream\"\n  max_memory_store: 67108864\n  max_file_store: 2147483648\n}}\n\
         include ./users.conf\n"
    )
}

/// The users, by the names in their certificates.
pub fn users(folder: &FleetFolder) -> String {
    let fleet = &folder.name;
    let own = format!("rmcp.1.{fleet}");
    let mut text = format!(
        "# Written by `raspi-mcp fleet`; the next sign or revoke replaces it.\n\
         authorization {{\n  timeout: 30\n  users: [\n    {{ user: \"{}\", permissions: {{ \
         publish: [\"{own}.dev.>\", \"{own}.s.*.*.up\", \"$JS.API.>\", \"$KV.{}.>\"], \
         subscribe: [\"{own}.>\", \"_INBOX_console.>\"] }} }}\n",
        name::console_user(fleet, "console"),
        subject::rollout_bucket(fleet),
    );
    for device in folder.active() {
        let name = &device.name;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    {{ user: \"{}\", permissions: {{ publish: [\"{own}.status.{name}\", \"{own}.log.{name}\", \
             \"{own}.s.{name}.*.down\"], subscribe: [\"{own}.dev.{name}.*\", \"{own}.s.{name}.*.up\", \"{}.>\"] }} }}",
            name::device_user(fleet, name),
            subject::inbox(name),
        );
    }
    text.push_str("  ]\n}\n");
    text
}

/// A unit of systemd for it.
pub fn unit(folder: &Path) -> String {
    format!(
        "[Unit]\nDescription=NATS, the broker of a fleet of raspi-mcp\nAfter=network-online.target\nWants=network-online.target\n\n\
         [Service]\nWorkingDirectory={at}\nExecStart=/usr/sbin/nats-server -c nats-server.conf\nExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=always\nRestartSec=2\nLimitNOFILE=131072\nNoNewPrivileges=yes\nProtectSystem=strict\n\
         ReadWritePaths={at}/jetstream\nProtectHome=read-only\nPrivateTmp=yes\n\n[Install]\nWantedBy=multi-user.target\n",
        at = folder.display()
    )
}
