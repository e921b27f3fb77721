//! A real device in a fleet: this program with a simulated board, its agent and its listener.

use crate::support::{
    fleet::{FLEET, FleetDesk, NatsServer},
    served::{
        secure::{Owner, Secure, pinned},
        soon,
    },
};
use agent::operations::approvals::{DescribeDevice, DeviceRequest};
use base::clock::Wall;
use fleet_protocol::{
    order::{Order, OrderArgs, OrderKind},
    status::Status,
    subject::Subjects,
};
use raspi_mcp::{
    broker::Broker,
    fleet::{
        console::{Console, FleetFolder},
        local_port::LocalPort,
    },
};
use serde_json::{Value, json};
use std::sync::Arc;

pub const NAME: &str = "kitchen";

/// The device, its broker, and the desk of its owner.
pub struct Joined {
    pub desk: FleetDesk,
    server: NatsServer,
    pub device: Secure,
}

impl Joined {
    pub async fn start() -> Self {
        let desk = FleetDesk::new();
        let server = NatsServer::start(&desk, &[NAME.into()]).await;
        let fleet = desk.joins(NAME, server.port);
        let device = Secure::of(Owner::new(), |settings| settings.fleet = fleet).await;
        let about = device.pi.server().pipeline.services.agent.call::<DescribeDevice>(DeviceRequest::default()).await;
        desk.knows(NAME, &about.unwrap().key, &device.pin.to_string());
        Self { desk, server, device }
    }

    async fn console(&self) -> Console {
        Console::connect(FleetFolder::read(self.desk.path()).unwrap(), Wall::system()).await.unwrap()
    }

    /// Waits until the device has sent a status that `is_it`.
    pub async fn status(&self, is_it: impl Fn(&Status) -> bool) -> Status {
        let console = self.console().await;
        soon(async {
            let (mut book, mut reader) = console.statuses().await.unwrap();
            loop {
                if let Some((_, Some(status))) = book.device(NAME)
                    && is_it(&status.document)
                {
                    return status.document.clone();
                }
                let message = reader.next().await.unwrap();
                book.take(&message.subject, &message.payload, message.heard_ms);
            }
        })
        .await
    }

    fn order(&self, device: &str, operation: OrderKind, args: OrderArgs, now_ms: i64) -> String {
        Order::sign(FLEET, device, operation, args, now_ms, &self.desk.key).unwrap()
    }

    async fn sends(&self, broker: &Broker, order: &str) {
        broker.publish(Subjects::of(FLEET).order(NAME), order.to_owned().into()).await.unwrap();
        broker.flush().await.unwrap();
    }

    /// A port that leads to the device, and an HTTP client that pins its certificate.
    async fn reached(&self) -> (String, reqwest::Client) {
        let port = LocalPort::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let url = format!("https://{}", port.address().unwrap());
        let console = Arc::new(self.console().await);
        tokio::spawn(port.serve(console, NAME.into(), |error| eprintln!("{}", error.advice())));
        (url, pinned(self.device.pin).build().unwrap())
    }
}

fn call(tool: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": tool, "params": params })
}

#[tokio::test]
async fn a_device_reports_when_it_is_connected_and_when_something_changes() {
    let joined = Joined::start().await;
    let first = joined.status(|_| true).await;
    assert_eq!((first.halted, first.halt_order, first.simulated, first.tags.len()), (false, Some(0), true, 0));
    assert_eq!(first.server, env!("CARGO_PKG_VERSION"));
    let reason = OrderArgs { reason: Some("smoke".into()), minutes: None };
    let broker = joined.server.console(&joined.desk).await;
    let now = Wall::system().now_ms();
    joined.sends(&broker, &joined.order(NAME, OrderKind::Halt, reason.clone(), now)).await;
    let halted = joined.status(|status| status.halted).await;
    assert!(halted.sequence > first.sequence);
    assert!(joined.status(|status| status.halt_order == u64::try_from(now).ok()).await.halted);
    let halt = joined.device.pi.server().pipeline.services.halt.standing().unwrap();
    assert_eq!((halt.by.as_str(), halt.reason.as_deref()), ("fleet:home", Some("smoke")));
}

