//! The properties of a command's unit.

use super::{super::CommandPlan, END};
use crate::exec::GRACE;
use base::error::ToolError;
use std::{os::fd::OwnedFd, path::Path, time::Duration};
use zbus::{Fd, Variant};

const SHELL: &str = "/bin/sh";
/// Runs its arguments after the first, if the folder it is in is still the first. systemd enters the folder by name, and takes
/// neither a descriptor nor openat2(2); inside it, getcwd(3) is the kernel's own word for where that led. 200 is systemd's code
/// for a folder that cannot be entered.
const IN_FOLDER: &str = r#"[ "$(pwd -P)" = "$1" ] || {
echo "raspi-mcp: nothing was run: $1 was exchanged for another folder, or for a link, after it was checked" >&2
exit 200; }
shift
exec "$@""#;

type Property = (&'static str, Variant<'static>);

/// The properties of `plan`'s unit, for StartTransientUnit.
///
/// # Errors
/// `internal` when a path is no text.
pub(super) fn of(
    plan: &CommandPlan,
    agent: Option<&str>,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
) -> Result<Vec<Property>, ToolError> {
    let program = text(&plan.program)?;
    // `$HOME` in an argument stays literal, as it was when the patterns were matched. "no-env-expand" of ExecStartEx would do
    // the same, but systemd 252 writes it down so that it cannot read it: after a daemon-reload, the unit that this one is bound
    // to could not be restarted.
    let literal = |arg: &String| arg.replace('$', "$$");
    let cwd = text(&plan.cwd)?;
    let command = std::iter::once(&program).chain(&plan.args);
    let (started, argv): (&str, Vec<String>) = if plan.cwd_can_change {
        let shell = [SHELL, "-c", IN_FOLDER, SHELL, &cwd].map(str::to_owned);
        (SHELL, shell.iter().chain(command).map(literal).collect())
    } else {
        (&program, command.map(literal).collect())
    };
    let env: Vec<String> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let hidden =
        plan.hidden.iter().map(|path| Ok(format!("-{}", text(path)?))).collect::<Result<Vec<_>, ToolError>>()?;
    let writable =
        plan.writable.iter().map(|path| Ok(format!("-{}", text(path)?))).collect::<Result<Vec<_>, ToolError>>()?;
    // Otherwise a root inside a home folder would appear empty.
    let home = if writable.iter().any(|path| at_home(path)) { "read-only" } else { "yes" };
    let mut properties: Vec<Property> = vec![
        ("Description", Variant::from(format!("raspi-mcp runs {program}"))),
        ("Slice", Variant::from(plan.unit.slice)),
        ("CollectMode", Variant::from("inactive-or-failed")),
        ("Type", Variant::from("exec")),
        ("ExecStart", Variant::from(vec![(started.to_owned(), argv, false)])),
        ("User", Variant::from(plan.account.name.clone())),
        ("WorkingDirectory", Variant::from(cwd)),
        ("Environment", Variant::from(env)),
        ("StandardOutputFileDescriptor", Variant::Fd(Fd::Owned(stdout))),
        ("StandardErrorFileDescriptor", Variant::Fd(Fd::Owned(stderr))),
        // How it is ended: all processes.
        ("KillMode", Variant::from("control-group")),
        ("SendSIGKILL", Variant::from(true)),
        ("TimeoutStopUSec", micros(GRACE)),
        // Fallback, should the agent fail to enforce the limit.
        ("RuntimeMaxUSec", micros(plan.limit + END)),
        ("TasksMax", Variant::from(plan.unit.tasks)),
        ("LimitCORE", Variant::from(0_u64)),
        ("OOMPolicy", Variant::from("kill")),
        // What it may do, and see.
        ("UMask", Variant::from(0o077_u32)),
        ("NoNewPrivileges", Variant::from(true)),
        ("CapabilityBoundingSet", Variant::from(0_u64)),
        ("PrivateTmp", Variant::from(true)),
        ("PrivateDevices", Variant::from(true)),
        ("PrivateNetwork", Variant::from(!plan.network)),
        ("ProtectSystem", Variant::from("strict")),
        ("ProtectHome", Variant::from(home)),
        ("ProtectControlGroups", Variant::from(true)),
        ("ProtectKernelLogs", Variant::from(true)),
        ("ProtectKernelModules", Variant::from(true)),
        ("ProtectKernelTunables", Variant::from(true)),
        ("ProtectClock", Variant::from(true)),
        ("RestrictNamespaces", Variant::from(0_u64)),
        ("RestrictRealtime", Variant::from(true)),
        ("RestrictSUIDSGID", Variant::from(true)),
        ("LockPersonality", Variant::from(true)),
        ("RemoveIPC", Variant::from(true)),
        ("ReadWritePaths", Variant::from(writable)),
        ("InaccessiblePaths", Variant::from(hidden)),
    ];
    if let Some(stdin) = stdin {
        properties.push(("StandardInputFileDescriptor", Variant::Fd(Fd::Owned(stdin))));
    }
    if let Some(memory) = plan.unit.memory {
        properties.push(("MemoryMax", Variant::from(memory)));
        properties.push(("MemorySwapMax", Variant::from(0_u64)));
        // Where the kernel has no controller of memory or tasks (Raspberry Pi OS switches memory's off by default): for
        // each process, and for the account, which nobody else has.
        properties.push(("LimitDATA", Variant::from(4 * memory)));
        properties.push(("LimitNPROC", Variant::from(plan.unit.tasks)));
        properties.push(("OOMScoreAdjust", Variant::from(500_i32)));
    }
    if plan.unit.no_loopback && plan.network {
        // Callers on a loopback address have rights without a token. systemd-resolved's stub is left.
        let address = |octets: [u8; 4]| (2_i32, octets.to_vec(), 32_u32);
        let allowed = vec![address([127, 0, 0, 53]), address([127, 0, 0, 54])];
        let v6 = (10_i32, [[0; 15].as_slice(), &[1]].concat(), 128_u32);
        properties.push(("IPAddressAllow", Variant::from(allowed)));
        properties.push(("IPAddressDeny", Variant::from(vec![(2_i32, vec![127_u8, 0, 0, 0], 8_u32), v6])));
    }
    if let Some(agent) = agent {
        // `BindsTo`: an agent that is killed takes its commands with it. `After`: they end before it when both stop.
        properties.push(("BindsTo", Variant::from(vec![agent.to_owned()])));
        properties.push(("After", Variant::from(vec![agent.to_owned()])));
    }
    Ok(properties)
}

fn text(path: &Path) -> Result<String, ToolError> {
    let text = path.to_str().ok_or_else(|| ToolError::internal(format!("{} is no UTF-8", path.display())))?;
    Ok(text.to_owned())
}

fn at_home(path: &str) -> bool {
    ["-/home", "-/root", "-/run/user"].iter().any(|home| path.starts_with(home))
}

fn micros(time: Duration) -> Variant<'static> {
    Variant::from(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
