//! The device's end of tunnels: each is a connection of the HTTP listener, with TLS, from the network.

use super::FleetDevice;
use crate::{
    broker::tunnel::{LOCAL_BUFFER, TunnelEnd},
    transport::http::{App, TunnelEntrance},
};
use base::base64url;
use fleet_protocol::tunnel::{FIRST_WINDOW, Frame};
use serde::Deserialize;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Tunnels at once. Each holds two windows and two local buffers at most.
const MOST: usize = 8;
/// The largest window of what comes in, in bytes: 8 tunnels hold 16 MiB at most.
const MOST_WINDOW: u32 = 2 * 1024 * 1024;

pub(super) struct Tunnels {
    /// `None` when the listener has no TLS, or there is none.
    entrance: Option<Arc<TunnelEntrance>>,
    open: Arc<AtomicUsize>,
}

/// What a console sends to open one.
#[derive(Deserialize)]
struct Dial {
    /// 16 random bytes in base64url: a part of the subjects of its frames.
    connection: String,
    /// The name of the console, for the log.
    by: String,
}

impl Tunnels {
    pub(super) fn new(app: Option<&Arc<App>>) -> Self {
        let entrance = app.and_then(|app| TunnelEntrance::new(app, MOST));
        Self { entrance: entrance.map(Arc::new), open: Arc::default() }
    }

    /// Opens a tunnel, or tells the console why not.
    pub(super) async fn dial(&self, device: &Arc<FleetDevice>, payload: &[u8]) {
        let Some(dial) = read(payload) else { return };
        let (name, connection) = (&device.settings().device, &dial.connection);
        let (up, down) = (device.subjects.up(name, connection), device.subjects.down(name, connection));
        let refused = match &self.entrance {
            None => Some("its listener has no TLS: set tls.enabled there"),
            Some(_) if self.open.load(Ordering::Relaxed) >= MOST => Some("it has 8 tunnels open already; close one"),
            Some(_) => None,
        };
        let first = refused.map_or(Frame::Accept(FIRST_WINDOW), Frame::Reset);
        // Before the console is told: it sends at once then.
        let frames = device.broker.subscribe(up).await;
        let told = device.broker.publish(down.clone(), first.write().into()).await;
        let (Ok(frames), Ok(()), None, Some(entrance)) = (frames, told, refused, &self.entrance) else { return };
        tracing::info!(target: "fleet", by = dial.by.escape_debug().to_string(), "a tunnel was opened");
        let end =
            TunnelEnd { broker: device.broker.clone(), to: down, frames, credit: FIRST_WINDOW, most: MOST_WINDOW };
        let (entrance, open) = (Arc::clone(entrance), Arc::clone(&self.open));
        open.fetch_add(1, Ordering::Relaxed);
        base::task::spawn(async move {
            let (local, served) = tokio::io::duplex(LOCAL_BUFFER);
            let (ended, _) = futures::join!(end.carry(local), entrance.enter(served));
            open.fetch_sub(1, Ordering::Relaxed);
            tracing::info!(target: "fleet", why = ended.err(), "a tunnel ended");
        });
    }
}

fn read(payload: &[u8]) -> Option<Dial> {
    let dial: Dial = serde_json::from_slice(payload).ok()?;
    let is_random = base64url::decode(&dial.connection).is_some_and(|bytes| bytes.len() == 16);
    (is_random && dial.by.len() <= 64).then_some(dial)
}
