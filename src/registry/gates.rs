//! Every gate between a caller and a tool, told with the first refusal: which are closed, by what, and the one command that opens them.
//!
//! The gates are the role, the namespace, the list of what a namespace may reach, and the policy. A refusal for another reason (a
//! person's no, a protected service) is left as it is. Lists are told only where any caller may read them: those of `files.*` and
//! `exec.run` are not.

use super::{meta::Mode, refusal::Named, tool::Entry};
use crate::{
    access::{caller::Caller, policy::Policy, way},
    agent::units::allow,
    error::ToolError,
    hw::{
        board::Pin,
        i2c::{Address, Want},
    },
    os::systemd::ServiceName,
    world::World,
};
use serde_json::{Value, json};

/// Who opens a closed gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opener {
    /// `raspi-mcp allow`.
    Allow,
    /// The owner, who has to change that setting.
    Owner,
    Nobody,
}

impl Opener {
    const fn words(self) -> &'static str {
        match self {
            Self::Allow => "the owner, with raspi-mcp allow",
            Self::Owner => "the owner, in the configuration",
            Self::Nobody => "nobody",
        }
    }
}

struct Gate {
    name: &'static str,
    /// The setting behind it.
    by: String,
    /// How people are told that it is closed; `None`: it is open.
    closed: Option<(String, Opener)>,
}

impl Gate {
    fn json(&self) -> Value {
        let mut told = json!({ "gate": self.name, "closed": self.closed.is_some(), "by": self.by });
        if let Some((_, opener)) = &self.closed {
            told["opened_by"] = opener.words().into();
        }
        told
    }
}

