//! Orders of a fleet's owner to one device or all of them, signed by the fleet's key.

use crate::signed;
use base::{
    error::{ErrorCode, ToolError},
    signing::{PublicKey, SigningKey},
};
use serde::{Deserialize, Serialize};

/// What an order is signed for.
pub const PURPOSE: &str = "raspi-mcp fleet order 1";
/// Longest message, in bytes, with its signature.
pub const MAX_MESSAGE: usize = 1024;
/// An order to all devices.
pub const ALL: &str = "*";
/// How old an order may be by the device's clock, in milliseconds: a broker cannot keep one for later.
pub const MAX_AGE_MS: u64 = 24 * 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderKind {
    /// Halts the machine; `args.reason` says why.
    Halt,
    /// Sets the interval of reports to `args.minutes`, 1 to 1440, until the server restarts.
    Interval,
}

impl OrderKind {
    /// As it is written in an order.
    pub fn name(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Interval => "interval",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderArgs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub purpose: String,
    pub fleet: String,
    /// A device's name, or [`ALL`].
    pub device: String,
    /// When it was signed, in milliseconds since 1970: above that of any order of this operation before.
    pub sequence: u64,
    pub time_ms: i64,
    pub operation: OrderKind,
    #[serde(default)]
    pub args: OrderArgs,
}

impl Order {
    /// Signs an order at `now_ms`, milliseconds since 1970.
    ///
    /// # Errors
    /// `invalid_argument` for a reason that is too long.
    pub fn sign(
        fleet: &str,
        device: &str,
        operation: OrderKind,
        args: OrderArgs,
        now_ms: i64,
        key: &SigningKey,
    ) -> Result<String, ToolError> {
        let order = Self {
            purpose: PURPOSE.into(),
            fleet: fleet.into(),
            device: device.into(),
            sequence: u64::try_from(now_ms).unwrap_or(0),
            time_ms: now_ms,
            operation,
            args,
        };
        let document = serde_json::to_string(&order)
            .map_err(|error| ToolError::internal(format!("an order cannot be written: {error}")))?;
        let message = signed::sign(PURPOSE, &document, key);
        if message.len() > MAX_MESSAGE {
            return Err(
                ToolError::invalid(format!("an order has at most {MAX_MESSAGE} bytes")).hint("shorten the reason")
            );
        }
        Ok(message)
    }

    /// Reads an order to `device`, if the fleet's key signed it and it is not too old at `now_ms`. Whether it was followed before
    /// is for the device to say, by its sequence.
    ///
    /// # Errors
    /// `verification_failed` for one of another key, fleet or device, and for an old one; `invalid_argument` for a
    /// document of another form.
    pub fn read(message: &[u8], key: &PublicKey, fleet: &str, device: &str, now_ms: i64) -> Result<Self, ToolError> {
        let order: Self = signed::read(PURPOSE, message, MAX_MESSAGE, key)?;
        let now = u64::try_from(now_ms).unwrap_or(0);
        let wrong = if order.purpose != PURPOSE || order.fleet != fleet {
            "it is for another fleet"
        } else if order.device != device && order.device != ALL {
            "it is for another device"
        } else if order.sequence.saturating_add(MAX_AGE_MS) < now {
            "it is older than a day"
        } else {
            return Ok(order);
        };
        Err(ToolError::new(ErrorCode::VerificationFailed, format!("an order of the fleet is not followed: {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fleets_order_to_this_device_today_counts() {
        let key = || SigningKey::from_pkcs8(&SigningKey::generate().expect("random bytes")).expect("its own key");
        let (fleet, other) = (key(), key());
        let sign = |device: &str, key: &SigningKey| {
            Order::sign("home", device, OrderKind::Halt, OrderArgs::default(), 1_000, key).expect("short")
        };
        let read =
            |message: &str, of: &str, now: i64| Order::read(message.as_bytes(), &fleet.public(), of, "kitchen", now);
        for device in ["kitchen", ALL] {
            assert_eq!(read(&sign(device, &fleet), "home", 2_000).expect("counts").sequence, 1_000);
        }
        // A clock that is behind: a device without a battery, before it has the time.
        assert!(read(&sign(ALL, &fleet), "home", 0).is_ok());
        assert!(read(&sign("shed", &fleet), "home", 2_000).is_err());
        assert!(read(&sign(ALL, &other), "home", 2_000).is_err());
        assert!(read(&sign(ALL, &fleet), "away", 2_000).is_err());
        assert!(read(&sign(ALL, &fleet), "home", 24 * 3_600_000 + 1_001).is_err());
        assert!(read(&sign(ALL, &fleet).replace("halt", "interval"), "home", 2_000).is_err());
    }
}
