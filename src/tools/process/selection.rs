//! Filtering and sorting processes (docs/contract/process.md).

use super::summary::{ProcessState, Scale, full_name};
use crate::tools::bounded;
use base::os::{
    glob::Glob,
    processes::{Proc, Stat, load::EarlierReading},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::{cmp::Ordering, collections::HashMap, io};

/// Which processes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "struct Filter")]
pub struct ProcessFilter {
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, deserialize_with = "some::<_, 64>")]
    username: Option<String>,
    /// With * and ?, like python*.
    #[schemars(length(min = 1, max = 128))]
    #[serde(default, deserialize_with = "some::<_, 128>")]
    name_pattern: Option<String>,
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "amount")]
    min_cpu_percent: Option<f64>,
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "amount")]
    min_memory_mb: Option<f64>,
    #[schemars(length(max = 6))]
    #[serde(default, deserialize_with = "few")]
    status: Option<Vec<ProcessState>>,
}

fn some<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Text<const MAX: usize>(String);
    impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            bounded::<_, 1, MAX>(deserializer).map(Self)
        }
    }
    Ok(Option::<Text<MAX>>::deserialize(deserializer)?.map(|text| text.0))
}

fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if amount.is_nan() || amount < 0.0 => Err(D::Error::custom("it is below 0")),
        amount => Ok(amount),
    }
}

fn few<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<ProcessState>>, D::Error> {
    match Option::<Vec<ProcessState>>::deserialize(deserializer)? {
        Some(list) if list.len() > 6 => Err(D::Error::custom("there are 6 kinds of status")),
        list => Ok(list),
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    #[default]
    Pid,
    Name,
    Username,
    CpuPercent,
    MemoryRss,
    MemoryPercent,
    CreateTime,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortOrder {
    #[default]
    Asc,
    Desc,
}

/// Looks up details of a process that the list does not contain.
pub struct Looks<'a> {
    pub proc: &'a mut Proc,
    pub scale: &'a Scale,
    pub since: &'a EarlierReading,
}

impl ProcessFilter {
    /// Accepts objects only: serde would also accept a list of the fields in order.
    pub fn of_an_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = serde_json::Map::deserialize(deserializer)?;
        Self::deserialize(serde_json::Value::Object(object)).map_err(D::Error::custom)
    }

    /// Whether it needs the current processor usage.
    pub fn asks_for_cpu(&self) -> bool {
        self.min_cpu_percent.is_some()
    }

    /// Checks the cheap conditions first, so that only the remaining processes need further reads.
    pub fn admits(&self, stat: &Stat, looks: &mut Looks<'_>) -> io::Result<bool> {
        let enough = |least: Option<f64>, has: f64| least.is_none_or(|least| has >= least);
        if self.status.as_ref().is_some_and(|wanted| !wanted.contains(&ProcessState::of(stat.state)))
            || !enough(self.min_memory_mb, (stat.resident_pages * looks.scale.page) as f64 / f64::from(1 << 20))
            || (self.min_cpu_percent.is_some() && !enough(self.min_cpu_percent, looks.since.percent(stat)))
        {
            return Ok(false);
        }
        if let Some(pattern) = &self.name_pattern {
            let cmdline = if stat.comm.len() == 15 { looks.proc.cmdline(stat.pid)? } else { Vec::new() };
            if !Glob::of_letters(pattern).fits(&full_name(&stat.comm, &cmdline)) {
                return Ok(false);
            }
        }
        match &self.username {
            Some(wanted) => Ok(looks.scale.user(looks.proc.owner(stat.pid)?) == wanted.as_str()),
            None => Ok(true),
        }
    }
}

/// Sorts; equal ones by pid.
pub fn sort(stats: &mut [Stat], by: SortBy, order: SortOrder, looks: &Looks<'_>) {
    let users: HashMap<u32, String> = match by {
        SortBy::Username => stats
            .iter()
            .map(|stat| {
                (stat.pid, looks.proc.owner(stat.pid).map(|uid| looks.scale.user(uid).into_owned()).unwrap_or_default())
            })
            .collect(),
        _ => HashMap::new(),
    };
    let compare = |a: &Stat, b: &Stat| -> Ordering {
        match by {
            SortBy::Pid => a.pid.cmp(&b.pid),
            SortBy::Name => a.comm.cmp(&b.comm),
            SortBy::Username => users.get(&a.pid).cmp(&users.get(&b.pid)),
            SortBy::CpuPercent => looks.since.percent(a).total_cmp(&looks.since.percent(b)),
            SortBy::MemoryRss | SortBy::MemoryPercent => a.resident_pages.cmp(&b.resident_pages),
            SortBy::CreateTime => a.start_ticks.cmp(&b.start_ticks),
        }
    };
    base::sort::sort_by(stats, |a, b| {
        let compared = compare(a, b);
        let compared = if order == SortOrder::Desc { compared.reverse() } else { compared };
        compared.then(a.pid.cmp(&b.pid))
    });
}
