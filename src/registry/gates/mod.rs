//! Every gate between a caller and a tool, told with the first refusal: which are closed, by what, and the one command that opens them.
//!
//! The gates are the role, the namespace, the list of what a namespace may reach, and the policy. A refusal for another reason (a
//! person's no, a protected service) is left as it is. Lists are told only where any caller may read them. The folders of `files.*` are
//! no such list: of them only the refusal of the tool itself is told. The commands of `exec.run` are not told at all.

mod command;
mod list;

use super::{entry::Entry, refusal::Named};
use crate::services::Services;
use base::error::ToolError;
use contract::access::{caller::Caller, policy::Policy, way};
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
    services: &Services,
    entry: &Entry,
    caller: &Caller,
    named: &Named,
    args: Option<&Value>,
    error: &mut ToolError,
) {
    if error.code != base::error::ErrorCode::PermissionDenied {
        return;
    }
    let policy = services.policy.held();
    let gates: Vec<Gate> = [
        Some(role(&policy, entry, caller)),
        Some(namespace(&policy, entry, caller)),
        list::list(services, &policy, entry, caller, named, args.is_none().then_some(&*error)),
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
    if services.site.is_none() {
        return;
    }
    let open = command::way_in(caller, entry, &command::command(entry, caller, named, policy.mode(&entry.meta())));
    let ours = closed.iter().any(|(_, opener)| *opener == Opener::Allow);
    let blocked: Vec<&str> =
        closed.iter().filter(|(_, opener)| *opener != Opener::Allow).map(|(what, _)| what.as_str()).collect();
    let at = |name: &str| gates.iter().any(|gate| gate.name == name && gate.closed.is_some());
    error.hint = Some(match (ours, blocked.is_empty()) {
        (true, true) if closed.len() == 1 && at("role") => {
            format!("{open}; or: {}", way::to_a_role(caller, entry.meta().role))
        }
        // Another folder may do as well, and the tool names those there are.
        (true, true)
            if entry.meta().namespace() == "files"
                && at("list")
                && error.details.get("roots").is_none_or(|roots| roots != &json!([])) =>
        {
            let own = error.hint.take().map(|own| format!("{own}; or: ")).unwrap_or_default();
            format!("{own}{open}")
        }
        (true, true) => open,
        (true, false) => format!("only the owner can change that {}; after that: {open}", blocked.join(", and ")),
        // What the gate itself says is the whole way.
        (false, _) => return,
    });
}

fn role(policy: &Policy, entry: &Entry, caller: &Caller) -> Gate {
    let meta = &entry.meta();
    let closed = (!policy.has_role(meta, caller)).then(|| {
        (format!("{} needs role {}; this caller is {}", meta.name, meta.role.name(), caller.role.name()), Opener::Allow)
    });
    Gate { name: "role", by: way::role_of(caller), closed }
}

fn namespace(policy: &Policy, entry: &Entry, caller: &Caller) -> Gate {
    let (meta, name) = (&entry.meta(), entry.name());
    let disabled = [name, meta.namespace()].into_iter().find(|name| policy.disabled.contains(*name));
    let (by, closed) = if let Some(disabled) = disabled {
        ("tools.disable", Some((format!("tools.disable has \"{disabled}\""), Opener::Owner)))
    } else if policy.is_restricted(meta) {
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

fn mode(policy: &Policy, entry: &Entry, args: Option<&Value>, error: &ToolError) -> Gate {
    let meta = &entry.meta();
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
