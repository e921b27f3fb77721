//! A command: judged by the agent's own list, run by its runner, ended with whoever wanted it.

mod plan;
mod running;
mod way;

pub(in crate::agent) use plan::open_to_others;
pub(in crate::agent) use running::Commands;

use crate::{
    access::{
        commands::{Wanted, judge},
        redact,
    },
    agent::{
        Agent, Ask, Authorization, Peer,
        exec::{
            Ending, Plan, Started,
            output::{Chunk, Kept, Output, Stream},
        },
    },
    base64url, canonical,
    error::ToolError,
};
use running::Seat;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, io, time::Duration};
use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep_until, timeout},
};

const TOOL: &str = "exec.run";
/// From the first SIGTERM to the last process: the grace, and what a machine under load needs for the rest.
const END: Duration = Duration::from_secs(12);
/// What is still in the pipes once everything that wrote to them is gone.
const DRAIN: Duration = Duration::from_secs(1);

/// A command the server wants to run. It runs until it ends, [`CommandRef`] stops it, or this request's connection closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// The server's name for it: 32 hexadecimal digits.
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

/// One that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRef {
    pub id: String,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEnd {
    pub ending: Ending,
    pub timed_out: bool,
    /// Stopped by the server.
    pub stopped: bool,
    /// How long it had, in milliseconds.
    pub limit_ms: u64,
    pub duration_ms: u64,
    pub stdout: Output,
    pub stderr: Output,
    pub simulated: bool,
}

/// What a command has written since it was asked last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandOutput {
    pub chunks: Vec<Chunk>,
    pub ended: bool,
}

/// Says in the log that a command was ended because its connection was.
struct Abandoned<'a> {
    agent: &'a Agent,
    peer: &'a Peer,
    id: &'a str,
    armed: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.armed
            && let Err(error) = self.agent.log.write("command abandoned", self.peer, json!({ "id": self.id }))
        {
            tracing::error!(target: "agent", %error, "log");
        }
    }
}

impl Agent {
    /// Runs a command to its end. Dropping the future ends it.
    pub(in crate::agent) async fn run_command(
        &self,
        peer: &Peer,
        request: &CommandRequest,
    ) -> Result<CommandEnd, ToolError> {
        let judged = self.begin(peer, request);
        // Written before it runs: what a card without room cannot note is not done.
        self.note("command", peer, shown(request), judged.as_ref().err())?;
        let (seat, plan) = judged?;
        let mut abandoned = Abandoned { agent: self, peer, id: &request.id, armed: true };
        let result = self.attend(&plan, &seat).await;
        abandoned.armed = false;
        let ended = result.as_ref().ok().map(|end| json!({ "ending": end.ending, "timed_out": end.timed_out }));
        let error = result.as_ref().err().map(|error| &error.message);
        let noted = self.log.write("command ended", peer, json!({ "id": request.id, "end": ended, "error": error }));
        noted.map_err(ToolError::maybe_changed)?;
        result
    }

    /// What the command has written since the last time; waits for something, or its end.
    pub(in crate::agent) async fn command_output(&self, command: &CommandRef) -> Result<CommandOutput, ToolError> {
        let (chunks, ended) = self.commands.find(&command.id)?.live.next().await;
        Ok(CommandOutput { chunks, ended })
    }

    pub(in crate::agent) fn stop_command(&self, command: &CommandRef) -> Result<(), ToolError> {
        self.commands.find(&command.id).map(|handle| handle.stop.cancel())
    }

