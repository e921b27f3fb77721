//! What a router measures: ping, traceroute, bandwidth.

use super::{
    super::{
        call::RouterCall,
        client::RouterClient,
        value::{
            Field,
            Kind::{Integer, Number, Text},
            nanoseconds, object,
        },
    },
    begun, rows,
};
use base::error::ToolError;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

type Answer = Result<Map<String, Value>, ToolError>;

/// RouterOS ends its own commands after this time.
const LONGEST: Duration = Duration::from_secs(60);

fn arguments(given: &[(&str, &str)]) -> Map<String, Value> {
    given.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// `ping`: a request for each packet, so that a caller hears of each and can stop.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn ping(client: &RouterClient, call: &RouterCall) -> Answer {
    let (address, count) = (call.text("address"), call.number("count"));
    let interval = Duration::from_millis(call.number("interval_ms").try_into().unwrap_or(u64::MAX));
    let body = arguments(&[("address", address), ("count", "1")]);
    let (mut times, mut host) = (Vec::new(), address.to_owned());
    for packet in 1..=count {
        let next = Instant::now() + interval;
        let replies = client.command("tool/ping", &body).await?;
        let reply = replies.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let time = reply["time"].as_str().and_then(nanoseconds).map(|time| time as f64 / 1e6);
        if let Some(named) = reply["host"].as_str() {
            named.clone_into(&mut host);
        }
        if call.flag("stream_progress") {
            let said = time.map_or_else(|| "no answer".to_owned(), |time| format!("{time} ms"));
            (call.progress)(packet as u64, count as u64, &format!("packet {packet}: {said}"));
        }
        times.extend(time);
        if packet < count {
            sleep_until(next).await;
        }
    }
    let mut answer = begun(client);
    let lost = (count - times.len()) as f64 * 100.0 / count.max(1) as f64;
    for (name, value) in [
        ("host", json!(host)),
        ("packets_sent", json!(count)),
        ("packets_received", json!(times.len())),
        ("packet_loss_percent", json!(lost)),
    ] {
        answer.insert(name.into(), value);
    }
    if !times.is_empty() {
        let rounded = |time: f64| json!((time * 1e3).round() / 1e3);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        answer.insert("min_rtt_ms".into(), rounded(times.iter().copied().fold(f64::MAX, f64::min)));
        answer.insert("avg_rtt_ms".into(), rounded(mean));
        answer.insert("max_rtt_ms".into(), rounded(times.iter().copied().fold(0.0, f64::max)));
    }
    Ok(answer)
}

pub(crate) const HOP: &[Field] = &[
    ("address", "address", Text),
    ("rtt_ms", "last", Number),
    ("loss_percent", "loss", Number),
    ("probes", "sent", Integer),
    ("status", "status", Text),
];

/// `traceroute`
///
/// # Errors
/// See [`super::super::failure`].
pub async fn traceroute(client: &RouterClient, call: &RouterCall) -> Answer {
    let (target, count) = (call.text("address"), call.number("count").to_string());
    let body = arguments(&[
        ("address", target),
        ("count", &count),
        ("max-hops", "30"),
        ("timeout", "500ms"),
        // Without an end of its own it would go on.
        ("duration", "50s"),
    ]);
    let answered = client.command_within("tool/traceroute", &body, LONGEST).await?;
    let all = answered.as_array().map(Vec::as_slice).unwrap_or_default();
    // Where it answers with a section for each round, the last one has everything.
    let last = all.iter().filter_map(|row| row[".section"].as_str()?.parse::<u64>().ok()).max();
    let of_last = |row: &&Value| last.is_none() || row[".section"].as_str().and_then(|text| text.parse().ok()) == last;
    let kept: Vec<Value> = all.iter().filter(of_last).cloned().collect();
    let hops: Vec<Value> = rows(&kept.into(), HOP)
        .into_iter()
        .zip(1..)
        .map(|(mut hop, number): (Value, u32)| {
            hop["hop"] = number.into();
            // A hop that does not answer has no time.
            if let Some(fields) = hop.as_object_mut() {
                fields.retain(|name, value| name != "rtt_ms" || value.is_number());
            }
            hop
        })
        .collect();
    let mut answer = begun(client);
    answer.insert("target".into(), json!(target));
    answer.insert("total_hops".into(), json!(hops.len()));
    answer.insert("hops".into(), hops.into());
    Ok(answer)
}

pub(crate) const BANDWIDTH: &[Field] = &[
    ("status", "status", Text),
    ("tx_bits_per_second", "tx-total-average", Integer),
    ("rx_bits_per_second", "rx-total-average", Integer),
    ("lost_packets", "lost-packets", Integer),
];

/// `bandwidth_test`: it loads the link. The other end has to let it in without a user: a password is no argument.
///
/// # Errors
/// See [`super::super::failure`]; `failed_precondition` if the other end does not answer.
pub async fn bandwidth(client: &RouterClient, call: &RouterCall) -> Answer {
    let (target, seconds) = (call.text("address"), call.number("duration_seconds"));
    let direction = match call.text("direction") {
        "send" => "transmit",
        other => other,
    };
    let duration = format!("{seconds}s");
    let body = arguments(&[("address", target), ("direction", direction), ("duration", &duration)]);
    let answered = client.command_within("tool/bandwidth-test", &body, LONGEST + Duration::from_secs(5)).await?;
    let last = answered.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    let mut answer = begun(client);
    answer.extend(object(&last, BANDWIDTH));
    let status = answer.get("status").and_then(Value::as_str).unwrap_or_default();
    if status.contains("connect") || status.contains("auth") {
        return Err(ToolError::precondition(format!("{target} takes no bandwidth test: {status}"))
            .with("device_id", client.device().id.as_str())
            .with("mcp_error_code", "DEVICE_ERROR")
            .hint("enable /tool/bandwidth-server with authenticate=no there, for as long as you measure"));
    }
    answer.insert("target".into(), json!(target));
    answer.insert("duration_seconds".into(), json!(seconds));
    Ok(answer)
}
