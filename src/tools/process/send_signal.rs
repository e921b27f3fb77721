//! `process.send_signal`: signals exactly the intended process, through the agent.

use super::get_process_details::{LARGEST_PID, absent};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{process::summary::Scale, within},
};
use agent::{
    SignalName,
    operations::process::{self, SignalRequest},
};
use base::{
    error::{ErrorCode, ToolError},
    os::processes::{Proc, is_gone},
};
use contract::meta::{Effect, Meta};
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Whom to send it.
    #[schemars(range(min = 1, max = LARGEST_PID))]
    #[serde(deserialize_with = "within::<_, 1, LARGEST_PID>")]
    pid: u32,
    /// What to send.
    #[serde(default)]
    signal: SignalName,
    /// As listed: another process by that number is then left alone.
    #[serde(default)]
    create_time: Option<f64>,
    /// Only say whether it would be sent.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    pid: u32,
    name: String,
    signal: SignalName,
    /// Whether the signal was delivered; what the process makes of it is its own business.
    sent: bool,
    dry_run: bool,
}

pub struct SendSignal;

impl Tool for SendSignal {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "process.send_signal",
        title: "Send a signal",
        description: "Send a process TERM, KILL, HUP or INT.\n\nUse when: one has to end or read its configuration again. For services use service tools.\n\nReturns: whether it was sent.\n\nNote: what keeps the machine up is protected.",
        effect: Effect::Write { destructive: true, idempotent: false },
        dry_run: true,
        estimated_tokens: 60,
        tags: &["process", "kill"],
        ..Meta::WRITE
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let mut start_ticks = None;
        // On a simulated machine only the agent knows the processes.
        if !cx.services.machine.board.is_simulated() {
            let machine = &cx.services.machine;
            let failed = |fault: std::io::Error| {
                if is_gone(&fault) { absent(args.pid) } else { unreadable("the process", &fault) }
            };
            let stat = Proc::open(&machine.root).and_then(|mut proc| proc.stat(args.pid)).map_err(failed)?;
            let began = Scale::read(machine)?.create_time(&stat);
            // Tolerance for small adjustments of the wall clock between two calls.
            if args.create_time.is_some_and(|meant| (meant - began).abs() > 1.0) {
                return Err(ToolError::new(ErrorCode::Conflict, format!("process {} is another one by now", args.pid))
                    .with("parameter", "create_time")
                    .with("create_time", began)
                    .hint("look at it again with process.get_process_details"));
            }
            start_ticks = Some(stat.start_ticks);
        }
        let request = SignalRequest {
            pid: args.pid,
            start_ticks,
            signal: args.signal,
            dry_run: args.dry_run,
            authorization: cx.authorization(),
        };
        let done = cx.services.agent.call::<process::SendSignal>(request).await?;
        if done.simulated {
            cx.notes.simulated();
        }
        if !args.dry_run {
            cx.notes.changed();
        }
        Ok(Out { pid: args.pid, name: done.name, signal: args.signal, sent: !args.dry_run, dry_run: args.dry_run })
    }
}