#[tokio::test]
async fn an_order_that_is_forged_or_repeated_is_not_followed() {
    let joined = Joined::start().await;
    joined.status(|_| true).await;
    let broker = joined.server.console(&joined.desk).await;
    let agent = joined.device.pi.server().pipeline.services.agent.clone();
    let now = Wall::system().now_ms();
    let minutes = |minutes| OrderArgs { minutes: Some(minutes), reason: None };
    let good = joined.order(NAME, OrderKind::Interval, minutes(7), now);
    joined.sends(&broker, &good).await;
    let judged = |order: String| {
        let agent = agent.clone();
        async move {
            use agent::operations::fleet::{FollowOrder, OrderMessage};
            agent.call::<FollowOrder>(OrderMessage { message: order }).await
        }
    };
    // The first one travels through the broker: once it was followed, it counts no more.
    let error = soon(async {
        loop {
            match judged(good.clone()).await {
                Err(error) => return error,
                Ok(_) => continue,
            }
        }
    })
    .await;
    assert!(error.message.contains("not newer"), "{error}");
    let forged = Order::sign(FLEET, NAME, OrderKind::Interval, minutes(8), now + 9, &FleetDesk::new().key).unwrap();
    for (order, why) in [
        (joined.order("shed", OrderKind::Interval, minutes(8), now + 1), "for another device"),
        (joined.order(NAME, OrderKind::Interval, minutes(0), now + 2), "every 1 to 1440 minutes"),
        (joined.order(NAME, OrderKind::Interval, OrderArgs::default(), now + 3), "every 1 to 1440 minutes"),
        (good.replace("\"minutes\":7", "\"minutes\":8"), "signature"),
        (forged, "signature"),
        (joined.order(NAME, OrderKind::Interval, minutes(8), now - 1), "not newer"),
        (joined.order(NAME, OrderKind::Interval, minutes(8), now - 2 * 86_400_000), "older than a day"),
        ("{}".into(), "no document and signature"),
    ] {
        let error = judged(order.clone()).await.unwrap_err();
        assert!(error.message.contains(why), "{order}: {error}");
    }
    judged(joined.order("*", OrderKind::Interval, minutes(8), now + 1)).await.unwrap();
}

#[tokio::test]
async fn a_call_goes_through_the_tunnel_and_nobody_is_known_there_without_a_token() {
    let joined = Joined::start().await;
    joined.status(|_| true).await;
    let (url, client) = joined.reached().await;
    let post = client.post(format!("{url}/api/mcp")).bearer_auth(&joined.device.token);
    let response = soon(post.json(&call("system.get_basic_info", json!({}))).send()).await.unwrap();
    let answer: Value = soon(response.json()).await.unwrap();
    assert_eq!(answer["result"]["simulated"], Value::Null, "{answer}");
    assert!(answer["result"]["hostname"].is_string(), "{answer}");
    // The tunnel's own end is not this computer to the device.
    let alone = client.post(format!("{url}/api/mcp")).json(&call("system.get_basic_info", json!({})));
    assert_eq!(soon(alone.send()).await.unwrap().status(), 401);
    let claim = client.post(format!("{url}/claim")).bearer_auth(&joined.device.token).json(&json!({}));
    assert_eq!(soon(claim.send()).await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_device_that_is_not_there_is_told_at_once_and_a_lost_broker_breaks_tunnels() {
    let mut joined = Joined::start().await;
    joined.status(|_| true).await;
    let console = joined.console().await;
    let error = soon(raspi_mcp::fleet::tunnel::open(&console.broker, &console.subjects, "attic")).await.unwrap_err();
    assert!(error.message.contains("not connected"), "{error}");
    let mut tunnel = soon(raspi_mcp::fleet::tunnel::open(&console.broker, &console.subjects, NAME)).await.unwrap();
    joined.server.restart(&joined.desk, &[NAME.into()]).await;
    let mut byte = [0];
    let ended = soon(tokio::io::AsyncReadExt::read(&mut tunnel, &mut byte)).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}
