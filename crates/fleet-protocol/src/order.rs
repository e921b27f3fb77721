//! Messages of the fleet's owner to its devices, signed with the fleet's key: halt, and how often to report.

use base::error::ToolError;
use serde::{Deserialize, Serialize};

/// The purpose that is signed with it.
pub const ORDER_PURPOSE: &str = "raspi-mcp fleet order 1";
/// Bytes of the whole message, at most.
pub const MAX_ORDER: usize = 2048;
/// In place of a device's name: every device of the fleet.
pub const EVERY_DEVICE: &str = "*";
/// Minutes between reports that an order may set.
pub const REPORT_MINUTES: (u32, u32) = (1, 1440);

/// What is ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetOrder {
    /// [`ORDER_PURPOSE`].
    pub purpose: String,
    pub fleet: String,
    /// Its name, or [`EVERY_DEVICE`].
    pub device: String,
    /// Milliseconds since 1970 when it was signed. A device follows an order only if this is above the last one of the
    /// same operation that it followed.
    pub sequence: i64,
    pub operation: FleetOperation,
}

/// The operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FleetOperation {
    /// Refuse every change until a person lifts it (docs/halt.md).
    Halt { reason: String },
    /// Report this often.
    Interval { minutes: u32 },
}

impl FleetOperation {
    /// Its name: sequences of one operation do not count for another.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Halt { .. } => "halt",
            Self::Interval { .. } => "interval",
        }
    }
}

impl FleetOrder {
    /// Whether it is for this device of this fleet.
    ///
    /// # Errors
    /// `permission_denied` saying for whom it is; `invalid_argument` for minutes out of bounds.
    pub fn check(&self, fleet: &str, device: &str) -> Result<(), ToolError> {
        if self.purpose != ORDER_PURPOSE || self.fleet != fleet {
            return Err(ToolError::denied("the order is for another fleet"));
        }
        if self.device != device && self.device != EVERY_DEVICE {
            return Err(ToolError::denied("the order is for another device"));
        }
        match self.operation {
            FleetOperation::Interval { minutes } if !(REPORT_MINUTES.0..=REPORT_MINUTES.1).contains(&minutes) => {
                Err(ToolError::invalid("a device reports every 1 to 1440 minutes"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(device: &str, operation: FleetOperation) -> FleetOrder {
        FleetOrder {
            purpose: ORDER_PURPOSE.into(),
            fleet: "home".into(),
            device: device.into(),
            sequence: 1,
            operation,
        }
    }

    #[test]
    fn an_order_is_for_one_device_or_for_all_of_one_fleet() {
        let halt = || FleetOperation::Halt { reason: "smoke".into() };
        assert!(order("shed", halt()).check("home", "shed").is_ok());
        assert!(order("*", halt()).check("home", "shed").is_ok());
        assert!(order("attic", halt()).check("home", "shed").is_err());
        assert!(order("shed", halt()).check("away", "shed").is_err());
        for minutes in [0, 1441] {
            assert!(order("*", FleetOperation::Interval { minutes }).check("home", "shed").is_err());
        }
    }
}
