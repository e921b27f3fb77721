//! A few units in memory, for a simulated machine: they start, stop, depend on each other, and fail on request.

use super::{Action, EnableEffects, JobEnd, JobMode, Links, Unit, Units};
use base::{error::ToolError, os::systemd::list::ActiveState};
use futures::future::{BoxFuture, ready};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The file of a simulated unit.
struct File {
    name: &'static str,
    requires: &'static [&'static str],
    part_of: &'static [&'static str],
    wants: &'static [&'static str],
    conflicts: &'static [&'static str],
    also: &'static [&'static str],
    /// Has an [EnableEffects] section.
    installs: bool,
    runs: bool,
}

const PLAIN: File =
    File { name: "", requires: &[], part_of: &[], wants: &[], conflicts: &[], also: &[], installs: true, runs: true };

/// Services of a small appliance, some with difficult dependencies.
const FILES: &[File] = &[
    File { name: "database.service", ..PLAIN },
    File { name: "web.service", requires: &["database.service"], ..PLAIN },
    File { name: "worker.service", part_of: &["database.service"], ..PLAIN },
    File { name: "backup.service", wants: &["database.service"], installs: false, runs: false, ..PLAIN },
    File { name: "broken.service", runs: false, ..PLAIN },
    File { name: "host-keys.service", ..PLAIN },
    File { name: "lockdown.service", conflicts: &["ssh.service"], runs: false, ..PLAIN },
    File { name: "maintenance.service", wants: &["reboot.target"], runs: false, ..PLAIN },
    File { name: "remote.service", also: &["ssh.service"], runs: false, ..PLAIN },
    File { name: "ssh.service", requires: &["host-keys.service"], ..PLAIN },
    File { name: "dbus.service", installs: false, ..PLAIN },
    File { name: "raspi-mcp.service", wants: &["raspi-mcp-agent.service"], ..PLAIN },
    File { name: "raspi-mcp-agent.service", ..PLAIN },
    File { name: "reboot.target", installs: false, runs: false, ..PLAIN },
];

/// Units of a simulated machine.
pub struct SimulatedUnits(Mutex<State>);

struct State {
    units: BTreeMap<&'static str, Live>,
    next_pid: u64,
    /// Results of the next jobs, in place of success.
    endings: VecDeque<JobEnd>,
}

#[derive(Clone, Copy)]
struct Live {
    status: ActiveState,
    pid: Option<u64>,
    enabled: bool,
}

impl Default for SimulatedUnits {
    fn default() -> Self {
        let live = |(at, file): (usize, &File)| {
            let status = if file.runs { ActiveState::Active } else { ActiveState::Inactive };
            let pid = file.runs.then(|| 300 + at as u64);
            (file.name, Live { status, pid, enabled: file.installs && file.runs })
        };
        let units = base::sort::map(FILES.iter().enumerate().map(live));
        Self(Mutex::new(State { units, next_pid: 1000, endings: VecDeque::new() }))
    }
}

impl SimulatedUnits {
    /// Sets the result of the next job.
    pub fn end_next(&self, end: JobEnd) {
        self.lock().endings.push_back(end);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn start(&mut self, file: &File) {
        for other in file.conflicts.iter().filter_map(|name| find(name)) {
            self.stop(other);
        }
        for other in file.requires.iter().chain(file.wants).filter_map(|name| find(name)) {
            self.start(other);
        }
        self.next_pid += 1;
        let pid = self.next_pid;
        if let Some(live) = self.units.get_mut(file.name).filter(|live| live.status != ActiveState::Active) {
            live.status = ActiveState::Active;
            live.pid = Some(pid);
        }
    }

    /// Stops it and what stops with it; returns the units that were active.
    fn stop(&mut self, file: &File) -> Vec<&'static File> {
        let mut stopped = Vec::new();
        if let Some(live) = self.units.get_mut(file.name) {
            if live.status.is_up() {
                stopped.extend(find(file.name));
            }
            live.status = ActiveState::Inactive;
            live.pid = None;
        }
        for other in FILES.iter().filter(|other| hangs_on(other, file.name)) {
            stopped.extend(self.stop(other));
        }
        stopped
    }

