//! What one command changes in a fragment, computed in memory.

use super::kept::GrantFragment;
use contract::{config::Grant, meta::Mode};

/// One tool and what to open or close. `grant.callers` and the lists may be empty: see [`GrantChange::open`] and
/// [`GrantChange::close`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrantChange {
    pub grant: Grant,
    /// The tool's policy, if it is to be set.
    pub policy: Option<Mode>,
}

impl GrantChange {
    /// Adds the grant. Its lists are merged into an existing grant of the same tool for the same callers. A grant that names
    /// nothing stays apart from one that does: together they would open less.
    pub fn open(&self, kept: &mut GrantFragment) {
        let mut new = self.grant.clone();
        base::sort::sort(&mut new.callers);
        new.callers.dedup();
        if let Some(mode) = self.policy {
            kept.policy.insert(new.tool.clone(), mode);
        }
        let is_same = |grant: &&mut Grant| {
            (&grant.tool, &grant.callers, grant.names_something()) == (&new.tool, &new.callers, new.names_something())
        };
        let same = kept.grants.iter_mut().find(is_same);
        match same {
            None => kept.grants.push(new),
            Some(grant) => {
                grant.pins.append(&mut new.pins);
                for (list, more) in lists(grant).into_iter().zip(lists(&mut new)) {
                    more.retain(|item| !list.contains(item));
                    list.append(more);
                }
                (grant.by, grant.at) = (new.by, new.at);
            }
        }
    }

    /// Removes what the grant names: from its callers (none: from all), its list entries (none: all entries). A policy
    /// set for the tool is removed with its last grant. Returns whether anything was removed.
    pub fn close(&self, kept: &mut GrantFragment) -> bool {
        let before = kept.clone();
        let less = &self.grant;
        let mut left = Vec::new();
        for grant in std::mem::take(&mut kept.grants) {
            let meant = |caller: &String| less.callers.is_empty() || less.callers.contains(caller);
            let (ours, others): (Vec<String>, Vec<String>) = grant.callers.iter().cloned().partition(meant);
            // A grant for everybody cannot be closed for one caller.
            let is_meant = grant.tool == less.tool && (!ours.is_empty() || less.callers.is_empty());
            if !is_meant {
                left.push(grant);
                continue;
            }
            if !others.is_empty() {
                left.push(Grant { callers: others, ..grant.clone() });
            }
            left.extend(less_of(Grant { callers: ours, ..grant }, less));
        }
        kept.grants = left;
        if !kept.grants.iter().any(|grant| grant.tool == less.tool) {
            kept.policy.remove(&less.tool);
        }
        *kept != before
    }
}

fn lists(grant: &mut Grant) -> [&mut Vec<String>; 4] {
    [&mut grant.units, &mut grant.cameras, &mut grant.devices, &mut grant.paths]
}

/// The rest of a grant; `None` once its lists are empty, because a grant without lists would open more than before.
fn less_of(mut grant: Grant, less: &Grant) -> Option<Grant> {
    if !less.names_something() {
        return None;
    }
    grant.pins.retain(|pin| !less.pins.contains(pin));
    for (list, gone) in lists(&mut grant).into_iter().zip([&less.units, &less.cameras, &less.devices, &less.paths]) {
        list.retain(|item| !gone.contains(item));
    }
    grant.names_something().then_some(grant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pin(pins: &[u8], callers: &[&str]) -> GrantChange {
        let callers = callers.iter().map(|caller| (*caller).to_owned()).collect();
        let grant =
            Grant { tool: "gpio.write_pin".into(), pins: pins.iter().copied().collect(), callers, ..Grant::default() };
        GrantChange { grant, policy: None }
    }

    fn kept(changes: &[GrantChange]) -> GrantFragment {
        let mut kept = GrantFragment::default();
        changes.iter().for_each(|change| change.open(&mut kept));
        kept
    }

    #[test]
    fn grants_of_the_same_callers_become_one() {
        let both = kept(&[write_pin(&[17], &["loopback"]), write_pin(&[27], &["loopback"]), write_pin(&[4], &[])]);
        assert_eq!(both.grants, [write_pin(&[17, 27], &["loopback"]).grant, write_pin(&[4], &[]).grant]);
    }

    #[test]
    fn a_grant_of_all_that_is_listed_and_one_that_names_something_stay_two() {
        let (all, one) = (write_pin(&[], &["loopback"]), write_pin(&[17], &["loopback"]));
        for changes in [[all.clone(), one.clone(), one.clone()], [one.clone(), all.clone(), all.clone()]] {
            let mut both = kept(&changes);
            assert_eq!(both.grants, [changes[0].grant.clone(), changes[1].grant.clone()]);
            // What opens the list opens this pin too: after the revocation nothing does.
            assert!(one.close(&mut both) && both.is_empty(), "{both:?}");
        }
    }

    #[test]
    fn what_is_closed_for_one_stays_open_for_others_and_never_opens_more() {
        let mut all = kept(&[write_pin(&[17, 27], &["token:a", "token:b"])]);
        assert!(write_pin(&[17], &["token:a"]).close(&mut all));
        assert_eq!(all.grants, [write_pin(&[17, 27], &["token:b"]).grant, write_pin(&[27], &["token:a"]).grant]);
        assert!(write_pin(&[27], &["token:a"]).close(&mut all));
        assert_eq!(all.grants, [write_pin(&[17, 27], &["token:b"]).grant]);
        assert!(!write_pin(&[], &["token:c"]).close(&mut all) && !write_pin(&[4], &[]).close(&mut all));
        assert!(write_pin(&[], &[]).close(&mut all) && all.is_empty());
    }

    #[test]
    fn a_grant_for_everybody_is_not_closed_for_one() {
        let mut all = kept(&[write_pin(&[17], &[])]);
        assert!(!write_pin(&[], &["token:a"]).close(&mut all));
        assert_eq!(all.grants.len(), 1);
    }

    #[test]
    fn a_policy_goes_with_the_last_grant_of_its_tool() {
        let asked = GrantChange { policy: Some(Mode::Ask), ..write_pin(&[17, 27], &[]) };
        let mut all = kept(&[asked]);
        assert!(write_pin(&[17], &[]).close(&mut all));
        assert_eq!(all.policy.len(), 1);
        assert!(write_pin(&[27], &[]).close(&mut all) && all.is_empty());
    }
}
