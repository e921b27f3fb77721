//! Follows an order of the fleet's owner.

use crate::{context::Context, halt::HaltActor, log::ATTEMPTS, operations::Operation};
use base::{error::ToolError, signing::PublicKey};
use fleet_protocol::order::{Order, OrderKind};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Minutes between reports that an order may set.
const REPORT_MINUTES: std::ops::RangeInclusive<u32> = 1..=1440;

/// A message of the subject `order`, as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderMessage {
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderFollowed {
    pub operation: OrderKind,
}

/// The broker is no authority: the agent checks the signature with the key in its own configuration, and that the order is
/// for this device and newer than the last one.
pub struct FollowOrder;

impl Operation for FollowOrder {
    const TAG: &'static str = "follow_order";
    const ANSWER: &'static str = "order_followed";
    const CHANGES: bool = true;
    type Request = OrderMessage;
    type Answer = OrderFollowed;

    async fn run(cx: &Context<'_>, request: OrderMessage) -> Result<OrderFollowed, ToolError> {
        let order = judged(cx, &request.message).inspect_err(|error| {
            let reason = || json!({ "reason": error.message });
            cx.log.attempt("fleet order refused", cx.peer, ATTEMPTS, reason);
        })?;
        let fleet = &cx.settings.fleet.name;
        let done = match order.operation {
            OrderKind::Halt => {
                let actor = HaltActor { by: format!("fleet:{fleet}"), how: "an order of the fleet's key".into() };
                cx.halt.set(actor, cx.peer, order.args.reason.clone()).await.map(drop)
            }
            OrderKind::Interval => Ok(()),
        };
        // Recorded after it was followed: a power cut in between leaves an order that can be followed again, not one that
        // is lost.
        let done = done.and_then(|()| cx.fleet.followed(&order));
        let about = json!({
            "fleet": fleet, "sequence": order.sequence, "operation": order.operation, "args": order.args,
        });
        cx.noted("fleet order", about, done)?;
        Ok(OrderFollowed { operation: order.operation })
    }
}

fn judged(cx: &Context<'_>, message: &str) -> Result<Order, ToolError> {
    let settings = &cx.settings.fleet;
    let key = PublicKey::parse(&settings.owner_key).filter(|_| settings.is_on()).ok_or_else(|| {
        ToolError::precondition("this device knows no key of its fleet, and follows no order")
            .hint("set fleet.owner_key to the text in the owner's fleet.pub, and restart agent and server")
    })?;
    let order = Order::read(message.as_bytes(), &key, &settings.name, &settings.device, (cx.clock)())?;
    if order.operation == OrderKind::Interval && !order.args.minutes.is_some_and(|it| REPORT_MINUTES.contains(&it)) {
        return Err(ToolError::invalid("a device reports every 1 to 1440 minutes; the order says something else"));
    }
    cx.fleet.is_new(&order)?;
    Ok(order)
}