    fn act(&mut self, file: &File, action: Action) -> JobEnd {
        let end = self.endings.pop_front().unwrap_or_else(|| JobEnd::Ended("done".into()));
        let fails = file.name == "broken.service" && matches!(action, Action::Start | Action::Restart);
        match end {
            JobEnd::Ended(word) if word == "done" && !fails => match action {
                Action::Start => self.start(file),
                Action::Stop => drop(self.stop(file)),
                Action::Reload => {}
                Action::Restart => {
                    let stopped = self.stop(file);
                    self.start(file);
                    // Units that were stopped with it start again with it.
                    stopped.into_iter().for_each(|other| self.start(other));
                }
            },
            JobEnd::Ended(word) => {
                if let Some(live) = self.units.get_mut(file.name) {
                    *live = Live { status: ActiveState::Failed, pid: None, ..*live };
                }
                return JobEnd::Ended(if word == "done" { "failed".into() } else { word });
            }
            other => return other,
        }
        JobEnd::Ended("done".into())
    }
}

fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

fn hangs_on(file: &File, name: &str) -> bool {
    file.requires.contains(&name) || file.part_of.contains(&name)
}

/// The reverse: units whose `list` names `name`.
fn whose(list: impl Fn(&File) -> bool) -> Vec<String> {
    FILES.iter().filter(|file| list(file)).map(|file| file.name.to_owned()).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn unit(name: &str, state: &State) -> Unit {
    let (file, live) = (find(name), state.units.get(name));
    let status = live.map_or(ActiveState::Inactive, |live| live.status);
    let failed = status == ActiveState::Failed;
    let sub = match status {
        ActiveState::Active => "running",
        ActiveState::Failed => "failed",
        _ => "dead",
    };
    let enabled = match (file, live) {
        (Some(file), _) if !file.installs => Some("static"),
        (Some(_), Some(live)) => Some(if live.enabled { "enabled" } else { "disabled" }),
        _ => None,
    };
    let links = file.map(|file| Links {
        stop_with_it: whose(|other| hangs_on(other, name)),
        start_with_it: [owned(file.requires), owned(file.wants)].concat(),
        conflicts: [owned(file.conflicts), whose(|other| other.conflicts.contains(&name))].concat(),
        wanted_by: whose(|other| other.wants.contains(&name)),
        ..Links::default()
    });
    Unit {
        id: name.to_owned(),
        names: vec![name.to_owned()],
        load_state: if file.is_some() { "loaded" } else { "not-found" }.into(),
        load_error: None,
        status,
        sub_status: sub.into(),
        pid: live.and_then(|live| live.pid),
        result: file.map(|_| if failed { "exit-code" } else { "success" }.into()),
        exit_code: failed.then_some(1),
        exit_signal: None,
        can_reload: name == "web.service",
        unit_file_state: enabled.map(str::to_owned),
        fragment: file.map(|file| format!("/simulated/{}", file.name)),
        drop_ins: Vec::new(),
        end_actions: Vec::new(),
        stops_when_unneeded: false,
        links: links.unwrap_or_default(),
    }
}

fn none(name: &str) -> ToolError {
    ToolError::not_found(format!("the simulated machine has no {name}")).with("service_name", name)
}

impl Units for SimulatedUnits {
    fn look<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Unit, ToolError>> {
        Box::pin(ready(Ok(unit(name, &self.lock()))))
    }

    fn simulated(&self) -> Vec<Unit> {
        let state = self.lock();
        state.units.keys().map(|name| unit(name, &state)).collect()
    }

    fn act<'a>(
        &'a self,
        name: &'a str,
        action: Action,
        _mode: JobMode,
        wait: Option<Duration>,
    ) -> BoxFuture<'a, Result<JobEnd, ToolError>> {
        let end = find(name).map(|file| self.lock().act(file, action)).ok_or_else(|| none(name));
        Box::pin(ready(end.map(|end| if wait.is_none() { JobEnd::Queued } else { end })))
    }

    fn install(&self, unit: &Unit) -> Result<EnableEffects, ToolError> {
        let file = find(&unit.id).ok_or_else(|| none(&unit.id))?;
        Ok(EnableEffects { has_any: file.installs, also: owned(file.also), ..EnableEffects::default() })
    }

    fn set_enabled<'a>(&'a self, name: &'a str, enabled: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        let mut state = self.lock();
        let live = state.units.get_mut(name).map(|live| live.enabled = enabled);
        Box::pin(ready(live.ok_or_else(|| none(name))))
    }
}
