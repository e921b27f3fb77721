//! Runs a command: checked against the agent's own list, started by the runner, ended with its request.

use super::{input::digest, plan};
use crate::{
    authorization::Authorization,
    context::Context,
    exec::{
        CommandPlan, Ending, RunningCommand, Started,
        output::{CapturedOutput, HeadAndTail, OutputStream},
    },
    log::OpLog,
    operations::Operation,
    peer::Peer,
};
use base::{base64url, error::ToolError, redact};
use contract::access::commands::{RequestedCommand, judge};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, io, time::Duration};
use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep_until, timeout},
};

const TOOL: &str = "exec.run";
/// Limit from SIGTERM to the last process: the grace period, and time for a machine under load.
const END: Duration = Duration::from_secs(12);
/// Limit for reading the rest of the pipes after all writers have ended.
const DRAIN: Duration = Duration::from_secs(1);

/// How much longer than a command's own limit the server waits for the agent's answer: the agent may take `END` and
/// `DRAIN` after that limit.
pub const AFTER_LIMIT: Duration = Duration::from_secs(15);

/// A command that the server wants to run. It runs until it ends, [`StopCommand`](super::StopCommand) ends it, or this
/// request's connection closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// The server's id for it: 32 hexadecimal digits.
    pub id: String,
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// base64url.
    #[serde(default)]
    pub stdin: Option<String>,
    #[serde(default)]
    pub shell: bool,
    pub timeout_ms: u32,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEnd {
    pub ending: Ending,
    pub timed_out: bool,
    /// Stopped by the server.
    pub stopped: bool,
    /// Its time limit, in milliseconds.
    pub limit_ms: u64,
    pub duration_ms: u64,
    pub stdout: CapturedOutput,
    pub stderr: CapturedOutput,
    pub simulated: bool,
}

/// Logs, on drop, that a command was ended because its connection closed.
struct Abandoned<'a> {
    log: &'a OpLog,
    peer: &'a Peer,
    id: &'a str,
    armed: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.armed
            && let Err(error) = self.log.write("command abandoned", self.peer, json!({ "id": self.id }))
        {
            tracing::error!(target: "agent", %error, "log");
        }
    }
}

/// Runs a command to its end. Dropping the future ends the command.
pub struct RunCommand;

impl Operation for RunCommand {
    const TAG: &'static str = "run_command";
    const ANSWER: &'static str = "command";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = CommandRequest;
    type Answer = CommandEnd;

    fn was_shown(request: &CommandRequest, args: &Value) -> bool {
        let given = |name: &str| args.get(name).filter(|value| !value.is_null()).cloned();
        let stdin = request.stdin.as_deref().and_then(base64url::decode).map(|bytes| String::from_utf8(bytes).ok());
        given("command") == Some(json!(request.command))
            && given("args").unwrap_or_else(|| json!([])) == json!(request.args)
            && given("cwd") == request.cwd.as_ref().map(|cwd| json!(cwd))
            && given("env").unwrap_or_else(|| json!({})) == json!(request.env)
            && given("stdin") == stdin.map(|text| json!(text))
            && given("shell").unwrap_or(json!(false)) == json!(request.shell)
    }

    async fn run(cx: &Context<'_>, request: CommandRequest) -> Result<CommandEnd, ToolError> {
        let judged = begin(cx, &request);
        // Logged before it runs: a command that cannot be logged is not run.
        cx.log.note("command", cx.peer, shown(&request), judged.as_ref().err())?;
        let (seat, plan) = judged?;
        let mut abandoned = Abandoned { log: &cx.log, peer: cx.peer, id: &request.id, armed: true };
        let result = attend(cx, &plan, &seat, cx.settings.exec.max_output_bytes).await;
        abandoned.armed = false;
        let ended = result.as_ref().ok().map(|end| json!({ "ending": end.ending, "timed_out": end.timed_out }));
        let error = result.as_ref().err().map(|error| &error.message);
        let noted = cx.log.write("command ended", cx.peer, json!({ "id": request.id, "end": ended, "error": error }));
        noted.map_err(ToolError::maybe_changed)?;
        result
    }
}