    fn begin<'a>(&'a self, peer: &Peer, request: &'a CommandRequest) -> Result<(Seat<'a>, Plan), ToolError> {
        self.policy().check(TOOL)?;
        let stdin = request.stdin.as_deref().map(|text| {
            base64url::decode(text)
                .ok_or_else(|| ToolError::invalid("stdin is no base64url").with("parameter", "stdin"))
        });
        let stdin = stdin.transpose()?;
        let allowed = judge(
            &self.settings.exec,
            &Wanted {
                command: &request.command,
                args: &request.args,
                cwd: request.cwd.as_deref(),
                env: &request.env,
                stdin: stdin.as_ref().map(Vec::len),
                shell: request.shell,
                timeout_ms: request.timeout_ms,
            },
        )?;
        let plan = self.plan(&request.id, allowed, stdin.unwrap_or_default())?;
        let seat = self.commands.seat(&request.id, self.settings.exec.max_running)?;
        self.admit(peer, TOOL, &request.authorization, |ask| shows(ask, request))?;
        Ok((seat, plan))
    }

    async fn attend(&self, plan: &Plan, seat: &Seat<'_>) -> Result<CommandEnd, ToolError> {
        let (limit, began) = (self.settings.exec.max_output_bytes, Instant::now());
        let Started { mut stdout, mut stderr, mut process } = self.runner.start(plan).await?;
        let (mut out, mut err) = (Kept::new(limit), Kept::new(limit));
        let (mut out_open, mut err_open) = (true, true);
        let mut buffers = ([0; 4096], [0; 4096]);
        let (mut deadline, mut timed_out, mut stopped) = (began + plan.limit, false, false);
        let live = &seat.handle.live;
        let take = |kept: &mut Kept, stream, read: io::Result<usize>, buffer: &[u8]| match read {
            Ok(0) | Err(_) => false,
            Ok(length) => {
                kept.push(&buffer[..length]);
                live.push(stream, &buffer[..length]);
                true
            }
        };
        let ending = loop {
            tokio::select! {
                read = stdout.read(&mut buffers.0), if out_open => out_open = take(&mut out, Stream::Stdout, read, &buffers.0),
                read = stderr.read(&mut buffers.1), if err_open => err_open = take(&mut err, Stream::Stderr, read, &buffers.1),
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
                            .hint("look at `systemctl status raspi-mcp-exec.slice` on the device"));
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
                    read = stdout.read(&mut buffers.0), if out_open => out_open = take(&mut out, Stream::Stdout, read, &buffers.0),
                    read = stderr.read(&mut buffers.1), if err_open => err_open = take(&mut err, Stream::Stderr, read, &buffers.1),
                }
            }
        };
        // Everything is in the pipes already, unless it handed its end to somebody else.
        let _ = timeout(DRAIN, rest).await;
        Ok(CommandEnd {
            ending,
            timed_out,
            stopped,
            limit_ms: millis(plan.limit),
            duration_ms: millis(duration),
            stdout: out.finish(),
            stderr: err.finish(),
            simulated: self.runner.is_simulated(),
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The request as the log has it: secrets masked, and of what it reads only the hash.
fn shown(request: &CommandRequest) -> Value {
    let stdin = request.stdin.as_deref().and_then(base64url::decode).map(|bytes| digest(&bytes));
    redact::redact(&json!({
        "id": request.id, "command": request.command, "args": request.args, "cwd": request.cwd, "env": request.env,
        "stdin": stdin, "shell": request.shell, "timeout_ms": request.timeout_ms, "warrant": request.authorization,
    }))
}

/// What stands for the bytes a command reads, where they themselves would not be read.
pub fn digest(bytes: &[u8]) -> Value {
    json!({ "bytes": bytes.len(), "sha256": canonical::hex(&Sha256::digest(bytes)) })
}

/// What the audit has of a call's arguments: of what the command reads, only length and hash. A person is shown it whole.
pub fn without_input(args: &Value) -> Value {
    let mut args = args.clone();
    if let Some(text) = args.get("stdin").and_then(Value::as_str).map(str::to_owned) {
        args["stdin"] = digest(text.as_bytes());
    }
    args
}

/// The person approved exactly this: command, arguments, folder, variables, and what it reads.
fn shows(ask: &Ask, request: &CommandRequest) -> bool {
    let args = &ask.request.args;
    let given = |name: &str| args.get(name).filter(|value| !value.is_null()).cloned();
    let stdin = request.stdin.as_deref().and_then(base64url::decode).map(|bytes| String::from_utf8(bytes).ok());
    given("command") == Some(json!(request.command))
        && given("args").unwrap_or_else(|| json!([])) == json!(request.args)
        && given("cwd") == request.cwd.as_ref().map(|cwd| json!(cwd))
        && given("env").unwrap_or_else(|| json!({})) == json!(request.env)
        && given("stdin") == stdin.map(|text| json!(text))
        && given("shell").unwrap_or(json!(false)) == json!(request.shell)
}
