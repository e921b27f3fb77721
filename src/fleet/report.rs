//! The answers of a device, in a form for tables and programs.

use base::{clock::Stamp, error::ToolError};
use serde::Serialize;
use serde_json::Value;

/// Most problems kept for one device.
const MOST: usize = 32;

/// The answers of one device.
pub struct DeviceAnswers {
    pub update: Value,
    pub server: Result<Value, ToolError>,
    pub machine: Result<Value, ToolError>,
    pub simulated: bool,
}

/// The report on one device.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    pub name: String,
    pub url: String,
    /// Whether it answered.
    pub answers: bool,
    /// Whether it answered and has no problems; `None` if unknown.
    pub healthy: Option<bool>,
    /// Version of the running system or, if it has none, of the server.
    pub version: Option<String>,
    /// The running slot, if the machine has two.
    pub running: Option<SlotReport>,
    /// The other slot.
    pub other: Option<SlotReport>,
    /// The state or result of the last update.
    pub last_attempt: Option<AttemptReport>,
    /// Its problems, one sentence each.
    pub problems: Vec<String>,
    pub simulated: bool,
    /// Why it did not answer, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<DeviceProblem>,
}

#[derive(Debug, Serialize)]
pub struct SlotReport {
    pub slot: String,
    pub state: String,
    pub version: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct AttemptReport {
    pub version: String,
    pub phase: String,
    pub reason: String,
    /// RFC 3339, by the device's clock; `None` while it runs.
    pub finished_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct DeviceProblem {
    pub error_code: &'static str,
    pub message: String,
    pub hint: Option<String>,
    /// It answered but refused the token.
    #[serde(skip)]
    pub refused: bool,
}

impl DeviceReport {
    /// The report on a device that did not answer.
    pub fn silent(name: String, url: String, error: ToolError) -> Self {
        use base::error::ErrorCode::{PermissionDenied, ResourceExhausted, Unauthenticated};
        use base::error::ErrorFields;
        let refused = matches!(error.code, Unauthenticated | PermissionDenied | ResourceExhausted);
        let ErrorFields { code, message, hint, .. } = error.into_fields();
        let error = DeviceProblem { error_code: code.symbol(), message, hint, refused };
        Self {
            name,
            url,
            answers: false,
            healthy: None,
            version: None,
            running: None,
            other: None,
            last_attempt: None,
            problems: Vec::new(),
            simulated: false,
            error: Some(error),
        }
    }

    /// The report on a device that answered.
    pub fn told(name: String, url: String, told: DeviceAnswers) -> Self {
        let mut problems = problems(&told);
        problems.truncate(MOST);
        let slots = told.update["slots"].as_array().map_or(&[][..], Vec::as_slice);
        let (mut running, mut other) = (None, None);
        for slot in slots {
            let place = if slot["running"] == true { &mut running } else { &mut other };
            *place = Some(SlotReport {
                slot: text(&slot["slot"]).unwrap_or_default(),
                state: text(&slot["state"]).unwrap_or_default(),
                version: text(&slot["version"]),
            });
        }
        let of_server = || told.server.as_ref().ok().and_then(|server| text(&server["version"]));
        Self {
            name,
            url,
            answers: true,
            healthy: Some(problems.is_empty()),
            version: running.as_ref().and_then(|slot| slot.version.clone()).or_else(of_server),
            running,
            other,
            last_attempt: attempt(&told.update),
            problems,
            simulated: told.simulated,
            error: None,
        }
    }
}

/// The last attempt that the agent has recorded; otherwise the server's job, which may have ended before that.
fn attempt(update: &Value) -> Option<AttemptReport> {
    let last = &update["last_attempt"];
    // A job that runs, or that failed after the recorded attempt.
    let job = &update["status"];
    if update["new_version"] != last["version"] || !last.is_object() {
        let phase = text(&update["phase"])?;
        return Some(AttemptReport {
            version: text(&update["new_version"]).unwrap_or_default(),
            phase,
            reason: text(&job["message"]).unwrap_or_default(),
            finished_at: text(&job["finished_at"]),
        });
    }
    Some(AttemptReport {
        version: text(&last["version"])?,
        phase: text(&last["phase"])?,
        reason: text(&last["reason"]).unwrap_or_default(),
        finished_at: last["finished_ms"].as_i64().map(|at| Stamp(at).to_string()),
    })
}

/// The problems that the device itself reports.
fn problems(told: &DeviceAnswers) -> Vec<String> {
    let mut found = Vec::new();
    let mut list = |what: &str, value: &Value| {
        let lines = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(lines.map(|line| format!("{what}{line}")));
    };
    list("", &told.update["health_problems"]);
    list("update: ", &told.update["faults"]);
    match &told.server {
        Ok(server) => {
            list("configuration: ", &server["config_faults"]);
            list("agent: ", &server["agent"]["faults"]);
            if server["agent"]["reachable"] == false {
                found.push(because("the agent does not answer", &server["agent"]["reason"]));
            }
            if server["audit"]["ok"] == false {
                found.push(because("calls cannot be recorded", &server["audit"]["reason"]));
            }
        }
        Err(error) => found.push(format!("its server does not say how it is: {}", error.message)),
    }
    match &told.machine {
        Ok(machine) => {
            let flags = &machine["throttling_flags"];
            for (flag, sentence) in [
                ("under_voltage", "its supply is too weak: under 4.63 V now"),
                ("throttled", "its processor is throttled now"),
                ("soft_temperature_limit", "it is too hot now"),
            ] {
                if flags[flag] == true {
                    found.push(sentence.to_owned());
                }
            }
            if let Some(fault) = machine["sampling_fault"].as_str() {
                found.push(format!("metrics: {fault}"));
            }
        }
        Err(error) => found.push(format!("it does not say how the machine is: {}", error.message)),
    }
    found
}

fn because(what: &str, reason: &Value) -> String {
    reason.as_str().map_or_else(|| what.to_owned(), |reason| format!("{what}: {reason}"))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
