//! What a message is about, in words. Never a call's arguments, and nothing that approves.

use base::clock::Stamp;
use contract::config::NewsKind;
use serde_json::{Map, Value, json};

/// Most characters of a name in a message: a tool, a version, a folder.
const NAME: usize = 100;

/// Something that the owner should hear of.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call waits for a person's answer, until `expires_ms` (milliseconds since 1970 UTC).
    AskOpened { tool: String, ask_id: String, expires_ms: i64 },
    /// An update ended before anything was tried. `code` is that of the error table in docs/contract/errors.md.
    UpdateFailed { version: Option<String>, code: String },
    /// A new system was tried, and the old one runs again. `reset_cause`: what restarted the machine out of the trial.
    UpdateRolledBack { version: String, reset_cause: Option<String> },
    /// An eMMC has used `life_used_percent` of its life, or its spare blocks are low.
    CardWorn { device: String, life_used_percent: Option<u8>, spare_blocks: Option<&'static str> },
    /// The supply was below 4.63 V, `times` times since it is recorded.
    UnderVoltage { times: u32 },
    /// The watched file system is full to this share of its size, in percent.
    DiskNearlyFull { mount: String, used_percent: u8 },
    /// The value of a sampling job's metric is beyond its limit.
    ThresholdCrossed { job: String, metric: String, above: bool, limit: f64, value: f64 },
    /// Every change is refused. `how`: by what means it was halted, like `button`; `since_ms`: milliseconds since 1970 UTC.
    Halted { how: String, since_ms: i64 },
    /// Devices of the fleet were not heard for their time. `names`: the first of them; `broker_away`: the broker
    /// delivers nothing.
    DevicesSilent { names: Vec<String>, count: usize, broker_away: bool },
    /// Two machines run with the identity of a device of the fleet. `what` was seen, in a sentence.
    DeviceTwins { name: String, what: String },
    /// Sent by `raspi-mcp notifications test`.
    Test,
}

/// An event in words.
#[derive(Debug)]
pub struct Told {
    pub title: String,
    pub text: String,
    /// The fields, for programs.
    pub data: Map<String, Value>,
    /// 1 to 5, as in ntfy: 3 is normal, 4 is high.
    pub priority: u8,
}

impl Event {
    /// Its kind; `None` for a test.
    pub fn kind(&self) -> Option<NewsKind> {
        Some(match self {
            Self::AskOpened { .. } => NewsKind::AskOpened,
            Self::UpdateFailed { .. } => NewsKind::UpdateFailed,
            Self::UpdateRolledBack { .. } => NewsKind::UpdateRolledBack,
            Self::CardWorn { .. } => NewsKind::CardWorn,
            Self::UnderVoltage { .. } => NewsKind::UnderVoltage,
            Self::DiskNearlyFull { .. } => NewsKind::DiskNearlyFull,
            Self::ThresholdCrossed { .. } => NewsKind::ThresholdCrossed,
            Self::Halted { .. } => NewsKind::Halted,
            Self::DevicesSilent { .. } => NewsKind::DeviceSilent,
            Self::DeviceTwins { .. } => NewsKind::DeviceTwins,
            Self::Test => return None,
        })
    }

    /// As the setting `events` writes it; `test` for a test.
    pub fn word(&self) -> String {
        let word = self.kind().and_then(|kind| serde_json::to_value(kind).ok());
        word.as_ref().and_then(Value::as_str).unwrap_or("test").to_owned()
    }

    /// When it is no news any more, in milliseconds since 1970 UTC.
    pub fn ends_ms(&self) -> Option<i64> {
        if let Self::AskOpened { expires_ms, .. } = self { Some(*expires_ms) } else { None }
    }

