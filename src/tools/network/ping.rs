//! `network.ping`: sends echo requests and measures their round-trip times (docs/contract/network.md).

use super::target::{self, Family, LONGEST, PATTERN, is_target};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{system::rounded, within},
};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::{net::SocketAddr, time::Duration};
use tokio::time::{Instant, sleep_until};
use update_client::icmp::{Echo, IcmpError};

/// Most echo requests in one call (docs/contract/network.md).
const COUNT: u32 = 10;
/// Shortest interval in milliseconds: ping(8) allows only root to send faster.
const SHORTEST_INTERVAL: u32 = 200;
const LONGEST_INTERVAL: u32 = 5000;
const SHORTEST_WAIT: u32 = 100;
const LONGEST_WAIT: u32 = 5000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Host name, IPv4 or IPv6 address.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "address")]
    address: String,
    /// Echo requests.
    #[schemars(range(min = 1, max = COUNT))]
    #[serde(default = "four", deserialize_with = "within::<_, 1, COUNT>")]
    count: u32,
    /// From one to the next.
    #[schemars(range(min = SHORTEST_INTERVAL, max = LONGEST_INTERVAL))]
    #[serde(default = "second", deserialize_with = "within::<_, SHORTEST_INTERVAL, LONGEST_INTERVAL>")]
    interval_ms: u32,
    /// For an answer.
    #[schemars(range(min = SHORTEST_WAIT, max = LONGEST_WAIT))]
    #[serde(default = "second", deserialize_with = "within::<_, SHORTEST_WAIT, LONGEST_WAIT>")]
    timeout_ms: u32,
    /// Which addresses of a name.
    #[serde(default)]
    family: Family,
}

fn four() -> u32 {
    4
}
fn second() -> u32 {
    1000
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_target(&text) {
        return Ok(text);
    }
    Err(D::Error::custom("a host name or an address: letters, digits and . : _ % -"))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// As it was given.
    host: String,
    /// The address that was asked.
    address: String,
    packets_sent: u32,
    packets_received: u32,
    #[schemars(range(min = 0, max = 100))]
    packet_loss_percent: f64,
    /// Round trip times are absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    min_rtt_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    avg_rtt_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    max_rtt_ms: Option<f64>,
    /// Each request, in order.
    probes: Vec<Probe>,
}

#[derive(Serialize, JsonSchema)]
struct Probe {
    sequence: u32,
    /// Absent without an answer in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    rtt_ms: Option<f64>,
    /// What the network said in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<String>,
}

pub struct Ping;

impl Tool for Ping {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.ping",
        title: "Ping",
        description: "Send ICMP echo requests and time the answers.\n\nUse when: you ask whether a host can be reached, or how well.\n\nReturns: sent, received, loss, round trips.",
        open_world: true,
        timeout_seconds: 65,
        long: true,
        estimated_tokens: 250,
        tags: &["network", "icmp", "latency", "reachability"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let target = target::resolve(&cx.services.machine.root, &args.address, args.family).await?;
        let echo = Echo::open(target).map_err(|refusal| refused(refusal, &args.address, target))?;
        let (start, wait) = (Instant::now(), Duration::from_millis(args.timeout_ms.into()));
        let mut probes = Vec::new();
        for sequence in 1..=args.count {
            sleep_until(start + Duration::from_millis(args.interval_ms.into()) * (sequence - 1)).await;
            let number = u16::try_from(sequence).unwrap_or(u16::MAX);
            let (rtt, error) = match echo.probe(number, wait).await {
                Ok(rtt) => (rtt, None),
                Err(fault) => (None, Some(fault.to_string())),
            };
            let rtt_ms = rtt.map(|rtt| rounded(rtt.as_secs_f64() * 1000.0, 3));
            let said = match (&rtt_ms, &error) {
                (Some(rtt), _) => format!("echo {sequence} of {} from {}: {rtt} ms", args.count, target.ip()),
                (None, Some(error)) => format!("request {sequence} of {}: {error}", args.count),
                (None, None) => format!("request {sequence} of {}: no answer in {} ms", args.count, args.timeout_ms),
            };
            cx.progress.say(sequence.into(), Some(args.count.into()), "probe", said);
            probes.push(Probe { sequence, rtt_ms, error });
        }
        Ok(Out::of(args.address, target, probes))
    }
}

impl Out {
    fn of(host: String, target: SocketAddr, probes: Vec<Probe>) -> Self {
        let times: Vec<f64> = probes.iter().filter_map(|probe| probe.rtt_ms).collect();
        let (sent, received) = (probes.len(), times.len());
        let some = |value: f64| (received > 0).then(|| rounded(value, 3));
        Self {
            host,
            address: target.ip().to_string(),
            packets_sent: u32::try_from(sent).unwrap_or(u32::MAX),
            packets_received: u32::try_from(received).unwrap_or(u32::MAX),
            packet_loss_percent: rounded((sent - received) as f64 * 100.0 / sent.max(1) as f64, 1),
            min_rtt_ms: some(times.iter().copied().fold(f64::INFINITY, f64::min)),
            avg_rtt_ms: some(times.iter().sum::<f64>() / received.max(1) as f64),
            max_rtt_ms: some(times.iter().copied().fold(0.0, f64::max)),
            probes,
        }
    }
}

fn refused(refusal: IcmpError, given: &str, target: SocketAddr) -> ToolError {
    let error = match refusal {
        IcmpError::NotAllowed(fault) => ToolError::missing(format!("this server may not send echo requests: {fault}"))
            .with("resource", "net.ipv4.ping_group_range")
            .hint("sysctl -w net.ipv4.ping_group_range=\"0 2147483647\", as systemd does by default"),
        IcmpError::NoWay(fault) => match fault.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::ACCESS) => {
                ToolError::invalid(format!("{} is a broadcast address", target.ip())).hint("ping one machine")
            }
            Some(rustix::io::Errno::INVAL) => ToolError::invalid(format!("{} needs its interface", target.ip()))
                .hint(format!("{}%eth0, for example", target.ip())),
            _ => ToolError::unavailable(format!("there is no way to {}: {fault}", target.ip()))
                .hint("network.get_status shows the default gateway"),
        },
    };
    error.with("parameter", "address").with("provided_value", given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_answers_and_loss_is_of_all() {
        let probe = |sequence, rtt_ms| Probe { sequence, rtt_ms, error: None };
        let target = "192.0.2.1:0".parse().unwrap();
        let out = Out::of("pi".into(), target, vec![probe(1, Some(1.0)), probe(2, None), probe(3, Some(2.5))]);
        assert_eq!((out.packets_sent, out.packets_received, out.packet_loss_percent), (3, 2, 33.3));
        assert_eq!((out.min_rtt_ms, out.avg_rtt_ms, out.max_rtt_ms), (Some(1.0), Some(1.75), Some(2.5)));
        let none = Out::of("pi".into(), target, vec![probe(1, None)]);
        assert_eq!((none.packet_loss_percent, none.min_rtt_ms, none.avg_rtt_ms), (100.0, None, None));
    }
}
