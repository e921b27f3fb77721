//! Whether server and agent accept the configuration.

use super::{Finding, Subject};
use contract::config::{Faults, Origin, Settings};

const ABOUT: &str = "configuration";
const AGENT: &str = "agent's copy";

pub(super) fn check(subject: &Subject) -> Vec<Finding> {
    let mut findings = match &subject.settings {
        Ok((settings, rows)) => {
            let set = rows.iter().filter(|row| row.origin != Origin::Default).count();
            set_aside(ABOUT, settings, format!("understood; {set} of {} keys differ from the default", rows.len()))
        }
        Err(faults) => not_understood(ABOUT, faults),
    };
    match &subject.agent_settings {
        Some(Ok(settings)) => findings.extend(set_aside(AGENT, settings, "the agent takes it as well".into())),
        Some(Err(faults)) => findings.extend(not_understood(AGENT, faults)),
        None => {}
    }
    findings
}

fn set_aside(about: &'static str, settings: &Settings, fine: String) -> Vec<Finding> {
    if settings.restricted.is_empty() {
        return vec![Finding::ok(about, fine)];
    }
    let wrong = |reason: &String| {
        Finding::wrong(
            about,
            reason.clone(),
            match settings.recovers {
                true => "mend or remove that section and restart both units; until then only reads and updates run",
                false => "mend or remove that file and restart both units; until then only reads run",
            },
        )
    };
    settings.restricted.iter().map(wrong).collect()
}

fn not_understood(about: &'static str, faults: &Faults) -> Vec<Finding> {
    let mend = "mend it there; docs/configuration.md has every key";
    faults.0.iter().map(|fault| Finding::wrong(about, fault.to_string(), mend)).collect()
}
