//! `exec.run`: runs one command of the owner's list (docs/contract/exec.md).

use super::variables::{self, Variables};
use crate::{
    registry::{
        context::Context,
        progress::{OutputChunk, Update},
        tool::Tool,
    },
    tools::{
        bounded,
        running_command::{StopWhenDropped, told_to_end},
    },
};
use agent::{
    exec::{Ending, output::Chunk},
    operations::commands::{
        AFTER_LIMIT, CommandEnd, CommandRef, CommandRequest, ReadOutput, RunCommand, without_input,
    },
};
use base::{base64url, error::ToolError};
use contract::{
    access::{
        commands::{ARG_BYTES, DEFAULT_TIMEOUT_MS, MOST_ARGS, RequestedCommand, STDIN_BYTES, TIMEOUT_MS, judge},
        question::quoted,
    },
    meta::Meta,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Value, json};
use std::{convert::Infallible, future::pending, time::Duration};

/// Most bytes of output in one progress message for an MCP client.
const SHOWN: usize = 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name of an allowed command. With shell: a line for /bin/sh.
    #[schemars(length(min = 1, max = ARG_BYTES))]
    #[serde(deserialize_with = "bounded::<_, 1, ARG_BYTES>")]
    command: String,
    /// Its arguments, one each.
    #[schemars(length(max = MOST_ARGS), inner(length(max = ARG_BYTES)))]
    #[serde(default, deserialize_with = "arguments")]
    args: Vec<String>,
    /// Folder to run in; relative ones begin in the first allowed.
    #[schemars(length(min = 1, max = ARG_BYTES))]
    #[serde(default, deserialize_with = "folder")]
    cwd: Option<String>,
    /// Variables to set; with args at most 4096 bytes.
    #[serde(default)]
    env: Variables,
    /// It may have a lower limit of its own.
    #[schemars(range(min = *TIMEOUT_MS.start(), max = *TIMEOUT_MS.end()))]
    #[serde(default = "timeout", deserialize_with = "milliseconds")]
    timeout_ms: u32,
    /// What it is given to read.
    #[schemars(length(max = STDIN_BYTES))]
    #[serde(default, deserialize_with = "input")]
    stdin: Option<String>,
    /// Run command through /bin/sh.
    #[serde(default)]
    shell: bool,
    /// Also send output as it comes.
    #[serde(default)]
    stream: bool,
}

fn timeout() -> u32 {
    DEFAULT_TIMEOUT_MS
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        time if TIMEOUT_MS.contains(&time) => Ok(time),
        time => Err(D::Error::custom(format!("{time} ms where {TIMEOUT_MS:?} are allowed"))),
    }
}

pub(super) fn short<E: Error>(text: &str, most: usize) -> Result<(), E> {
    match text.chars().count() {
        length if length <= most => Ok(()),
        length => Err(E::custom(format!("{length} characters where {most} are allowed"))),
    }
}

fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let args = Vec::<String>::deserialize(deserializer)?;
    if args.len() > MOST_ARGS {
        return Err(D::Error::custom(format!("{} arguments where {MOST_ARGS} are allowed", args.len())));
    }
    args.iter().try_for_each(|arg| short(arg, ARG_BYTES))?;
    Ok(args)
}

fn folder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let folder = Option::<String>::deserialize(deserializer)?;
    if folder.as_ref().is_some_and(String::is_empty) {
        return Err(D::Error::custom("a folder's path is not empty"));
    }
    folder.iter().try_for_each(|folder| short(folder, ARG_BYTES))?;
    Ok(folder)
}

fn input<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let input = Option::<String>::deserialize(deserializer)?;
    input.iter().try_for_each(|input| short(input, STDIN_BYTES))?;
    Ok(input)
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// 128 and the signal's number when a signal ended it.
    exit_code: i32,
    stdout: String,
    stderr: String,
    duration_ms: u64,
    timed_out: bool,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    signal: Option<i32>,
    /// Bytes it wrote that are not in stdout: the first and the last are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    stdout_cut_bytes: Option<u64>,
    /// The same of stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    stderr_cut_bytes: Option<u64>,
}

impl Out {
    fn of(end: &CommandEnd) -> Self {
        let (exit_code, signal) = match end.ending {
            Ending::Exited(code) => (code, None),
            Ending::Killed(signal) => (128 + signal, Some(signal)),
        };
        let cut = |bytes: u64| (bytes > 0).then_some(bytes);
        Self {
            exit_code,
            stdout: end.stdout.text(),
            stderr: end.stderr.text(),
            duration_ms: end.duration_ms,
            timed_out: end.timed_out,
            signal,
            stdout_cut_bytes: cut(end.stdout.cut()),
            stderr_cut_bytes: cut(end.stderr.cut()),
        }
    }
}

