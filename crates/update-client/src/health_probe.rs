//! Checks what works on this machine now: the server's part of the health check of a trial.

use crate::UpdateClient;
use crate::fetch::HttpClient;
use crate::icmp::Echo;
use base::{
    error::ToolError,
    os::{
        local,
        net::{
            address,
            interface::{self, InterfaceKind, OperState},
            route,
        },
        systemd::list,
    },
};
use futures::future::join_all;
use hw::machine::Machine;
use serde_json::json;
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, SocketAddrV6},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use update::health::{Observations, Probe};

/// Number of echo requests to the gateway, and the wait for each. Some gateways answer the first one late, because they
/// have to resolve an address.
const ECHOES: u16 = 3;
const ECHO: Duration = Duration::from_secs(1);
/// Timeout for the channel's index, including DNS and TLS.
const CHANNEL: Duration = Duration::from_secs(20);
/// Timeout for the server's own socket and for each URL.
const ANSWER: Duration = Duration::from_secs(10);

impl UpdateClient {
    /// One check of everything. Takes as long as the slowest part, at most half a minute.
    pub(crate) async fn look(&self, machine: &Machine) -> Observations {
        self.look_with(machine, self.channel()).await
    }

    /// The same, where `channel` is how the channel is looked at.
    pub(crate) async fn look_with(
        &self,
        machine: &Machine,
        channel: impl Future<Output = Option<Probe>>,
    ) -> Observations {
        let (gateway, channel, units, urls, server) =
            futures::join!(gateway(machine), channel, self.units(machine), self.urls(), self.server());
        Observations { interfaces: interfaces(machine), gateway, channel, units, urls, server }
    }

    /// Whether the channel's index can be fetched and verified; `None` without a channel.
    async fn channel(&self) -> Option<Probe> {
        self.reached_now().await.map(|reached| reached.map_err(|error| error.into_message()))
    }

    /// The same, with the whole error.
    pub(crate) async fn reached_now(&self) -> Option<Result<(), ToolError>> {
        if self.0.settings.update.url.is_empty() {
            return None;
        }
        let channel = self.0.settings.update.channel.clone();
        // A download may wait for a day and retry for minutes; this check is about now.
        let asked = tokio::time::timeout(CHANNEL, self.verified(&channel)).await;
        Some(match asked {
            Ok(found) => found.map(drop),
            Err(_) => Err(ToolError::unavailable(format!("no answer within {} s", CHANNEL.as_secs()))),
        })
    }

    /// Services that are enabled and running, and those that are configured. Services that come and go (started over
    /// D-Bus, by a timer or a person) are not included.
    async fn units(&self, machine: &Machine) -> BTreeMap<String, Probe> {
        let wanted = &self.0.settings.update.health_units;
        let (listed, files) = futures::join!(list::loaded(&machine.bus), machine.systemd.enabled.files(&machine.bus));
        let (Ok(listed), Ok(files)) = (&listed, &files) else {
            let why = listed.err().or(files.err()).map(|error| error.into_message()).unwrap_or_default();
            return base::sort::map(wanted.iter().map(|name| (name.clone(), Err(why.clone()))));
        };
        let counts = |unit: &&list::ListedService| {
            wanted.contains(&unit.name)
                || files.state(&unit.name).is_some_and(|state| state == "enabled") && unit.sub_status != "exited"
        };
        let of = |unit: &list::ListedService| match unit.status {
            list::ActiveState::Active | list::ActiveState::Reloading => Ok(()),
            other => Err(format!("it is {} ({})", other.word(), unit.sub_status)),
        };
        base::sort::map(listed.iter().filter(counts).map(|unit| (unit.name.clone(), of(unit))))
    }

    async fn urls(&self) -> BTreeMap<String, Probe> {
        let urls = &self.0.settings.update.health_urls;
        if urls.is_empty() {
            return BTreeMap::new();
        }
        let http = self.http_client().await;
        let probes = urls.iter().map(|url| async {
            let asked = tokio::time::timeout(ANSWER, answers(&http, url)).await;
            let late = Err(format!("no answer within {} s", ANSWER.as_secs()));
            (url.clone(), asked.unwrap_or(late))
        });
        base::sort::map(join_all(probes).await)
    }

