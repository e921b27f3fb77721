//! Subjects of the broker. `f` is the fleet, `d` the device; both are names ([`crate::name`]).
//!
//! ```text
//! rmcp.1.<f>.status.<d>            the device's signed status; a stream keeps the last one
//! rmcp.1.<f>.log.<d>               results of updates, audit heads, asks; a stream keeps them
//! rmcp.1.<f>.dev.<d>.order         messages signed by the fleet's key
//! rmcp.1.<f>.dev.<d>.look          "read the index now"
//! rmcp.1.<f>.dev.<d>.dial          opens a tunnel
//! rmcp.1.<f>.s.<d>.<c>.up, .down   the frames of tunnel <c>: up is towards the device
//! ```

/// The subjects of one fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
}

impl Subjects {
    pub fn of(fleet: &str) -> Self {
        Self { prefix: format!("rmcp.1.{fleet}") }
    }

    pub fn status(&self, device: &str) -> String {
        format!("{}.status.{device}", self.prefix)
    }

    pub fn log(&self, device: &str) -> String {
        format!("{}.log.{device}", self.prefix)
    }

    /// All that a device hears: orders, looks and dials.
    pub fn device(&self, device: &str) -> String {
        format!("{}.dev.{device}.*", self.prefix)
    }

    pub fn order(&self, device: &str) -> String {
        format!("{}.dev.{device}.order", self.prefix)
    }

    pub fn look(&self, device: &str) -> String {
        format!("{}.dev.{device}.look", self.prefix)
    }

    pub fn dial(&self, device: &str) -> String {
        format!("{}.dev.{device}.dial", self.prefix)
    }

    /// Frames towards the device; with `*` as `connection`, of all its tunnels.
    pub fn up(&self, device: &str, connection: &str) -> String {
        format!("{}.s.{device}.{connection}.up", self.prefix)
    }

    /// Frames from the device.
    pub fn down(&self, device: &str, connection: &str) -> String {
        format!("{}.s.{device}.{connection}.down", self.prefix)
    }

    /// The device that a status or log subject names.
    pub fn sender<'a>(&self, subject: &'a str) -> Option<&'a str> {
        let rest = subject.strip_prefix(&self.prefix)?;
        let name = rest.strip_prefix(".status.").or_else(|| rest.strip_prefix(".log."))?;
        crate::name::is_name(name).then_some(name)
    }
}

/// The prefix of a device's inboxes.
pub fn inbox(device: &str) -> String {
    format!("_INBOX.{device}")
}

/// The stream of statuses. A name of a stream has no `.`; `-` becomes `_`.
pub fn status_stream(fleet: &str) -> String {
    format!("{}_status", fleet.replace('-', "_"))
}

/// The stream of results, audit heads and asks.
pub fn log_stream(fleet: &str) -> String {
    format!("{}_log", fleet.replace('-', "_"))
}

/// The bucket of plans and leases; its stream is `KV_` and this name.
pub fn rollout_bucket(fleet: &str) -> String {
    format!("{}_rollout", fleet.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_of_a_message_is_in_its_subject() {
        let subjects = Subjects::of("home");
        assert_eq!(subjects.sender(&subjects.status("kitchen")), Some("kitchen"));
        assert_eq!(subjects.sender(&subjects.log("shed")), Some("shed"));
        for other in ["rmcp.1.home.dev.kitchen.look", "rmcp.1.away.status.kitchen", "rmcp.1.home.status.a.b"] {
            assert_eq!(subjects.sender(other), None, "{other}");
        }
    }
}
