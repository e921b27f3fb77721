//! The console's end of a tunnel.

use crate::broker::{
    Broker, RequestFailure,
    tunnel::{LOCAL_BUFFER, TunnelEnd},
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use fleet_protocol::{
    subject::Subjects,
    tunnel::{FIRST_WINDOW, Frame, MAX_WINDOW},
};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use std::time::Duration;
use tokio::{io::DuplexStream, time::sleep};

/// How long a device may take to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// How often the broker is asked whether the device still hears the tunnel.
const LOOK: Duration = Duration::from_secs(10);

/// Opens a tunnel to the listener of `device`: bytes of its TLS. It ends when the stream is dropped.
///
/// # Errors
/// `unavailable` when the device is not connected or does not answer; its reason, when it refuses.
pub async fn open(broker: &Broker, subjects: &Subjects, device: &str) -> Result<DuplexStream, ToolError> {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    let connection = base64url::encode(&random);
    let mut frames = broker.subscribe(subjects.down(device, &connection)).await?;
    let dial = json!({ "connection": connection, "by": "console" }).to_string();
    // The device answers with a frame. The reply is only for the broker, which says when nobody hears the subject.
    let request = broker.request(subjects.dial(device), dial.into(), ANSWER);
    let message = tokio::select! {
        message = frames.next() => message,
        failure = request => return Err(match failure {
            Err(RequestFailure::Nobody) => ToolError::unavailable(format!("{device} is not connected to the broker"))
                .hint("`raspi-mcp fleet status` says when it reported last"),
            Err(RequestFailure::Broken(error)) => error,
            Ok(_) | Err(RequestFailure::Timeout) => {
                ToolError::new(ErrorCode::Timeout, format!("{device} did not answer within {} s", ANSWER.as_secs()))
                    .hint("it may have lost its connection just now; try again in two minutes")
            }
        }),
    };
    let message = message.ok_or_else(|| ToolError::unavailable("the connection to the broker was closed"))?;
    let credit = match Frame::read(&message.payload) {
        Some(Frame::Accept(credit)) => credit,
        Some(Frame::Reset(why)) => {
            return Err(ToolError::unavailable(format!("{device} refuses the tunnel: {}", why.escape_debug())));
        }
        _ => return Err(ToolError::unavailable(format!("{device} answers with something that is no tunnel"))),
    };
    let (local, ours) = tokio::io::duplex(LOCAL_BUFFER);
    let (broker, up) = (broker.clone(), subjects.up(device, &connection));
    let end = TunnelEnd {
        broker: broker.clone(),
        to: up.clone(),
        frames,
        credit: credit.min(FIRST_WINDOW),
        most: MAX_WINDOW,
    };
    base::task::spawn(async move {
        let ended = tokio::select! {
            ended = end.carry(local) => ended,
            () = gone(&broker, &up) => Err("the device lost its connection to the broker".into()),
        };
        if let Err(why) = ended {
            // Also how a call ends whose answer is there.
            tracing::debug!(target: "fleet", why, "a tunnel broke");
        }
    });
    Ok(ours)
}

/// Waits until nobody hears `up` any more: the device's server was killed, or lost the broker. A connection of it that went
/// silent is noticed by the broker later, and by the silence in the tunnel.
async fn gone(broker: &Broker, up: &str) {
    loop {
        sleep(LOOK).await;
        // The device answers with a frame in the tunnel. The reply is for the broker, which says at once when nobody is there.
        let asked = broker.request(up.to_owned(), Frame::Probe.write().into(), LOOK);
        if let Err(RequestFailure::Nobody) = asked.await {
            return;
        }
    }
}
