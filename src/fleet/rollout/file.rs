//! The file of a plan: TOML, parsed as strictly as the configuration; every mistake is reported with its line.

use contract::config::{
    Complaint, ConfigEntry, ConfigError, Faults, LocatedValue, Origin, UncheckedValue, document, is_name, meant,
    quoted, read_text,
};
use fleet_protocol::rollout::{
    RolloutPlan, RolloutTarget, Stage, StopConditions,
    plan::{MAX_COUNT, MAX_PINNED, MAX_RINGS, MAX_STAGES},
};
use std::path::Path;
use update::bundle::{is_version, is_word};

const KEYS: &[&str] =
    &["version", "channel", "folder", "address", "token_file", "ca_file", "silent_minutes", "pinned", "stop", "stages"];
const STOP: &[&str] = &["failed_percent", "failed_count", "silent_percent"];
const STAGE: &[&str] = &["percent", "rings", "min_committed", "soak_minutes"];
/// Longest address or file path, in bytes.
const TEXT_BYTES: usize = 512;

/// Reads a plan.
///
/// # Errors
/// All its mistakes.
pub fn read(path: &Path) -> Result<RolloutPlan, Faults> {
    let origin = Origin::file(path);
    let entries = read_text(path, |_| Ok(())).map_err(|message| vec![(None, message)]).and_then(|text| document(&text));
    let mut wrong = Vec::new();
    let plan = match &entries {
        Ok(entries) => Reading { wrong: &mut wrong }.plan(entries),
        Err(faults) => {
            wrong.extend(faults.iter().cloned());
            None
        }
    };
    match plan {
        Some(plan) if wrong.is_empty() => Ok(plan),
        _ => Err(Faults(wrong.into_iter().map(|(at, message)| ConfigError::new(origin.at(at), message)).collect())),
    }
}

/// State while a plan is parsed.
struct Reading<'a> {
    wrong: &'a mut Vec<Complaint>,
}

/// One table: its entries, its position, and its name for messages.
#[derive(Clone, Copy)]
struct Table<'a> {
    entries: &'a [ConfigEntry],
    at: Option<contract::config::TextPosition>,
    name: &'a str,
}

impl<'a> Table<'a> {
    fn find(&self, key: &str) -> Option<&'a LocatedValue> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.found)
    }
}

