//! The servers that people have: those of the protocol's authors, and of others in Go and Rust. `ci/parts/agents` installs them and
//! runs these, one after the other; they are ignored elsewhere.

use super::*;
use std::{collections::BTreeSet, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

/// A server, and what is asked of it.
struct Official {
    name: &'static str,
    /// Its program, with `{build}` for where the part installs.
    program: &'static str,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// Three calls: tool, arguments, and what the result has.
    calls: [(&'static str, Value, &'static str); 3],
    /// A call that takes longer than so many seconds, where the server has one.
    slow: Option<(&'static str, Value, u32)>,
    /// Whether it may end by itself when a call is cancelled: the older SDK of Python, if the cancel comes as its answer is ready (it then
    /// answers twice, which `RequestResponder.respond` asserts not to happen).
    ends_by_a_cancel: bool,
}

fn installed(program: &str) -> PathBuf {
    let build = concat!(env!("CARGO_MANIFEST_DIR"), "/build");
    let path = PathBuf::from(program.replace("{build}", build));
    assert!(path.exists(), "{}: ./ci/parts/agents installs it", path.display());
    path
}

const NPM: &str = "{build}/npm-official/node_modules";

/// An argument for Node: a program of npm.
fn npm(path: &str) -> String {
    installed(&format!("{NPM}/{path}")).to_str().unwrap().to_owned()
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// A web server with one page; a path that begins with /never is not answered.
async fn pages() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let count = stream.read(&mut request).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..count]).into_owned();
                let (status, body) = match text.split(' ').nth(1).unwrap_or_default() {
                    path if path.starts_with("/never") => return std::future::pending::<()>().await,
                    "/robots.txt" => ("404 Not Found", ""),
                    _ => (
                        "200 OK",
                        "<html><title>Garden</title><body><h1>Tomatoes</h1><button>Water</button></body></html>",
                    ),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            });
        }
    });
    format!("http://{address}")
}

/// What the server calls its tools, asked without any of our code.
async fn tools_of(program: &PathBuf, args: &[String], env: &[(&str, String)]) -> BTreeSet<String> {
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ] {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = soon(lines.next_line()).await.unwrap().expect("it lists its tools");
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        if answer["id"] == 2 {
            let tools = answer["result"]["tools"].as_array().unwrap();
            return tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        }
    }
}

impl Official {
    async fn holds(self) {
        let Self { name, program, args, env, calls, slow, ends_by_a_cancel } = self;
        let program = installed(program);
        let names = tools_of(&program, &args, &env).await;
        let ours = |theirs: &str| theirs.to_ascii_lowercase().replace(['-', '.'], "_");
        let mut tools: serde_json::Map<String, Value> =
            names.iter().map(|tool| (ours(tool), json!({"tier": "fundamental", "timeout_seconds": 60}))).collect();
        if let Some((tool, _, seconds)) = &slow {
            tools[&ours(tool)]["timeout_seconds"] = json!(seconds);
        }
        let variables: serde_json::Map<String, Value> =
            env.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let machine = Machine::new(|_| {
            vec![json!({
                "type": name, "kind": "mcp", "program": program, "args": args, "env": variables, "start_seconds": 60,
                "tools": tools,
            })]
        })
        .await;
        machine.accept(name).await;

        // Each tool is listed, or named with the reason.
        let offered = listed(&mut machine.pi.on(Door::Stdio).await).await;
        let problem = machine.state(name).await["problem"].as_str().unwrap_or_default().to_owned();
        let mut listed = 0;
        for tool in &names {
            let is_listed = offered.contains(&format!("{name}.{}", ours(tool)));
            assert!(
                is_listed || problem.contains(&format!("{} is not offered: ", ours(tool))),
                "{name}: {tool}: {problem}"
            );
            listed += usize::from(is_listed);
        }
        eprintln!("{name}: {listed} of {} tools are listed; {problem}", names.len());

        for (tool, args, wanted) in &calls {
            let said = called(&machine, name, tool, args).await;
            assert!(said.contains(wanted), "{name}.{tool}: {wanted}: {said}");
        }
        // A cancel, which comes too late where nothing takes long.
        let process = || machine.runner.plans.lock().unwrap().len();
        let before = process();
        let (tool, args) = slow.as_ref().map_or((calls[0].0, &calls[0].1), |(tool, args, _)| (*tool, args));
        let mut wire = machine.pi.on(Door::Stdio).await;
        let id = wire.ask("tools/call", json!({"name": format!("{name}.{}", ours(tool)), "arguments": args}));
        wire.notify("notifications/cancelled", json!({"requestId": id}));
        let answer = wire.answer_to(id).await;
        if let Some((tool, args, _)) = slow {
            answer.failed("cancelled");
            called_after_a_cancel(&machine, name, &calls[0], ends_by_a_cancel).await;
            machine.call(&format!("{name}.{}", ours(tool)), args).await.failed("timeout");
        }
        let said = called_after_a_cancel(&machine, name, &calls[0], ends_by_a_cancel).await;
        assert!(said.contains(calls[0].2), "{name}: after a cancel and a timeout: {said}");
        assert!(ends_by_a_cancel || process() == before, "{name}: the same process answers");

        let machine = machine.restarted(None, |_| {}).await;
        machine.until_tools(name, "accepted").await;
        assert_eq!(machine.state(name).await["state"], "stopped", "{name}: nobody has called it");
        let said = called(&machine, name, calls[0].0, &calls[0].1).await;
        assert!(said.contains(calls[0].2), "{name}: after a restart: {said}");
    }
}

