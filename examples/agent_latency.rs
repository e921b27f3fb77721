//! What raspi-mcp adds to a tool of an agent: the same call directly and through the unix socket, in turn.
//!
//! ```text
//! agent_latency server                                 the MCP server that is timed, on standard input and output
//! agent_latency mcp SOCKET TOOL [ROUNDS]               beside that server, started here
//! agent_latency command SOCKET TOOL PROGRAM [ROUNDS]   beside a start of the program, alone and as a unit
//! ```
//!
//! A running server is asked, which has the agent; `ci/bench-agents` declares both. Prints medians and 99th percentiles. `mcp` ends
//! with 1 if the median is more than a millisecond above that of the server itself.

use serde_json::{Value, json};
use std::{
    error::Error,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What raspi-mcp may add to a call of an MCP server.
const MOST: Duration = Duration::from_millis(1);
/// Below the default limit of calls a minute.
const PAUSE: Duration = Duration::from_millis(105);
/// Rounds that are not counted.
const WARM: usize = 10;
const ARGS: &str = r#"{"text":"hello"}"#;
/// A unit of systemd with the part of an agent's sandbox that costs time: other users, mounts and namespaces.
const UNIT: [&str; 13] = [
    "--quiet",
    "--pipe",
    "--wait",
    "--collect",
    "--uid=raspi-mcp-agent-9",
    "--property=NoNewPrivileges=yes",
    "--property=PrivateTmp=yes",
    "--property=PrivateDevices=yes",
    "--property=PrivateNetwork=yes",
    "--property=ProtectSystem=strict",
    "--property=ProtectHome=yes",
    "--property=ProtectKernelTunables=yes",
    "--property=MemoryMax=100M",
];

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let rounds = |rest: &[&str]| rest.first().map_or(Ok(500), |text| text.parse());
    match args[..] {
        ["server"] => serve(),
        ["mcp", socket, tool, ref rest @ ..] => mcp(socket, tool, rounds(rest)?),
        ["command", socket, tool, program, ref rest @ ..] => command(socket, tool, program, rounds(rest)?),
        _ => {
            Err("usage: agent_latency server | mcp SOCKET TOOL [ROUNDS] | command SOCKET TOOL PROGRAM [ROUNDS]".into())
        }
    }
}

/// An MCP server with one tool.
fn serve() -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => {
                let about = json!({ "name": "echo", "version": "1" });
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": about })
            }
            Some("tools/list") => {
                let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
                json!({ "tools": [{ "name": "echo", "description": "Says it again.", "inputSchema": schema }] })
            }
            _ => json!({ "content": [{ "type": "text", "text": message["params"]["arguments"]["text"] }] }),
        };
        if !message["id"].is_null() {
            writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            out.flush()?;
        }
    }
    Ok(())
}

/// A connection with a message a line.
struct Lines<R, W> {
    reader: BufReader<R>,
    writer: W,
}

impl<R: Read, W: Write> Lines<R, W> {
    /// The time of one request, which has to succeed.
    fn time(&mut self, method: &str, params: &Value) -> Outcome<Duration> {
        let line = format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let (mut answer, began) = (String::new(), Instant::now());
        self.writer.write_all(line.as_bytes())?;
        self.writer.flush()?;
        let read = self.reader.read_line(&mut answer)?;
        let took = began.elapsed();
        if read == 0 || !answer.contains("\"result\"") || answer.contains("\"isError\":true") {
            return Err(format!("{method} failed: {answer}").into());
        }
        Ok(took)
    }
}

fn connect(socket: &str) -> Outcome<Lines<UnixStream, UnixStream>> {
    let stream = UnixStream::connect(socket)?;
    Ok(Lines { reader: BufReader::new(stream.try_clone()?), writer: stream })
}

fn call_of(tool: &str) -> Outcome<Value> {
    Ok(json!({ "name": tool, "arguments": serde_json::from_str::<Value>(ARGS)? }))
}

/// Times each of `ways` in turn, so that all have the same machine. Prints and returns the medians.
#[expect(clippy::disallowed_methods, reason = "a program that waits for one answer at a time")]
fn compare<const N: usize>(
    rounds: usize,
    names: [&str; N],
    mut ways: [&mut dyn FnMut() -> Outcome<Duration>; N],
) -> Outcome<[Duration; N]> {
    let mut times = [(); N].map(|()| Vec::with_capacity(rounds));
    for round in 0..rounds + WARM {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let took = way()?;
            if round >= WARM {
                times.push(took);
            }
        }
        thread::sleep(PAUSE);
    }
    let mut medians = [Duration::ZERO; N];
    for ((name, times), median) in names.iter().zip(&mut times).zip(&mut medians) {
        times.sort();
        *median = times[times.len() / 2];
        let p99 = times[times.len() * 99 / 100];
        println!("{name:<28} median {:>7} us, p99 {:>7} us", median.as_micros(), p99.as_micros());
    }
    Ok(medians)
}

fn mcp(socket: &str, tool: &str, rounds: usize) -> Outcome<()> {
    let mut own =
        Command::new(std::env::current_exe()?).arg("server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(writer), Some(reader)) = (own.stdin.take(), own.stdout.take()) else { return Err("no pipes".into()) };
    let mut direct = Lines { reader: BufReader::new(reader), writer };
    direct.time("initialize", &json!({}))?;
    let (mut through, own_call, call) = (connect(socket)?, call_of("echo")?, call_of(tool)?);
    let [alone, ours] = compare(
        rounds,
        ["the MCP server itself", "through raspi-mcp"],
        [&mut || direct.time("tools/call", &own_call), &mut || through.time("tools/call", &call)],
    )?;
    // Its input ends, and so does it.
    drop(direct);
    own.wait()?;
    let more = ours.saturating_sub(alone);
    let ratio = ours.as_secs_f64() / alone.as_secs_f64();
    println!("raspi-mcp adds {} us to the call of an MCP server, {ratio:.1} times", more.as_micros());
    if more > MOST { Err(format!("more than {} us", MOST.as_micros()).into()) } else { Ok(()) }
}

fn command(socket: &str, tool: &str, program: &str, rounds: usize) -> Outcome<()> {
    let (mut through, call) = (connect(socket)?, call_of(tool)?);
    let mut unit: Vec<&str> = UNIT.to_vec();
    unit.push(program);
    let [alone, unit, ours] = compare(
        rounds,
        ["the program itself", "as a unit, by systemd-run", "through raspi-mcp"],
        [&mut || run(program, &[]), &mut || run("systemd-run", &unit), &mut || through.time("tools/call", &call)],
    )?;
    let (millis, ratio) = (|time: Duration| time.as_secs_f64() * 1000.0, ours.as_secs_f64() / unit.as_secs_f64());
    println!(
        "a start costs {:.1} ms, its unit {:.1} ms more; through raspi-mcp it takes {ratio:.2} times as long as by systemd-run",
        millis(alone),
        millis(unit.saturating_sub(alone))
    );
    Ok(())
}

/// The time of one run with the arguments on standard input.
fn run(program: &str, args: &[&str]) -> Outcome<Duration> {
    let began = Instant::now();
    let mut child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(ARGS.as_bytes())?;
    let output = child.wait_with_output()?;
    let took = began.elapsed();
    if !output.status.success() || output.stdout != ARGS.as_bytes() {
        return Err(format!("{program} failed: {:?}", output.status).into());
    }
    Ok(took)
}
