//! What a router measures.

use super::*;
use crate::routeros::reads::diagnostics::{self, HOP};

const TAGS: &[&str] = &["routeros", "diagnostics"];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Ping an address from a router.\n\nUse when: it matters what the router reaches.\n\nReturns: packets, loss, times in milliseconds.",
        tags: TAGS,
        timeout_seconds: 120,
        args: &[
            need("address", ArgKind::Text(1, 253), "An address or a name."),
            or("count", ArgKind::Integer(1, 10), "4", "Packets to send."),
            or("interval_ms", ArgKind::Integer(10, 5000), "1000", "From one packet to the next."),
            or("stream_progress", ArgKind::Flag, "false", "Report each packet."),
        ],
        output: &[
            out("device_id", OutKind::Text),
            out("host", OutKind::Text),
            out("packets_sent", OutKind::Integer),
            out("packets_received", OutKind::Integer),
            out("packet_loss_percent", OutKind::Number),
            maybe("min_rtt_ms", OutKind::Number),
            maybe("avg_rtt_ms", OutKind::Number),
            maybe("max_rtt_ms", OutKind::Number),
        ],
        ..read(
            "routeros.ping",
            "tool/ping",
            "Ping from a router",
            Run::Device(|router, call| Box::pin(diagnostics::ping(&router.client, call))),
        )
    },
    RouterTool {
        description: "Trace the way from a router to an address.\n\nUse when: packets get lost somewhere between.\n\nReturns: each hop with its address, time in milliseconds and loss.\n\nNote: at most 30 hops; it takes up to a minute.",
        tags: TAGS,
        timeout_seconds: 90,
        args: &[
            need("address", ArgKind::Text(1, 253), "An address or a name."),
            or("count", ArgKind::Integer(1, 3), "1", "Packets to each hop."),
        ],
        output: &[
            out("device_id", OutKind::Text),
            out("target", OutKind::Text),
            out("hops", OutKind::Rows(HOP)),
            out("total_hops", OutKind::Integer),
        ],
        ..read(
            "routeros.traceroute",
            "tool/traceroute",
            "Trace a route from a router",
            Run::Device(|router, call| Box::pin(diagnostics::traceroute(&router.client, call))),
        )
    },
    RouterTool {
        description: "Measure the bandwidth from a router to another RouterOS device.\n\nUse when: a link is slower than it should be.\n\nReturns: bits a second in both directions.\n\nNote: it fills the link. The other end has to run /tool/bandwidth-server with authenticate=no.",
        tags: TAGS,
        tier: Tier::Advanced,
        effect: Effect::Write { destructive: false, idempotent: true },
        asks: true,
        timeout_seconds: 90,
        args: &[
            DEVICE,
            need("address", ArgKind::Text(1, 253), "The other RouterOS device."),
            or("direction", ArgKind::Word(&["send", "receive", "both"]), "\"both\"", "As the router sees it."),
            or("duration_seconds", ArgKind::Integer(1, 60), "10", "How long."),
        ],
        output: &[
            out("device_id", OutKind::Text),
            out("target", OutKind::Text),
            out("duration_seconds", OutKind::Integer),
            maybe("status", OutKind::Text),
            maybe("tx_bits_per_second", OutKind::Integer),
            maybe("rx_bits_per_second", OutKind::Integer),
            maybe("lost_packets", OutKind::Integer),
        ],
        ..read("routeros.bandwidth_test", "tool/bandwidth-test", "Measure a router's bandwidth", Run::Call(bandwidth))
    },
];

fn bandwidth<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let router = service.router(call, call.text("device_id"))?;
        service.authorize(call).await?;
        let answer = diagnostics::bandwidth(&router.client, call).await;
        router.note(answer.as_ref().err());
        answer.map(Value::Object)
    })
}
