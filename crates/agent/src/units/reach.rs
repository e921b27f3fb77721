//! The reach of a job: systemd starts and stops other units together with the named one.
//!
//! Follows the rules of systemd's own transactions, slightly wider: units that are already in the wanted state are
//! followed too. In doubt the job is refused.

use super::{Action, Unit, Units, protected};
use base::error::ToolError;
use futures::future::try_join_all;
use std::collections::{HashMap, HashSet};

/// Units examined per job; a service of a usual system leads to some dozens.
const LARGEST: usize = 512;
/// Targets that are active since boot, as are the units that belong to them, the protected ones included. What such a
/// target pulls in conflicts with none of those units, so that starting it again is not followed.
const FOUNDATION: &[&str] =
    &["sysinit.target", "basic.target", "local-fs.target", "network.target", "network-online.target"];

/// What happens to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Job {
    Start,
    Stop,
    Reload,
    /// One fewer unit needs it than before.
    Release,
}

/// What a job would do to other units.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JobEffects {
    /// Other active units that would stop, in the order found.
    pub stops: Vec<String>,
    /// Other active services that want it.
    pub wanted_by: Vec<String>,
}

/// The units that `action` on `unit` affects.
///
/// # Errors
/// `permission_denied` when a protected unit would be stopped or reloaded, or the machine taken down, with the chain of
/// units in `details.path`; `failed_precondition` when it leads to more units than can be examined.
pub async fn of(units: &dyn Units, unit: &Unit, action: Action) -> Result<JobEffects, ToolError> {
    let first: &[Job] = match action {
        Action::Start => &[Job::Start],
        Action::Stop => &[Job::Stop],
        Action::Restart => &[Job::Stop, Job::Start],
        Action::Reload => &[Job::Reload],
    };
    let mut walk = Walk { came_from: HashMap::new(), reach: JobEffects::default(), action, anchor: unit.id.clone() };
    let mut known: HashMap<String, Unit> = HashMap::from([(unit.id.clone(), unit.clone())]);
    let mut level: Vec<(String, Job)> = first.iter().map(|job| (unit.id.clone(), *job)).collect();
    let mut seen: HashSet<(String, Job)> = level.iter().cloned().collect();
    while !level.is_empty() {
        let new: HashSet<&String> =
            level.iter().map(|(name, _)| name).filter(|name| !known.contains_key(*name)).collect();
        if known.len() + new.len() > LARGEST {
            return Err(ToolError::precondition(format!(
                "{} of {} leads to more than {LARGEST} other units",
                action.word(),
                unit.id
            ))
            .hint("what so much hangs on is not for a tool to touch; do it at the device"));
        }
        // One level at a time, with its requests in parallel.
        let looked = try_join_all(
            new.into_iter().map(|name| async move { Ok::<_, ToolError>((name.clone(), units.look(name).await?)) }),
        );
        known.extend(looked.await?);
        let mut next = Vec::new();
        for (name, job) in &level {
            let Some(unit) = known.get(name) else { continue };
            walk.judge(unit, *job)?;
            for (further, job) in leads_to(unit, *job) {
                if seen.insert((further.clone(), job)) {
                    walk.came_from.entry(further.clone()).or_insert_with(|| name.clone());
                    next.push((further, job));
                }
            }
        }
        level = next;
    }
    let mut reach = walk.reach;
    for name in unit.links.wanted_by.iter().filter(|name| name.ends_with(".service")) {
        if !reach.stops.contains(name) && units.look(name).await?.status.is_up() {
            reach.wanted_by.push(name.clone());
        }
    }
    Ok(reach)
}

/// The units that a job leads to.
fn leads_to(unit: &Unit, job: Job) -> Vec<(String, Job)> {
    let links = &unit.links;
    let all = |names: &[String], job: Job| names.iter().map(|name| (name.clone(), job)).collect::<Vec<_>>();
    match job {
        Job::Start
            if unit.status.is_up() && (FOUNDATION.contains(&unit.id.as_str()) || unit.id.ends_with(".slice")) =>
        {
            Vec::new()
        }
        Job::Start => [
            all(&links.start_with_it, Job::Start),
            all(&links.conflicts, Job::Stop),
            all(&links.start_after_it, Job::Start),
        ]
        .concat(),
        // Everything conflicts with it; it is active only while the machine goes down.
        Job::Stop if unit.id == "shutdown.target" && !unit.status.is_up() => Vec::new(),
        Job::Stop => {
            let mut further = all(&links.stop_with_it, Job::Stop);
            if unit.status.is_up() {
                further.extend(all(&links.start_after_it, Job::Start));
            }
            // Others may stop when no unit needs them; these must not.
            let held =
                links.start_with_it.iter().filter(|name| protected::reason(std::slice::from_ref(name)).is_some());
            further.extend(held.map(|name| (name.clone(), Job::Release)));
            further
        }
        Job::Reload => all(&links.reload_with_it, Job::Reload),
        Job::Release => Vec::new(),
    }
}

struct Walk {
    /// The unit that first led to each.
    came_from: HashMap<String, String>,
    reach: JobEffects,
    action: Action,
    anchor: String,
}

impl Walk {
    fn judge(&mut self, unit: &Unit, job: Job) -> Result<(), ToolError> {
        let (up, is_anchor) = (unit.status.is_up(), unit.id == self.anchor);
        let protected = protected::reason(&unit.names);
        match job {
            Job::Stop | Job::Reload if up || is_anchor => {
                if let Some(reason) = protected {
                    let done = if job == Job::Stop { "stop" } else { "reload" };
                    return Err(self.refusal(unit, &format!("{done} {}, which is protected: {reason}", unit.id)));
                }
                if job == Job::Stop && !is_anchor && !self.reach.stops.contains(&unit.id) {
                    self.reach.stops.push(unit.id.clone());
                }
            }
            Job::Release if up && unit.stops_when_unneeded => {
                return Err(self.refusal(unit, &format!("leave {} unneeded, which then stops", unit.id)));
            }
            Job::Start if protected::takes_down(&unit.names) => {
                return Err(self.refusal(unit, &format!("start {}, which takes the machine down", unit.id)));
            }
            Job::Start if is_anchor && protected.is_some() => {
                let reason = protected.unwrap_or_default();
                return Err(self.refusal(unit, &format!("start {}, which is protected: {reason}", unit.id)));
            }
            _ => {}
        }
        let changes = match job {
            Job::Start => is_anchor || !up,
            Job::Stop => is_anchor || up,
            Job::Reload | Job::Release => false,
        };
        if let Some(setting) = unit.end_actions.first().filter(|_| changes) {
            return Err(self.refusal(unit, &format!("let {} take the machine down by its {setting}", unit.id)));
        }
        Ok(())
    }

    fn refusal(&self, unit: &Unit, would: &str) -> ToolError {
        let mut path = vec![unit.id.clone()];
        while let Some(before) =
            path.last().filter(|last| **last != self.anchor).and_then(|last| self.came_from.get(last))
        {
            if path.contains(before) {
                break;
            }
            path.push(before.clone());
        }
        path.reverse();
        ToolError::denied(format!("{} of {} would {would}", self.action.word(), self.anchor))
            .with("service_name", self.anchor.clone())
            .with("protected_unit", unit.id.clone())
            .with("path", path)
            .hint("no tool does this; do it at the device if it must be")
    }
}