    /// Sends a request to this server over its own socket, like any client.
    async fn server(&self) -> Option<Probe> {
        let socket = &self.0.settings.socket;
        if !socket.enabled {
            return None;
        }
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "manage.get_capabilities", "params": {}});
        let asked = tokio::time::timeout(ANSWER, local::request(&socket.path, &request)).await;
        Some(match asked {
            Err(_) => Err(format!("it does not answer within {} s", ANSWER.as_secs())),
            Ok(Err(error)) => Err(error.into_message()),
            Ok(Ok(answer)) if answer["result"]["server_version"].is_string() => Ok(()),
            Ok(Ok(answer)) => {
                Err(answer["error"]["message"].as_str().unwrap_or("it answers something else").to_owned())
            }
        })
    }
}

/// Physical interfaces, and whether each is up with an address.
fn interfaces(machine: &Machine) -> BTreeMap<String, Probe> {
    let root = &machine.root;
    let Ok((found, _)) = interface::read(root) else { return BTreeMap::new() };
    let hardware =
        found.into_iter().filter(|found| matches!(found.kind, InterfaceKind::Ethernet | InterfaceKind::Wifi));
    // An address family that cannot be read has no addresses; the other one is then used.
    let (v4, v6) = (address::v4(root).unwrap_or_default(), address::v6(root).unwrap_or_default());
    let has_address = |found: &interface::NetInterface| {
        v4.iter().any(|address| address.index == found.index)
            || v6.iter().any(|address| address.interface == found.name && address.scope == address::Scope::Global)
    };
    let of = |found: &interface::NetInterface| match found.state {
        OperState::Down => Err("it is down".to_owned()),
        _ if has_address(found) => Ok(()),
        _ => Err("it has no address".to_owned()),
    };
    base::sort::map(hardware.map(|found| (found.name.clone(), of(&found))))
}

/// Whether the default gateway answers an echo request.
async fn gateway(machine: &Machine) -> Option<Probe> {
    let routes = route::read(&machine.root).ok()?;
    let defaults = route::Defaults::of(&routes);
    // A link-local gateway needs the index of its interface. IPv6 gateways mostly are link-local, so IPv4 is tried
    // first.
    let target = [defaults.v4, defaults.v6].into_iter().flatten().find_map(|route| {
        Some(match route.gateway? {
            IpAddr::V4(ip) => SocketAddr::from((ip, 0)),
            IpAddr::V6(ip) => {
                let index = machine.root.number(&format!("sys/class/net/{}/ifindex", route.interface)).ok()?;
                SocketAddrV6::new(ip, 0, 0, u32::try_from(index).ok()?).into()
            }
        })
    })?;
    Some(reached(target).await)
}

async fn reached(target: SocketAddr) -> Probe {
    let ip = target.ip();
    let echo = Echo::open(target).map_err(|refusal| format!("{ip} cannot be asked: {refusal:?}"))?;
    let mut why = format!("{ip} does not answer");
    for sequence in 1..=ECHOES {
        match echo.probe(sequence, ECHO).await {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => {}
            Err(error) => why = format!("{ip}: {error}"),
        }
    }
    Err(why)
}

/// Whether a configured URL answers with success: over https by the rules of downloads, and on this machine also
/// without TLS.
async fn answers(http: &Result<Arc<HttpClient>, ToolError>, url: &str) -> Probe {
    match url.strip_prefix("http://") {
        Some(rest) => here(rest).await,
        None => http.as_ref().map_err(|error| error.message.clone())?.answers(url).await,
    }
}

/// One request without TLS, to this machine; the configuration accepts no other (`config::sections::update::is_probe`).
async fn here(rest: &str) -> Probe {
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let with_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let target = if with_port { host.to_owned() } else { format!("{host}:80") };
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(target).await.map_err(said)?;
    let request =
        format!("GET {slash}{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: raspi-mcp\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(said)?;
    // "HTTP/1.1 204"
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.map_err(said)?;
    match &status[9..] {
        [b'2', _, _] => Ok(()),
        code => Err(format!("it answers {}", String::from_utf8_lossy(code))),
    }
}