pub struct Run;

impl Tool for Run {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "exec.run",
        title: "Run a command",
        description: "Run one command of the owner's list on this device.\n\nUse when: no other tool does it.\n\nReturns: exit code, output and errors; of long ones the first and the last part.\n\nNote: every process it starts ends with it.",
        long: true,
        // The longest command, plus the time to stop one.
        timeout_seconds: 620,
        open_world: true,
        estimated_tokens: 500,
        tags: &["exec", "command", "shell"],
        ..Meta::RISKY
    };

    fn normalise(args: &mut Value) {
        variables::normalise(args);
    }

    fn check(args: &Args) -> Result<(), ToolError> {
        match &args.env.twice {
            None => Ok(()),
            Some(name) => Err(ToolError::invalid(format!("env has the variable {} twice", quoted(name)))
                .with("parameter", "env")
                .hint("give each variable once")),
        }
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        judge(&cx.services.settings.exec, &wanted(args)).map(drop)
    }

    fn shown(args: &Value) -> Option<Value> {
        Some(without_input(args))
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let limit = judge(&cx.services.settings.exec, &wanted(&args))?.limit;
        let CommandRef { id } = CommandRef::random()?;
        let request = CommandRequest {
            id: id.clone(),
            command: args.command,
            args: args.args,
            cwd: args.cwd,
            env: args.env.map,
            stdin: args.stdin.map(|text| base64url::encode(text.as_bytes())),
            shell: args.shell,
            timeout_ms: args.timeout_ms,
            authorization: cx.authorization(),
        };
        let agent = &cx.services.agent;
        let stop = StopWhenDropped::new(agent, &id);
        let end = {
            let run = agent.call_within::<RunCommand>(request, limit + AFTER_LIMIT);
            tokio::pin!(run);
            tokio::select! {
                // Biased: the command is started before its output or its end is requested.
                biased;
                end = &mut run => end,
                () = cx.cancel.cancelled() => tokio::select! {
                    biased;
                    end = run => end,
                    never = told_to_end(agent, &id) => match never {},
                },
                never = listen(cx, args.stream, &id, limit) => match never {},
            }
        };
        // Without an answer, nothing is known about the command.
        let end = end?;
        stop.ended();
        if end.simulated {
            cx.notes.simulated();
        }
        // What a command changes is unknown, so assume a change.
        cx.notes.changed();
        let out = Out::of(&end);
        if end.stopped {
            return Err(with_output(ToolError::cancelled(Self::META.name), &out));
        }
        if end.timed_out {
            return Err(late(&out, Duration::from_millis(end.limit_ms)));
        }
        Ok(out)
    }
}

fn wanted(args: &Args) -> RequestedCommand<'_> {
    RequestedCommand {
        command: &args.command,
        args: &args.args,
        cwd: args.cwd.as_deref(),
        env: &args.env.map,
        stdin: args.stdin.as_ref().map(String::len),
        shell: args.shell,
        timeout_ms: args.timeout_ms,
    }
}

/// Forwards output as it arrives. Never returns: the end of the command is awaited elsewhere.
async fn listen(cx: &Context, wanted: bool, id: &str, limit: Duration) -> Infallible {
    let mut bytes = 0;
    while wanted && cx.progress.wanted() {
        let Ok(output) = cx.services.agent.call_within::<ReadOutput>(CommandRef { id: id.to_owned() }, limit).await
        else {
            break;
        };
        for chunk in &output.chunks {
            bytes += chunk.text.len();
            tell(cx, chunk, bytes);
        }
        if output.ended {
            break;
        }
    }
    pending().await
}

fn tell(cx: &Context, chunk: &Chunk, bytes: usize) {
    let stream = chunk.stream.name();
    cx.progress.piece(&OutputChunk { stream, offset: chunk.offset, data: &chunk.text });
    let from = chunk.text.char_indices().rev().map(|(at, _)| at).take_while(|at| chunk.text.len() - at <= SHOWN).last();
    let message = chunk.text[from.unwrap_or(0)..].to_owned();
    cx.progress.report(Update { progress: bytes as f64, total: None, message, phase: "run", stream });
}

/// The error for a command that exceeded its time limit, with the fields of the result.
fn late(out: &Out, limit: Duration) -> ToolError {
    let error = ToolError::timeout(Run::META.name, limit)
        .hint("give it more time with timeout_ms, up to the command's own limit");
    with_output(error, out).with("parameter", json!("timeout_ms"))
}

fn with_output(mut error: ToolError, out: &Out) -> ToolError {
    if let Ok(Value::Object(fields)) = serde_json::to_value(out) {
        error.details.extend(fields);
    }
    error
}
