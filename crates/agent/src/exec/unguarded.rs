//! The runner of a machine without systemd, in a build without the guard: refuses every command, with the reason.

use super::{CommandPlan, Runner, Started};
use base::error::ToolError;
use futures::future::BoxFuture;

/// Refuses each command, because nothing would end the processes that it leaves running.
pub(super) struct Unguarded;

impl Runner for Unguarded {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        let program = plan.program.display();
        let refusal = ToolError::missing(format!(
            "{program} was not run: no systemd runs on this machine, and this raspi-mcp was built without the guard that stands in for it"
        ))
        .hint("start the machine with systemd as its init, or install a raspi-mcp that was built with the cargo feature guard (the Debian package is)");
        Box::pin(async { Err(refusal) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Account;
    use base::error::ErrorCode;
    use futures::FutureExt;
    use std::time::Duration;

    #[test]
    fn the_refusal_says_what_is_missing_and_what_to_do() {
        let plan = CommandPlan {
            id: "0".into(),
            program: "/usr/bin/true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            cwd_can_change: false,
            env: Vec::new(),
            stdin: Vec::new(),
            account: Account { name: "nobody".into(), uid: 65534, gid: 65534 },
            network: true,
            writable: Vec::new(),
            hidden: Vec::new(),
            limit: Duration::from_secs(1),
            stdio: None,
            unit: crate::exec::UnitClass::exec(),
        };
        let refusal = Unguarded.start(&plan).now_or_never().expect("an answer at once").err().expect("a refusal");
        assert_eq!(refusal.code, ErrorCode::CapabilityMissing);
        assert!(refusal.message.contains("/usr/bin/true was not run: no systemd"), "{refusal}");
        assert!(refusal.hint.as_deref().is_some_and(|hint| hint.contains("cargo feature guard")), "{refusal:?}");
    }
}
