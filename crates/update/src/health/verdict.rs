//! The server half's verdict: current observations compared with what worked before.

use super::{Baseline, Missing, Observations, Probe};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Check {
    Interface,
    Gateway,
    Channel,
    Unit,
    Url,
    Server,
}

impl Check {
    /// Whether a pulled cable could cause it.
    pub const fn is_of_the_network(self) -> bool {
        matches!(self, Self::Interface | Self::Gateway | Self::Channel | Self::Url)
    }
}

/// Something that should work and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub check: Check,
    /// The interface, unit or address. Empty where there is only one.
    pub name: String,
    pub why: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.check {
            Check::Interface => "interface",
            Check::Gateway => "the default gateway",
            Check::Channel => "the update channel",
            Check::Unit => "service",
            Check::Url => "address",
            Check::Server => "this server",
        };
        match self.name.as_str() {
            "" => write!(out, "{what}: {}", self.why),
            name => write!(out, "{what} {name}: {}", self.why),
        }
    }
}

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthVerdict {
    /// Everything that worked before or is configured works.
    Healthy,
    /// Something other than the network is wrong, possibly besides it.
    Sick(Vec<Problem>),
    /// Only the network is wrong. In a trial that is as bad; but if the old system then finds the same, the version is
    /// not to blame.
    Offline(Vec<Problem>),
}

impl HealthVerdict {
    pub fn is_healthy(&self) -> bool {
        matches!(self, Self::Healthy)
    }
    pub fn is_offline(&self) -> bool {
        matches!(self, Self::Offline(_))
    }
    /// The problems, for a comparison with those of another system.
    pub fn missing(&self) -> Missing {
        let mut missing = Missing::default();
        for problem in self.problems() {
            match problem.check {
                Check::Unit => {
                    missing.services.insert(problem.name.clone());
                }
                Check::Server => missing.server = true,
                Check::Interface | Check::Gateway | Check::Channel | Check::Url => missing.network = true,
            }
        }
        missing
    }
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Healthy => &[],
            Self::Sick(problems) | Self::Offline(problems) => problems,
        }
    }
}

/// The verdict about a boot that is no trial: whether the machine can be operated. Its network and the owner's services are not its
/// release's fault.
pub fn operable(look: &Observations) -> HealthVerdict {
    let server = Observations { server: look.server.clone(), ..Observations::default() };
    judge(None, &server, &[])
}

/// Compares `look` with what worked before and with the configuration: `units` and every address checked. Without a
/// baseline (for example when the data partition was lost) only the latter count.
pub fn judge(before: Option<&Baseline>, look: &Observations, units: &[String]) -> HealthVerdict {
    let mut problems = Vec::new();
    let mut wrong = |check: Check, name: &str, why: &str| {
        problems.push(Problem { check, name: name.into(), why: why.into() });
    };
    let mut must = |check: Check, name: &str, probe: Option<&Probe>, absent: &str| match probe {
        Some(Ok(())) => {}
        Some(Err(why)) => wrong(check, name, why),
        None => wrong(check, name, absent),
    };
    if let Some(before) = before {
        for name in &before.interfaces {
            must(Check::Interface, name, look.interfaces.get(name), "it is not there any more");
        }
        if before.gateway {
            must(Check::Gateway, "", look.gateway.as_ref(), "there is no default route any more");
        }
        // A channel removed from the configuration is not a fault.
        if before.channel && look.channel.is_some() {
            must(Check::Channel, "", look.channel.as_ref(), "");
        }
        for name in before.units.iter().filter(|name| !units.contains(name)) {
            must(Check::Unit, name, look.units.get(name), "it does not start with the machine");
        }
    }
    for name in units {
        must(Check::Unit, name, look.units.get(name), "there is no such service");
    }
    for (url, probe) in &look.urls {
        must(Check::Url, url, Some(probe), "");
    }
    if let Some(probe) = &look.server {
        must(Check::Server, "", Some(probe), "");
    }
    if problems.is_empty() {
        HealthVerdict::Healthy
    } else if problems.iter().all(|problem| problem.check.is_of_the_network()) {
        HealthVerdict::Offline(problems)
    } else {
        HealthVerdict::Sick(problems)
    }
}
