//! Follows an order of the fleet's owner.

use crate::{context::Context, halt::HaltActor, log::ATTEMPTS, operations::Operation};
use base::{error::ToolError, signing::PublicKey};
use fleet_protocol::{
    order::{FleetOperation, FleetOrder, MAX_ORDER, ORDER_PURPOSE},
    signed,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A message of the subject `order`, as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderMessage {
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderFollowed {
    pub operation: FleetOperation,
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
        let done = match &order.operation {
            FleetOperation::Halt { reason } => {
                let actor = HaltActor { by: format!("fleet:{fleet}"), how: "an order of the fleet's key".into() };
                cx.halt.set(actor, cx.peer, Some(reason.clone())).await.map(drop)
            }
            FleetOperation::Interval { .. } => Ok(()),
        };
        let done = done.and_then(|()| cx.fleet.followed(&order));
        let request = json!({ "fleet": fleet, "sequence": order.sequence, "operation": order.operation });
        cx.noted("fleet order", request, done)?;
        Ok(OrderFollowed { operation: order.operation })
    }
}

fn judged(cx: &Context<'_>, message: &str) -> Result<FleetOrder, ToolError> {
    let settings = &cx.settings.fleet;
    let key = PublicKey::parse(&settings.owner_key).filter(|_| settings.is_on()).ok_or_else(|| {
        ToolError::precondition("this device knows no key of its fleet, and follows no order")
            .hint("set fleet.owner_key to the text in the owner's fleet.pub, and restart agent and server")
    })?;
    let order: FleetOrder = signed::read(ORDER_PURPOSE, message.as_bytes(), MAX_ORDER, &key)?;
    order.check(&settings.name, &settings.device)?;
    cx.fleet.is_new(&order)?;
    Ok(order)
}
