//! Halting devices by an order that the fleet's key signs, and who confirms it.

use super::{
    Console, StatusBook,
    book::{AcceptedStatus, Taken},
};
use base::{error::ToolError, signing::SigningKey};
use fleet_protocol::order::{ALL, Order, OrderArgs, OrderKind};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    future::pending,
    path::Path,
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Bytes of a reason, at most.
const REASON: usize = 200;

/// Who was told to halt.
#[derive(Debug, Default)]
pub struct HaltOutcome {
    /// Their agents signed a status that says so.
    pub confirmed: BTreeSet<String>,
    /// They may not have heard it.
    pub open: BTreeSet<String>,
    /// Of those, the ones with whose identity another machine runs: which of both confirmed it is not known.
    pub clones: BTreeMap<String, String>,
}

/// How long confirmations are waited for.
#[derive(Clone, Copy, Debug)]
pub struct HaltWait {
    pub most: Duration,
    /// Ends earlier when none came for so long. Those who are connected confirm within about a second.
    pub idle: Option<Duration>,
}

impl Console {
    /// Orders the devices to halt (`all`: the order is for every device of the fleet), and waits until
    /// their statuses confirm it. `told` hears how many have. Only a status counts that came after the order and names it, or a later one: a
    /// device that was halted before may report meanwhile without having heard anything. Versions up to 0.2 name no order.
    ///
    /// # Errors
    /// `invalid_argument` for a reason or a key that cannot be used; `unavailable` when the broker does not answer.
    pub async fn halt(
        &self,
        names: BTreeSet<String>,
        all: bool,
        reason: &str,
        wait: HaltWait,
        told: impl Fn(usize),
    ) -> Result<HaltOutcome, ToolError> {
        if reason.trim().is_empty() || reason.len() > REASON || reason.contains(char::is_control) {
            return Err(ToolError::invalid(format!("a reason is one line of 1 to {REASON} bytes")));
        }
        let key = signing_key(&self.folder.path.join("fleet.key"))?;
        // Before the order is sent: a status that follows it at once must not be missed.
        let (mut book, mut reader) = self.statuses().await?;
        let now_ms = self.wall.now_ms();
        let order = |device: &str| {
            let args = OrderArgs { reason: Some(reason.to_owned()), minutes: None };
            Order::sign(&self.folder.name, device, OrderKind::Halt, args, now_ms, &key)
        };
        let everybody = if all { Some(order(ALL)?) } else { None };
        for name in &names {
            let message = everybody.clone().map_or_else(|| order(name), Ok)?;
            self.broker.publish(self.subjects.order(name), message.into()).await?;
        }
        self.broker.flush().await?;
        let (mut confirmed, mut open) = (BTreeSet::new(), names);
        let confirming = async {
            let mut last = Instant::now();
            told(confirmed.len());
            while !open.is_empty() {
                // Who has not confirmed by now is told as open.
                let message = tokio::select! {
                    Ok(message) = reader.next() => message,
                    () = wait.ends_idle(last) => break,
                    else => break,
                };
                let taken = book.take(&message.subject, &message.payload, message.heard_ms);
                if let Taken::Newer(name) = taken
                    && follows(&book, &name, now_ms)
                    && clone_of(&book, &name).is_none()
                    && let Some(name) = open.take(&name)
                {
                    confirmed.insert(name);
                    last = Instant::now();
                    told(confirmed.len());
                }
            }
        };
        // At the end of the time, some are open.
        let _ = tokio::time::timeout(wait.most, confirming).await;
        // Another machine may be heard after the first one has confirmed it.
        let clones: BTreeMap<String, String> =
            confirmed.iter().chain(&open).filter_map(|name| Some((name.clone(), clone_of(&book, name)?))).collect();
        open.extend(clones.keys().cloned());
        confirmed.retain(|name| !clones.contains_key(name));
        Ok(HaltOutcome { confirmed, open, clones })
    }
}

impl HaltWait {
    /// Waits until no confirmation has come for too long; `last`: when the last one came.
    async fn ends_idle(self, last: Instant) {
        match self.idle {
            Some(idle) => sleep_until(last + idle).await,
            None => pending().await,
        }
    }
}

/// Whether its newest status says that it is halted, by the order of `signed_ms` or a later one.
fn follows(book: &StatusBook, name: &str, signed_ms: i64) -> bool {
    let Some((_, Some(AcceptedStatus { document, .. }))) = book.device(name) else { return false };
    let is_late_enough = |last: u64| i64::try_from(last).is_ok_and(|last| last >= signed_ms);
    document.halted && document.halt_order.is_none_or(is_late_enough)
}

/// What an owner has to know of another machine with this device's identity, if there is one.
fn clone_of(book: &StatusBook, name: &str) -> Option<String> {
    let (_, status) = book.device(name)?;
    Some(status?.clone_seen.as_ref()?.sentence())
}

/// The fleet's key: PKCS #8, as PEM or DER.
fn signing_key(file: &Path) -> Result<SigningKey, ToolError> {
    let wrong = |why: String| {
        ToolError::invalid(format!("{}: {why}", file.display())).hint(
            "orders are signed with the fleet's key; it may lie on another medium: copy it there for this command",
        )
    };
    let bytes = fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let der = PrivatePkcs8KeyDer::from_pem_slice(&bytes).map(|key| key.secret_pkcs8_der().to_vec()).unwrap_or(bytes);
    SigningKey::from_pkcs8(&der).map_err(|error| wrong(error.message.clone()))
}
