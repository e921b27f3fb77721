//! What one tool may reach for one caller: what the configuration lists, what grants name, or both.
//!
//! A grant is as wide as it says. A caller that has the tool through a grant only, since its role or the namespace is
//! missing, reaches what that grant names; the lists of the configuration are for those who have the tool without it,
//! and for grants that name nothing.

use super::{caller::Caller, policy::Policy};
use crate::{config::Grant, meta::Declaration, values::Addresses};
use base::error::ToolError;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    tool: String,
    /// Whether what the configuration lists is within reach.
    pub listed: bool,
    grants: Vec<Grant>,
}

impl Policy {
    /// What `caller` reaches with this tool, if policy lets it call the tool at all.
    pub fn reach(&self, meta: &Declaration<'_>, caller: &Caller) -> Reach {
        let has_role = caller.role >= meta.role;
        // A grant without names is for callers that have the role.
        let counts = |grant: &&Grant| has_role || !grant.callers.is_empty();
        let grants: Vec<Grant> = self.grants(meta.name, Some(&caller.principal)).filter(counts).cloned().collect();
        let without_grant = has_role && self.has_namespace_without_grant(meta);
        // Without any grant the caller is refused for its role or the namespace, before anything is reached.
        let listed = without_grant || grants.is_empty() || grants.iter().any(|grant| !grant.names_something());
        Reach { tool: meta.name.to_owned(), listed, grants }
    }
}

impl Reach {
    /// Whether a grant names that pin.
    pub fn has_pin(&self, bcm: u8) -> bool {
        self.grants.iter().any(|grant| grant.pins.contains(&bcm))
    }

    /// Whether a grant names that unit.
    pub fn has_unit(&self, unit: &str) -> bool {
        self.grants.iter().any(|grant| grant.has_unit(unit))
    }

    /// Whether a grant names that SPI device (`spidev0.1`) or serial port (`ttyUSB0`).
    pub fn has_device_file(&self, name: &str) -> bool {
        self.grants.iter().any(|grant| grant.has_device_file(name))
    }

    /// The I2C devices of one bus that grants name.
    pub fn addresses(&self, bus: u32) -> Addresses {
        self.grants.iter().fold(Addresses::default(), |all, grant| all.and(grant.addresses(bus)))
    }

    /// The patterns of cameras in grants.
    pub fn cameras(&self) -> impl Iterator<Item = &String> {
        self.grants.iter().flat_map(|grant| &grant.cameras)
    }

    /// The folders in grants.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.grants.iter().flat_map(|grant| &grant.paths)
    }

    /// Whether a grant names anything.
    pub fn names_something(&self) -> bool {
        self.grants.iter().any(Grant::names_something)
    }

    /// Whether the caller has the tool through grants that do not name `what`, so that no list of the configuration helps
    /// it. Then the error for it.
    ///
    /// # Errors
    /// `permission_denied`.
    pub fn check_listed(&self, what: &str) -> Result<(), ToolError> {
        if self.listed {
            return Ok(());
        }
        let tool = &self.tool;
        Err(ToolError::denied(format!("the grant that opens {tool} to this caller does not name {what}"))
            .hint(format!("the owner adds it with `raspi-mcp allow {tool}` on the device (docs/allow.md)")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::caller::Transport,
        meta::{Meta, Role},
    };

    const WRITE: Meta = Meta { name: "gpio.write_pin", ..Meta::WRITE };

    fn grant(callers: &[&str], pins: &[u8]) -> Grant {
        Grant {
            tool: WRITE.name.into(),
            callers: callers.iter().map(|caller| (*caller).to_owned()).collect(),
            pins: pins.iter().copied().collect(),
            ..Grant::default()
        }
    }

    /// What `loopback` with that role reaches: the listed things, and which of the pins 17, 22 and 27.
    fn reach(role: Role, enabled: bool, grants: &[Grant]) -> (bool, Vec<u8>) {
        let mut policy = Policy { grants: grants.to_vec(), ..Policy::read_only() };
        if enabled {
            policy.enabled.insert("gpio".into());
        }
        let reach = policy.reach(&WRITE, &Caller::new("loopback", role, Transport::Http));
        (reach.listed, [17, 22, 27].into_iter().filter(|pin| reach.has_pin(*pin)).collect())
    }

    #[test]
    fn a_grant_opens_what_it_names_and_no_list() {
        let named = grant(&["loopback"], &[17]);
        for (role, enabled) in [(Role::ReadOnly, false), (Role::ReadOnly, true), (Role::OpsRw, false)] {
            assert_eq!(reach(role, enabled, std::slice::from_ref(&named)), (false, vec![17]), "{role:?} {enabled}");
        }
        assert_eq!(reach(Role::OpsRw, true, &[named]), (true, vec![17]), "who has the tool anyway loses nothing");
    }

    #[test]
    fn a_grant_that_names_nothing_opens_the_list() {
        assert_eq!(reach(Role::ReadOnly, false, &[grant(&["loopback"], &[])]), (true, vec![]));
        let both = [grant(&["loopback"], &[17]), grant(&["loopback"], &[])];
        assert_eq!(reach(Role::ReadOnly, false, &both), (true, vec![17]), "two grants restrict each other in nothing");
    }

    #[test]
    fn a_grant_for_whoever_has_the_role_adds_nothing_to_one_for_a_caller_without_it() {
        let both = [grant(&["loopback"], &[17]), grant(&[], &[22]), grant(&[], &[]), grant(&["token:x"], &[27])];
        assert_eq!(reach(Role::ReadOnly, true, &both), (false, vec![17]));
        assert_eq!(reach(Role::OpsRw, false, &both), (true, vec![17, 22]));
    }
}