/// Adds `details.gates` to a refusal of one of the gates, names the others that are closed, and hints at what opens them all.
/// `args` are the arguments of a call that was refused before anybody had looked at them.
pub(super) fn tell(
    world: &World,
    entry: &Entry,
    caller: &Caller,
    named: &Named,
    args: Option<&Value>,
    error: &mut ToolError,
) {
    if error.code != crate::error::ErrorCode::PermissionDenied {
        return;
    }
    let policy = world.policy.held();
    let gates: Vec<Gate> = [
        Some(role(&policy, entry, caller)),
        Some(namespace(&policy, entry, caller)),
        list(world, &policy, entry, caller, named),
        Some(mode(&policy, entry, args, error)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let closed: Vec<&(String, Opener)> = gates.iter().filter_map(|gate| gate.closed.as_ref()).collect();
    if closed.is_empty() {
        return;
    }
    error.details.insert("gates".into(), gates.iter().map(Gate::json).collect());
    // The first is what the refusal itself says.
    let others: Vec<&str> = closed.iter().skip(1).map(|(what, _)| what.as_str()).collect();
    if !others.is_empty() {
        error.message = format!("{}; besides, {}", error.message, others.join(", and "));
    }
    // Without a folder for fragments (`--config FILE`) the refusal says what there is to change.
    if world.site.is_none() {
        return;
    }
    let command = command(entry, caller, named, policy.mode(entry.meta));
    let ours = closed.iter().any(|(_, opener)| *opener == Opener::Allow);
    let blocked: Vec<&str> =
        closed.iter().filter(|(_, opener)| *opener != Opener::Allow).map(|(what, _)| what.as_str()).collect();
    let at_role = gates.iter().any(|gate| gate.name == "role" && gate.closed.is_some());
    error.hint = Some(match (ours, blocked.is_empty()) {
        (true, true) if closed.len() == 1 && at_role => {
            format!("{}; or: {}", way::to_open(caller, &command), way::to_a_role(caller, entry.meta.role))
        }
        (true, true) => way::to_open(caller, &command),
        (true, false) => {
            format!(
                "only the owner can change that {}; after that: {}",
                blocked.join(", and "),
                way::to_open(caller, &command)
            )
        }
        // What the gate itself says is the whole way.
        (false, _) => return,
    });
}

fn role(policy: &Policy, entry: &Entry, caller: &Caller) -> Gate {
    let meta = entry.meta;
    let closed = (!policy.has_role(meta, caller)).then(|| {
        (format!("{} needs role {}; this caller is {}", meta.name, meta.role.name(), caller.role.name()), Opener::Allow)
    });
    Gate { name: "role", by: way::role_of(caller), closed }
}

fn namespace(policy: &Policy, entry: &Entry, caller: &Caller) -> Gate {
    let (meta, name) = (entry.meta, entry.name());
    let disabled = [name, meta.namespace()].into_iter().find(|name| policy.disabled.contains(*name));
    let fundamental = meta.tier == super::meta::Tier::Fundamental;
    let (by, closed) = if let Some(disabled) = disabled {
        ("tools.disable", Some((format!("tools.disable has \"{disabled}\""), Opener::Owner)))
    } else if policy.restricted && !fundamental {
        let what = "part of the configuration was not understood, and only reads run until it is mended";
        ("configuration", Some((what.to_owned(), Opener::Owner)))
    } else if !policy.has_namespace(meta, Some(&caller.principal)) {
        ("tools.enable", Some((format!("namespace {} is not enabled", meta.namespace()), Opener::Allow)))
    } else if !meta.environments.contains(&policy.environment) {
        let what = format!("{name} does not run in this environment");
        ("environment", Some((what, Opener::Owner)))
    } else {
        ("tools.enable", None)
    };
    Gate { name: "namespace", by: by.into(), closed }
}

/// The list of what the namespace may reach, where the call names something of it.
fn list(world: &World, policy: &Policy, entry: &Entry, caller: &Caller, named: &Named) -> Option<Gate> {
    let number = |name: &str| named.resources.get(name).and_then(Value::as_u64);
    let mut grants = policy.grants(entry.name(), Some(&caller.principal));
    let (by, closed) = match entry.meta.namespace() {
        "gpio" => {
            let pin = Pin::try_from(number("pin")?).ok()?;
            let rules = &world.gpio.rules;
            let never = pin.is_reserved() || rules.keeps(pin);
            let open = rules.allows(pin) || !never && grants.any(|grant| grant.pins.contains(&pin.bcm()));
            let opener = if never { Opener::Nobody } else { Opener::Allow };
            ("gpio.allow", (!open).then(|| (format!("GPIO {} is not in gpio.allow", pin.bcm()), opener)))
        }
        "i2c" => {
            let bus = u32::try_from(number("bus")?).ok()?;
            let address = Address::new(u8::try_from(number("address")?).ok()?)?;
            let want = if entry.meta.effect.is_write() { Want::Write } else { Want::Read };
            let open = world.i2c.allow().check(bus, address, want).is_ok()
                || grants.any(|grant| grant.has_device(bus, address));
            ("i2c.buses", (!open).then(|| (format!("{address} on I2C bus {bus} is not in i2c.buses"), Opener::Allow)))
        }
        "service" => {
            let name = ServiceName::parse(named.resources.get("service_name")?.as_str()?).ok()?;
            let unit = name.as_str();
            let open = world.machine.board.is_simulated()
                || !entry.meta.effect.is_write()
                || allow::check(&world.settings.service.allow, &[unit.to_owned()], "").is_ok()
                || grants.any(|grant| grant.has_unit(unit));
            ("service.allow", (!open).then(|| (format!("{unit} is not in service.allow"), Opener::Allow)))
        }
        _ => return None,
    };
    Some(Gate { name: "list", by: by.into(), closed })
}

fn mode(policy: &Policy, entry: &Entry, args: Option<&Value>, error: &ToolError) -> Gate {
    let meta = entry.meta;
    let denied = match args {
        Some(args) => policy.judge(meta, args).err(),
        // Judged already: it is this refusal, or there was none.
        None => error.details.contains_key("decided_by").then(|| error.clone()),
    };
    let source = denied.as_ref().and_then(|error| error.details.get("decided_by")?.as_str());
    let own = format!("policy.\"{}\"", meta.name);
    let by = source.filter(|source| *source != "default").map_or_else(|| own.clone(), str::to_owned);
    let closed = denied.as_ref().map(|_| {
        let opener = if by == own { Opener::Allow } else { Opener::Owner };
        (format!("{by} denies it"), opener)
    });
    Gate { name: "policy", by, closed }
}

/// The command that opens the gates for this very call. Of the arguments only what is certainly plain goes into it: a person may copy it
/// into a shell.
fn command(entry: &Entry, caller: &Caller, named: &Named, mode: Mode) -> String {
    let mut command = format!("raspi-mcp allow {}", entry.name());
    let number = |name: &str| named.resources.get(name).and_then(Value::as_u64);
    let pin = number("pin").and_then(|pin| Pin::try_from(pin).ok());
    if let Some(pin) = pin.filter(|_| entry.meta.namespace() == "gpio") {
        command.push_str(&format!(" --pin {}", pin.bcm()));
    }
    let address = number("address").and_then(|address| Address::new(u8::try_from(address).ok()?));
    if let (Some(bus), Some(address)) = (number("bus"), address) {
        command.push_str(&format!(" --device {bus}:{address}"));
    }
    let service = named.resources.get("service_name").and_then(Value::as_str);
    if let Some(name) = service.and_then(|name| ServiceName::parse(name).ok()) {
        command.push_str(&format!(" {}", quoted(name.as_str().strip_suffix(".service").unwrap_or(name.as_str()))));
    }
    if entry.meta.namespace() == "camera" && entry.meta.effect.is_write() {
        let camera = named.resources.get("camera").and_then(Value::as_str).unwrap_or("*");
        command.push_str(&format!(" {}", quoted(camera)));
    }
    if caller.role < entry.meta.role {
        command.push_str(&format!(" --for {}", quoted(&caller.principal)));
    }
    if mode == Mode::Deny {
        command.push_str(" --ask");
    }
    command
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:@/-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let safe: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", safe.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_named_stays_one_word_of_a_command() {
        assert_eq!(quoted("token:laptop"), "token:laptop");
        assert_eq!(quoted("a b;rm"), "'a b;rm'");
        assert_eq!(quoted("it's\n"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