/// A call by the name that the server has for its tool, and the whole answer with its content.
async fn called(machine: &Machine, name: &str, tool: &str, args: &Value) -> String {
    let full = format!("{name}.{}", tool.to_ascii_lowercase().replace(['-', '.'], "_"));
    let answer = machine.call(&full, args.clone()).await;
    answer.ok();
    answer.result().to_string()
}

/// A call behind one that was cancelled. An agent that ended by that fails it, is started again, and then answers.
async fn called_after_a_cancel(
    machine: &Machine,
    name: &str,
    (tool, args, _): &(&str, Value, &str),
    ends_by_a_cancel: bool,
) -> String {
    if ends_by_a_cancel {
        let answer = machine.call(&format!("{name}.{tool}"), args.clone()).await;
        if !answer.is_refusal("unavailable") {
            answer.ok();
            return answer.result().to_string();
        }
        assert_eq!(answer.error()["message"], format!("the agent {name} died"));
        machine.until_state(name, "running").await;
    }
    called(machine, name, tool, args).await
}

const NODE: &str = "/usr/bin/node";

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn everything() {
    Official {
        name: "everything",
        program: NODE,
        args: vec![npm("@modelcontextprotocol/server-everything/dist/index.js")],
        env: vec![("GREETING", "moin".into())],
        calls: [
            ("get-env", json!({}), "moin"),
            ("get-tiny-image", json!({}), "image/png"),
            ("get-structured-content", json!({"location": "Chicago"}), "temperature"),
        ],
        slow: Some(("trigger-long-running-operation", json!({"duration": 5, "steps": 5}), 1)),
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn filesystem() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    fs::write(folder.join("note"), "buy seeds").unwrap();
    let (note, new, pipe) = (folder.join("note"), folder.join("new"), folder.join("pipe"));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    Official {
        name: "files_of_mcp",
        program: NODE,
        args: vec![npm("@modelcontextprotocol/server-filesystem/dist/index.js"), folder.to_str().unwrap().into()],
        env: Vec::new(),
        calls: [
            ("read_text_file", json!({"path": note}), "buy seeds"),
            ("write_file", json!({"path": new, "content": "done"}), "Successfully wrote"),
            ("list_directory", json!({"path": folder}), "[FILE] note"),
        ],
        slow: Some(("read_media_file", json!({"path": pipe}), 1)),
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn memory() {
    let dir = TempDir::new().unwrap();
    let entity = json!({"name": "Ann", "entityType": "person", "observations": ["likes tea"]});
    Official {
        name: "memory",
        program: NODE,
        args: vec![npm("@modelcontextprotocol/server-memory/dist/index.js")],
        env: vec![("MEMORY_FILE_PATH", dir.path().join("memory.jsonl").to_str().unwrap().into())],
        calls: [
            ("create_entities", json!({"entities": [entity]}), ""),
            ("read_graph", json!({}), "likes tea"),
            ("search_nodes", json!({"query": "tea"}), "Ann"),
        ],
        slow: None,
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn sequential_thinking() {
    let thought = |number: u64| json!({"thought": "one", "nextThoughtNeeded": number < 3, "thoughtNumber": number, "totalThoughts": 3});
    Official {
        name: "thinking",
        program: NODE,
        args: vec![npm("@modelcontextprotocol/server-sequential-thinking/dist/index.js")],
        env: Vec::new(),
        calls: [
            ("sequentialthinking", thought(1), "thoughtHistoryLength"),
            ("sequentialthinking", thought(2), "\"thoughtHistoryLength\":2"),
            ("sequentialthinking", thought(3), "thoughtHistoryLength"),
        ],
        slow: None,
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn playwright() {
    let (dir, url) = (TempDir::new().unwrap(), pages().await);
    let folder = dir.path().to_str().unwrap().to_owned();
    let mut args = vec![npm("@playwright/mcp/cli.js")];
    args.extend(texts([
        "--headless",
        "--no-sandbox",
        "--isolated",
        "--executable-path",
        "/usr/bin/chromium",
        "--output-dir",
        &folder,
    ]));
    Official {
        name: "browser",
        program: NODE,
        args,
        env: vec![("HOME", folder), ("PATH", "/usr/bin:/bin".into())],
        calls: [
            ("browser_navigate", json!({"url": url}), "Garden"),
            ("browser_snapshot", json!({}), "Tomatoes"),
            ("browser_take_screenshot", json!({}), "image/png"),
        ],
        slow: Some(("browser_wait_for", json!({"time": 5}), 1)),
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn fetch() {
    let url = pages().await;
    Official {
        name: "fetch",
        program: "{build}/agents-python/bin/mcp-server-fetch",
        args: texts(["--allow-private-ips"]),
        // Without Node, which it has install more from npm at the first page.
        env: vec![("PATH", "/nowhere".into())],
        calls: [
            ("fetch", json!({"url": format!("{url}/a")}), "Tomatoes"),
            ("fetch", json!({"url": format!("{url}/b"), "raw": true}), "<h1>"),
            ("fetch", json!({"url": format!("{url}/c"), "max_length": 3, "raw": true}), "<ht"),
        ],
        slow: Some(("fetch", json!({"url": format!("{url}/never")}), 8)),
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn git() {
    let dir = TempDir::new().unwrap();
    let repository = dir.path().canonicalize().unwrap();
    let path = repository.to_str().unwrap();
    let run = |args: &[&str]| {
        assert!(std::process::Command::new("git").arg("-C").arg(path).args(args).status().unwrap().success())
    };
    run(&["init", "-q"]);
    fs::write(repository.join("a"), "tomatoes\n").unwrap();
    run(&["add", "a"]);
    run(&["config", "user.name", "x"]);
    run(&["config", "user.email", "x@example.org"]);
    run(&["commit", "-qm", "Plant tomatoes"]);
    // A difference takes four seconds.
    let differ = Folder(repository.join(".git")).program("differ", "#!/bin/sh\nsleep 4\n");
    run(&["config", "diff.external", differ.to_str().unwrap()]);
    fs::write(repository.join("a"), "tomatoes and beans\n").unwrap();
    Official {
        name: "git",
        program: "{build}/agents-python/bin/mcp-server-git",
        args: texts(["--repository", path]),
        env: vec![("HOME", path.into())],
        calls: [
            ("git_log", json!({"repo_path": path, "max_count": 5}), "Plant tomatoes"),
            ("git_status", json!({"repo_path": path}), "modified:"),
            ("git_show", json!({"repo_path": path, "revision": "HEAD"}), "tomatoes"),
        ],
        slow: Some(("git_diff_unstaged", json!({"repo_path": path}), 1)),
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn time() {
    Official {
        name: "time",
        program: "{build}/agents-python/bin/mcp-server-time",
        args: texts(["--local-timezone", "UTC"]),
        env: Vec::new(),
        calls: [
            ("get_current_time", json!({"timezone": "Europe/Paris"}), "Europe/Paris"),
            (
                "convert_time",
                json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
                "21:30",
            ),
            ("get_current_time", json!({"timezone": "Asia/Kolkata"}), "+05:30"),
        ],
        slow: None,
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

/// An older SDK of Python, which cannot be asked anything while a call runs.
#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn sqlite() {
    let dir = TempDir::new().unwrap();
    // A file that others may change is data, and no part of the program.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    Official {
        name: "sqlite",
        program: "{build}/agents-python-older/bin/mcp-server-sqlite",
        args: texts(["--db-path", dir.path().join("db").to_str().unwrap()]),
        env: Vec::new(),
        calls: [
            ("list_tables", json!({}), ""),
            ("create_table", json!({"query": "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, n TEXT)"}), "created"),
            ("write_query", json!({"query": "INSERT INTO t(n) VALUES ('x')"}), "affected_rows"),
        ],
        slow: Some((
            "read_query",
            json!({"query": "SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<6000000) SELECT x FROM c)"}),
            1,
        )),
        ends_by_a_cancel: true,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn one_in_go() {
    Official {
        name: "clock_of_go",
        program: "{build}/npm-official/node_modules/mcp-time-linux-x64/bin/mcp-time",
        args: Vec::new(),
        env: Vec::new(),
        calls: [
            ("add_time", json!({"time": "2026-01-01T00:00:00Z", "duration": "90m"}), "01:30"),
            // Described in other words at each start: accepted it can be called, after a restart it is another tool.
            ("current_time", json!({"timezone": "Europe/Paris"}), "20"),
            ("relative_time", json!({"text": "tomorrow", "timezone": "UTC"}), "20"),
        ],
        slow: None,
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}

#[tokio::test]
#[ignore = "ci/parts/agents installs it"]
async fn one_in_rust() {
    let (start, zone) = ("2026-01-01T00:00:00Z", "Europe/Paris");
    Official {
        name: "calendar_of_rust",
        program: "{build}/npm-official/node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp",
        args: Vec::new(),
        env: vec![("HOME", "/nonexistent".into())],
        calls: [
            ("resolve_datetime", json!({"expression": "next Tuesday at 2pm", "timezone": zone}), "14:00"),
            ("compute_duration", json!({"start": start, "end": "2026-01-01T01:30:00Z"}), "5400"),
            (
                "expand_rrule",
                json!({"rrule": "FREQ=DAILY;COUNT=3", "dtstart": "2026-01-01T00:00:00", "timezone": "UTC"}),
                "2026-01-03",
            ),
        ],
        slow: None,
        ends_by_a_cancel: false,
    }
    .holds()
    .await;
}
