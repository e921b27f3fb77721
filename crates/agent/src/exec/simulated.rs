//! Commands of a simulated machine: a few built-in programs, which start no process.

use super::{CommandPlan, CommandProcess, Ending, Runner, Started};
use base::error::ToolError;
use futures::future::BoxFuture;
use std::{io::Cursor, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// The programs: enough to try out start, output, waiting, failure and termination.
const PROGRAMS: &[&str] = &["true", "false", "echo", "cat", "pwd", "env", "sleep", "sh"];

/// Starts no process.
#[derive(Default)]
pub struct SimulatedRunner;

impl Runner for SimulatedRunner {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            let (output, code, pause) = run(plan)?;
            Ok(Started {
                stdout: Box::new(Cursor::new(output)),
                stderr: Box::new(tokio::io::empty()),
                process: Box::new(Simulated {
                    until: Instant::now() + pause,
                    code,
                    stopped: false,
                    told: Notify::new(),
                }),
            })
        })
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// A program's output, its exit code, and how long it runs.
type Effect = (Vec<u8>, i32, Duration);

fn run(plan: &CommandPlan) -> Result<Effect, ToolError> {
    let name = plan.program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "sh" {
        // `sh -c LINE`: one program and its arguments. An unknown program is not found, as in a real shell.
        let line = plan.args.get(1).map(String::as_str).unwrap_or_default();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let found = words.split_first().and_then(|(name, args)| program(name, args, plan));
        return Ok(found.unwrap_or((Vec::new(), 127, Duration::ZERO)));
    }
    program(name, &plan.args, plan).ok_or_else(|| {
        ToolError::not_found(format!("the simulated machine has no program {}", plan.program.display()))
            .with("resource", plan.program.display().to_string())
            .hint(format!("it has {}", PROGRAMS.join(", ")))
    })
}

fn program(name: &str, args: &[String], plan: &CommandPlan) -> Option<Effect> {
    let none = Duration::ZERO;
    Some(match name {
        "true" => (Vec::new(), 0, none),
        "false" => (Vec::new(), 1, none),
        "echo" => (format!("{}\n", args.join(" ")).into_bytes(), 0, none),
        "cat" => (plan.stdin.clone(), 0, none),
        "pwd" => (format!("{}\n", plan.cwd.display()).into_bytes(), 0, none),
        "env" => (plan.env.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>().into(), 0, none),
        "sleep" => match args.first().and_then(|seconds| seconds.parse().ok()) {
            Some(seconds) => (Vec::new(), 0, Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4)),
            None => (Vec::new(), 1, none),
        },
        _ => return None,
    })
}

struct Simulated {
    until: Instant,
    code: i32,
    stopped: bool,
    told: Notify,
}

impl CommandProcess for Simulated {
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(async {
            if !self.stopped {
                tokio::select! {
                    () = tokio::time::sleep_until(self.until) => return Ok(Ending::Exited(self.code)),
                    () = self.told.notified() => {}
                }
            }
            Ok(Ending::Killed(rustix::process::Signal::TERM.as_raw()))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        self.stopped = true;
        self.told.notify_one();
        Box::pin(async {})
    }
}