impl Reading<'_> {
    fn plan(&mut self, entries: &[ConfigEntry]) -> Option<RolloutPlan> {
        let table = Table { entries, at: None, name: "the plan" };
        self.known(table, KEYS);
        let version = self.text(table, "version", "a version like \"1.2.0\"", is_version, None);
        let channel = self.text(table, "channel", "the name of a channel", is_word, Some("stable"));
        let target = self.target(table);
        let silent = self.number(table, "silent_minutes", 20, 10_080, Some(45));
        let pinned = self.names(table, "pinned", MAX_PINNED, |name| is_name(name, 63));
        let stop = self.table(table, "stop").and_then(|table| self.stop(table));
        let stages = self.stages(table);
        let plan = RolloutPlan {
            version: version?,
            channel: channel?,
            target: target?,
            silent_minutes: silent?,
            pinned: pinned?,
            stop: stop?,
            stages: stages?,
        };
        for index in 0..plan.stages.len() {
            if let Some(why) = plan.shrinks(index) {
                self.wrong.push((None, format!("stage {} {why}; each stage has to be for more devices", index + 1)));
            }
        }
        Some(plan)
    }

    fn target(&mut self, table: Table<'_>) -> Option<RolloutTarget> {
        let mut path = |key: &str| match table.find(key) {
            Some(_) => self.text(table, key, "the path of a file or folder", is_line, None).map(Some),
            None => Some(None),
        };
        let (folder, token_file, ca_file) = (path("folder")?, path("token_file")?, path("ca_file")?);
        let is_address = |text: &str| {
            let url = text.parse::<reqwest::Url>();
            is_line(text)
                && url.is_ok_and(|url| {
                    url.scheme() == "https"
                        && url.username().is_empty()
                        && url.query().is_none()
                        && url.fragment().is_none()
                })
        };
        match (folder, table.find("address")) {
            (Some(folder), None) if token_file.is_none() && ca_file.is_none() => Some(RolloutTarget::Folder(folder)),
            (None, Some(_)) => {
                let form = "an https address without user name, query and fragment: the folder above the channel's";
                let url = self.text(table, "address", form, is_address, None)?;
                Some(RolloutTarget::Address { url, token_file, ca_file })
            }
            (folder, _) => {
                let message = match folder {
                    Some(_) => "write either folder, or address with token_file and ca_file",
                    None => "says not where the channel is: write folder, or address",
                };
                self.wrong.push((None, message.into()));
                None
            }
        }
    }

    fn stop(&mut self, table: Table<'_>) -> Option<StopConditions> {
        self.known(table, STOP);
        let failed_percent = self.number(table, "failed_percent", 1, 100, None);
        let failed_count = self.number(table, "failed_count", 1, MAX_COUNT, None);
        let silent_percent = self.number(table, "silent_percent", 1, 100, None);
        Some(StopConditions {
            failed_percent: u8::try_from(failed_percent?).ok()?,
            failed_count: failed_count?,
            silent_percent: u8::try_from(silent_percent?).ok()?,
        })
    }

    fn stages(&mut self, table: Table<'_>) -> Option<Vec<Stage>> {
        let form = format!("1 to {MAX_STAGES} tables [[stages]] with percent, min_committed and soak_minutes");
        let items = match table.find("stages").map(|found| (found, &found.value)) {
            Some((_, UncheckedValue::List(items))) if (1..=MAX_STAGES).contains(&items.len()) => items,
            found => {
                self.wrong.push((found.and_then(|(found, _)| found.at), format!("a plan has {form}")));
                return None;
            }
        };
        let stages: Vec<Option<Stage>> = items
            .iter()
            .map(|item| {
                let UncheckedValue::Table(entries) = &item.value else {
                    self.wrong.push((item.at, format!("stages must be {form}, not {}", item.kind())));
                    return None;
                };
                self.stage(Table { entries, at: item.at, name: "this stage" })
            })
            .collect();
        stages.into_iter().collect()
    }

    fn stage(&mut self, table: Table<'_>) -> Option<Stage> {
        self.known(table, STAGE);
        let percent = self.number(table, "percent", 1, 100, None);
        let min_committed = self.number(table, "min_committed", 1, MAX_COUNT, None);
        let soak_minutes = self.number(table, "soak_minutes", 0, 43_200, None);
        let rings = self.names(table, "rings", MAX_RINGS, is_word);
        Some(Stage {
            percent: u8::try_from(percent?).ok()?,
            rings: rings?,
            min_committed: min_committed?,
            soak_minutes: soak_minutes?,
        })
    }

    fn known(&mut self, table: Table<'_>, keys: &[&str]) {
        for entry in table.entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
            let near = meant(&entry.key, keys.iter().copied());
            self.wrong.push((entry.key_at, format!("unknown key {} in {}{near}", quoted(&entry.key), table.name)));
        }
    }

    fn missing<T>(&mut self, table: Table<'_>, key: &str) -> Option<T> {
        self.wrong.push((table.at, format!("{} has no {key}", table.name)));
        None
    }

    fn table<'a>(&mut self, table: Table<'a>, key: &'a str) -> Option<Table<'a>> {
        let Some(found) = table.find(key) else { return self.missing(table, &format!("table [{key}]")) };
        let UncheckedValue::Table(entries) = &found.value else {
            self.wrong.push((found.at, format!("{key} must be a table [{key}], not {}", found.kind())));
            return None;
        };
        Some(Table { entries, at: found.at, name: key })
    }

    fn number(&mut self, table: Table<'_>, key: &str, min: u32, max: u32, default: Option<u32>) -> Option<u32> {
        let Some(found) = table.find(key) else { return default.or_else(|| self.missing(table, key)) };
        let number = match &found.value {
            UncheckedValue::Integer(number) => {
                u32::try_from(*number).ok().filter(|number| (min..=max).contains(number))
            }
            _ => None,
        };
        if number.is_none() {
            let shown = found.shown();
            self.wrong.push((found.at, format!("{key} must be a whole number from {min} to {max}, not {shown}")));
        }
        number
    }

    fn text(
        &mut self,
        table: Table<'_>,
        key: &str,
        form: &str,
        good: impl Fn(&str) -> bool,
        default: Option<&str>,
    ) -> Option<String> {
        let Some(found) = table.find(key) else {
            return default.map(str::to_owned).or_else(|| self.missing(table, key));
        };
        let text = found.good_text(good);
        if text.is_none() {
            self.wrong.push((found.at, format!("{key} must be {form}, not {}", found.shown())));
        }
        text
    }

    /// A list of different names, empty without the key.
    fn names(&mut self, table: Table<'_>, key: &str, most: usize, good: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let Some(found) = table.find(key) else { return Some(vec![]) };
        let names = match &found.value {
            UncheckedValue::List(items) if items.len() <= most => {
                items.iter().map(|item| item.good_text(&good)).collect::<Option<Vec<String>>>()
            }
            _ => None,
        };
        let unique = |names: &Vec<String>| base::sort::set(names.iter()).len() == names.len();
        let names = names.filter(unique);
        if names.is_none() {
            self.wrong.push((
                found.at,
                format!("{key} must be a list of at most {most} different names of a-z, 0-9 and \"-\""),
            ));
        }
        names
    }
}

fn is_line(text: &str) -> bool {
    (1..=TEXT_BYTES).contains(&text.len()) && !text.contains(char::is_control)
}
