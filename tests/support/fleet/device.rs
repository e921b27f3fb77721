//! A device as far as its fleet sees it: signed statuses, and orders that it follows.

use super::FLEET;
use base::{
    clock::Wall,
    signing::{PublicKey, SigningKey},
};
use fleet_protocol::{
    log::{self, LogKind, LogMessage},
    order::{Order, OrderKind},
    signed,
    status::{PURPOSE, Status},
    subject::{Subjects, inbox},
};
use raspi_mcp::broker::{Broker, BrokerOptions, BrokerSubscription};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A device that is not connected.
pub struct SimulatedDevice {
    pub name: String,
    pub id: String,
    pub key: SigningKey,
    /// Where its certificate is.
    folder: PathBuf,
    owner: PublicKey,
    sequence: u64,
    /// Fields of its status that differ from those of a healthy device.
    pub differs: Value,
}

/// One that is.
pub struct DeviceClient {
    pub device: SimulatedDevice,
    pub broker: Broker,
    orders: BrokerSubscription,
    /// Frames of its tunnels: a real device hears them too.
    _up: BrokerSubscription,
}

impl SimulatedDevice {
    pub fn new(name: &str, folder: &Path, owner: PublicKey) -> Self {
        let key = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
        let sequence = Wall::system().now_ms().unsigned_abs() / 1_000;
        Self {
            name: name.into(),
            id: key.public().id(),
            key,
            folder: folder.into(),
            owner,
            sequence,
            differs: json!({}),
        }
    }

    /// The next status, signed.
    pub fn status(&mut self) -> String {
        self.sequence += 1;
        let differs = self.differs.clone();
        self.signs(&differs)
    }

    /// A status with these fields and no other sequence, signed by this device.
    pub fn signs(&self, differs: &Value) -> String {
        let mut document = json!({
            "purpose": PURPOSE, "fleet": FLEET, "name": self.name, "device": self.id, "sequence": self.sequence,
            "time_ms": Wall::system().now_ms(), "boot": "4fbd6f3b-8c1f-4a2e-9c36-b5a2a2f2e7d1", "version": "2.1.0",
            "manifest": "9c".repeat(32), "counter": 17, "slot": "a", "state": "good",
            "attempt": { "version": "2.1.0", "manifest": "9c".repeat(32), "phase": "committed", "reason": "",
                         "time_ms": 1_767_225_600_000_i64 },
            "halted": false, "halt_order": 0, "healthy": true, "problems": [], "asks": 0, "server": "0.2.0", "ring": null, "tags": [],
            "simulated": true,
        });
        for (name, value) in differs.as_object().unwrap() {
            document[name] = value.clone();
        }
        // Whatever it says, it has the form that a real device writes.
        let document: Status = serde_json::from_value(document).unwrap();
        signed::sign(PURPOSE, &serde_json::to_string(&document).unwrap(), &self.key)
    }

    /// A message of its log.
    pub fn log(&self, kind: LogKind, sequence: u64, body: Value) -> LogMessage {
        LogMessage {
            purpose: log::PURPOSE.into(),
            fleet: FLEET.into(),
            name: self.name.clone(),
            device: self.id.clone(),
            sequence,
            time_ms: Wall::system().now_ms(),
            kind,
            dropped: 0,
            body,
        }
    }

    /// Connects and hears its orders. `persistent`: goes on trying, as the real one does.
    pub async fn connects(self, port: u16, persistent: bool) -> DeviceClient {
        let broker = Broker::connect(BrokerOptions {
            servers: vec![format!("tls://127.0.0.1:{port}")],
            authority: self.folder.join("ca.pem"),
            certificate: self.folder.join(format!("{}.pem", self.name)),
            key: self.folder.join(format!("{}.key", self.name)),
            name: self.name.clone(),
            inbox: inbox(&self.name),
            persistent,
        });
        let broker = broker.await.unwrap();
        let subjects = Subjects::of(FLEET);
        let orders = broker.subscribe(subjects.device(&self.name)).await.unwrap();
        let up = broker.subscribe(subjects.up(&self.name, "*")).await.unwrap();
        DeviceClient { device: self, broker, orders, _up: up }
    }
}

impl DeviceClient {
    /// Sends the next status under its own subject, and waits until the broker has it.
    pub async fn reports(&mut self) {
        let message = self.device.status();
        self.sends(message).await;
    }

    /// Signs a message of the log and sends it, and waits until the network has it.
    pub async fn logs(&self, message: &LogMessage) {
        let message = message.sign(&self.device.key).unwrap();
        self.broker.publish(Subjects::of(FLEET).log(&self.device.name), message.into()).await.unwrap();
        self.broker.flush().await.unwrap();
    }

    /// Sends a status under its own subject.
    pub async fn sends(&self, message: String) {
        self.broker.publish(Subjects::of(FLEET).status(&self.device.name), message.into()).await.unwrap();
        self.broker.flush().await.unwrap();
    }

    /// Waits until the fleet's key orders a halt, and follows it: the reason. `None` after the connection ended.
    pub async fn follows(&mut self) -> Option<String> {
        let order = self.hears_order().await?;
        self.device.differs["halted"] = true.into();
        self.device.differs["halt_order"] = order.sequence.into();
        self.reports().await;
        order.args.reason
    }

    /// Waits until the fleet's key orders a halt, and does nothing. `None` after the connection ended.
    pub async fn hears_order(&mut self) -> Option<Order> {
        let subject = Subjects::of(FLEET).order(&self.device.name);
        loop {
            let message = self.orders.next().await?;
            if message.subject != subject {
                continue;
            }
            let device = &self.device;
            let now = Wall::system().now_ms();
            let Ok(order) = Order::read(&message.payload, &device.owner, FLEET, &device.name, now) else { continue };
            if order.operation == OrderKind::Halt {
                return Some(order);
            }
        }
    }
}