fn begin<'a>(cx: &'a Context<'_>, request: &'a CommandRequest) -> Result<(RunningCommand<'a>, CommandPlan), ToolError> {
    cx.policy().check(TOOL)?;
    let stdin = request.stdin.as_deref().map(|text| {
        base64url::decode(text).ok_or_else(|| ToolError::invalid("stdin is no base64url").with("parameter", "stdin"))
    });
    let stdin = stdin.transpose()?;
    let allowed = judge(
        &cx.settings.exec,
        &RequestedCommand {
            command: &request.command,
            args: &request.args,
            cwd: request.cwd.as_deref(),
            env: &request.env,
            stdin: stdin.as_ref().map(Vec::len),
            shell: request.shell,
            timeout_ms: request.timeout_ms,
        },
    )?;
    let plan = plan::plan(cx, &request.id, allowed, stdin.unwrap_or_default())?;
    let seat = cx.commands.start(&request.id, cx.settings.exec.max_running)?;
    cx.admit(TOOL, &request.authorization, |args| RunCommand::was_shown(request, args))?;
    Ok((seat, plan))
}

/// Runs `plan` to its end, and keeps at most `limit` bytes of each output. Dropping the future ends it.
pub(crate) async fn attend(
    cx: &Context<'_>,
    plan: &CommandPlan,
    seat: &RunningCommand<'_>,
    limit: usize,
) -> Result<CommandEnd, ToolError> {
    let began = Instant::now();
    let Started { mut stdout, mut stderr, mut process } = cx.runner.start(plan).await?;
    let (mut out, mut err) = (HeadAndTail::new(limit), HeadAndTail::new(limit));
    let (mut out_open, mut err_open) = (true, true);
    let mut buffers = ([0; 4096], [0; 4096]);
    let (mut deadline, mut timed_out, mut stopped) = (began + plan.limit, false, false);
    let live = &seat.handle.live;
    let take = |kept: &mut HeadAndTail, stream, read: io::Result<usize>, buffer: &[u8]| match read {
        Ok(0) | Err(_) => false,
        Ok(length) => {
            kept.push(&buffer[..length]);
            live.push(stream, &buffer[..length]);
            true
        }
    };
    let ending = loop {
        tokio::select! {
            read = stdout.read(&mut buffers.0), if out_open => out_open = take(&mut out, OutputStream::Stdout, read, &buffers.0),
            read = stderr.read(&mut buffers.1), if err_open => err_open = take(&mut err, OutputStream::Stderr, read, &buffers.1),
            ending = process.ended() => break ending.map_err(ToolError::maybe_changed)?,
            () = seat.handle.stop.cancelled(), if !stopped && !timed_out => {
                stopped = true;
                deadline = Instant::now() + END;
                process.stop().await;
            }
            () = sleep_until(deadline) => {
                if stopped || timed_out {
                    return Err(ToolError::unavailable("the command was told to end and is still there")
                        .with("id", plan.id.clone())
                        .with("changed", true)
                        .with("stopped", false)
                        .hint(format!("look at `systemctl status {}` on the device", plan.unit.slice)));
                }
                timed_out = true;
                deadline = Instant::now() + END;
                process.stop().await;
            }
        }
    };
    let duration = began.elapsed();
    let rest = async {
        while out_open || err_open {
            tokio::select! {
                read = stdout.read(&mut buffers.0), if out_open => out_open = take(&mut out, OutputStream::Stdout, read, &buffers.0),
                read = stderr.read(&mut buffers.1), if err_open => err_open = take(&mut err, OutputStream::Stderr, read, &buffers.1),
            }
        }
    };
    // All output is in the pipes already, unless a process outside the command holds their write end.
    let _ = timeout(DRAIN, rest).await;
    Ok(CommandEnd {
        ending,
        timed_out,
        stopped,
        limit_ms: millis(plan.limit),
        duration_ms: millis(duration),
        stdout: out.finish(),
        stderr: err.finish(),
        simulated: cx.runner.is_simulated(),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The request as it is logged: secrets masked, and of the input only the hash.
fn shown(request: &CommandRequest) -> Value {
    let stdin = request.stdin.as_deref().and_then(base64url::decode).map(|bytes| digest(&bytes));
    redact::redact(&json!({
        "id": request.id, "command": request.command, "args": request.args, "cwd": request.cwd, "env": request.env,
        "stdin": stdin, "shell": request.shell, "timeout_ms": request.timeout_ms, "warrant": request.authorization,
    }))
}