    /// In words, about the device of this name.
    pub fn told(&self, device: &str) -> Told {
        let (what, text, data, priority) = match self {
            Self::AskOpened { tool, ask_id, expires_ms } => {
                let (tool, until) = (clean(tool, NAME), Stamp(*expires_ms).to_string());
                let text = format!("Ask {} waits for a person's answer until {until}.", clean(ask_id, NAME));
                let data = json!({ "tool": tool, "ask_id": clean(ask_id, NAME), "expires_at": until });
                (format!("approval wanted for {tool}"), text, data, 4)
            }
            Self::UpdateFailed { version, code } => {
                let (version, code) = (version.as_deref().map(|version| clean(version, NAME)), clean(code, NAME));
                let which = version.as_deref().unwrap_or("a release that was not found yet");
                let text = format!(
                    "The update to {which} failed ({code}); nothing was tried. manage.get_update_status says why."
                );
                ("update failed".into(), text, json!({ "version": version, "code": code }), 4)
            }
            Self::UpdateRolledBack { version, reset_cause } => {
                let (version, cause) = (clean(version, NAME), reset_cause.as_deref().map(|cause| clean(cause, NAME)));
                let why = cause.as_ref().map(|cause| format!(" (reset: {cause})")).unwrap_or_default();
                let text = format!(
                    "{version} did not stay{why}; the system before it runs. manage.get_update_status says why."
                );
                let data = json!({ "version": version, "code": "rolled_back", "reset_cause": cause });
                ("update rolled back".into(), text, data, 4)
            }
            Self::CardWorn { device, life_used_percent, spare_blocks } => {
                let device = clean(device, NAME);
                let life = life_used_percent.map(|percent| format!("{percent} % of its life is used"));
                let spare = spare_blocks.map(|spare| format!("its spare blocks are at \"{spare}\""));
                let both: Vec<String> = life.into_iter().chain(spare).collect();
                let text = format!("The card {device} is worn: {}. Replace it soon.", both.join(", "));
                let data =
                    json!({ "device": device, "life_used_percent": life_used_percent, "spare_blocks": spare_blocks });
                ("card worn".into(), text, data, 4)
            }
            Self::UnderVoltage { times } => {
                let text = format!(
                    "The supply was below 4.63 V, {times} times since it is recorded. Use another supply or cable."
                );
                ("supply too low".into(), text, json!({ "times": times }), 4)
            }
            Self::DiskNearlyFull { mount, used_percent } => {
                let mount = clean(mount, NAME);
                let text = format!("{mount} is {used_percent} % full. Delete something there, or move it.");
                ("disk nearly full".into(), text, json!({ "mount_point": mount, "used_percent": used_percent }), 4)
            }
            Self::ThresholdCrossed { job, metric, above, limit, value } => {
                let (job, metric, side) =
                    (clean(job, NAME), clean(metric, NAME), if *above { "above" } else { "below" });
                let text = format!("{metric} is {value}, {side} {limit}. Sampling job {job} watches it.");
                let data = json!({ "job_id": job, "metric": metric, "when": side, "limit": limit, "value": value });
                (format!("{metric} {side} {limit}"), text, data, 4)
            }
            Self::Halted { how, since_ms } => {
                let (how, since) = (clean(how, NAME), Stamp(*since_ms).to_string());
                let text = format!(
                    "Every change is refused since {since} (set by: {how}). raspi-mcp halt --status says who halted it and why."
                );
                ("halted".into(), text, json!({ "how": how, "since": since }), 5)
            }
            Self::DevicesSilent { names, count, broker_away } => {
                let named: Vec<String> = names.iter().map(|name| clean(name, NAME)).collect();
                let more = count.saturating_sub(named.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let why = if *broker_away { " The broker delivers nothing now, which may be the reason." } else { "" };
                let text = format!("Nothing was heard for too long of {}{more}.{why}", named.join(", "));
                let title =
                    if *count == 1 { "a device is silent".into() } else { format!("{count} devices are silent") };
                (title, text, json!({ "devices": named, "count": count, "broker_away": broker_away }), 4)
            }
            Self::DeviceTwins { name, what } => {
                let name = clean(name, NAME);
                let text = format!("{name}: {}.", clean(what, 4 * NAME));
                (format!("{name} runs twice"), text, json!({ "device": name }), 5)
            }
            Self::Test => ("test".into(), "This is a test of raspi-mcp. News arrives here.".into(), json!({}), 3),
        };
        let data = if let Value::Object(data) = data { data } else { Map::new() };
        Told { title: format!("{device}: {what}"), text, data, priority }
    }
}

/// At most `most` characters, without control characters and those that reorder text.
pub fn clean(text: &str, most: usize) -> String {
    let odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut clean: String = text.chars().take(most).map(|c| if odd(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        clean.push('…');
    }
    clean
}
