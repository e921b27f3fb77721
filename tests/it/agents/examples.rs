//! The programs of `examples/agents`, as they are installed.

use super::*;
use contract::config::Places;

/// The MCP server of npm as its example mounts it, from the folder that ci/parts/tests installs it into.
#[tokio::test]
async fn the_server_of_npm_reads_and_writes_its_folder_and_no_other() {
    let installed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build/npm-agents/node_modules");
    let program = installed.join("@modelcontextprotocol/server-filesystem/dist/index.js");
    assert!(program.exists(), "{}: ./ci/parts/tests installs it from ci/agents.d", program.display());
    let mut shared = PathBuf::new();
    let machine = Machine::new(|folder| {
        shared = folder.0.join("shared");
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("note"), "buy seeds").unwrap();
        let mut agent = example("filesystem", "/usr/bin/node".into());
        agent["args"] = json!([program, shared]);
        agent["files"] = json!([installed.join("@modelcontextprotocol")]);
        vec![agent]
    })
    .await;
    machine.accept("filesystem").await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    let names = listed(&mut wire).await;
    let ours: Vec<_> = names.iter().filter(|name| name.starts_with("filesystem.")).collect();
    assert_eq!(ours, ["filesystem.list_directory", "filesystem.read_text_file", "filesystem.write_file"]);
    let read = wire.call("filesystem.read_text_file", json!({"path": shared.join("note")})).await;
    assert!(read.ok().to_string().contains("buy seeds"), "{:#}", read.ok());
    wire.call("filesystem.write_file", json!({"path": shared.join("new"), "content": "done"})).await.ok();
    assert_eq!(fs::read_to_string(shared.join("new")).unwrap(), "done");
    wire.call("filesystem.read_text_file", json!({"path": "/etc/hostname"})).await.failed("failed_precondition");
}

/// The agent of an example, with its program in this folder.
fn example(name: &str, program: PathBuf) -> Value {
    let path = format!("{}/examples/agents/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let sources = {
        let dir = TempDir::new().unwrap();
        let mut sources = contract::config::Sources::new(Places::below(dir.path()), Vec::new());
        sources.file = Some(path.into());
        sources
    };
    let mut agent = contract::config::load(&sources).unwrap().agents.pop().unwrap();
    agent.program = program;
    serde_json::to_value(agent).unwrap()
}

fn copied(folder: &Folder, name: &str) -> PathBuf {
    let text = fs::read_to_string(format!("{}/examples/agents/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    folder.program(name, &text.replace("/usr/bin/python3", "/usr/bin/env python3"))
}

#[tokio::test]
async fn the_shell_script_measures_and_asks_before_it_waters() {
    let machine = Machine::with(
        |folder| vec![example("greenhouse", copied(folder, "greenhouse"))],
        |settings| settings.approval.wait_seconds = 0,
    )
    .await;
    machine.accept("greenhouse").await;
    let answer = machine.call("greenhouse.moisture", json!({"bed": 3})).await;
    assert_eq!(answer.ok(), &json!({"bed": 3, "percent": 40}));
    machine.call("greenhouse.water", json!({"bed": 3})).await.failed("failed_precondition");
}

/// On the bus, as /usr/bin/python3 runs it with Debian's python3-dbus-next.
#[tokio::test]
async fn the_python_program_on_the_bus_has_a_climate() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let machine = Machine::on(&bus, |folder| {
        let path = format!("{}/examples/agents/climate.py", env!("CARGO_MANIFEST_DIR"));
        let program = folder.program("climate.py", &fs::read_to_string(path).unwrap());
        vec![example("climate", program)]
    })
    .await;
    machine.accept("climate").await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    let read = wire.call("climate.read", json!({"room": "greenhouse"})).await;
    assert_eq!(read.ok(), &json!({"room": "greenhouse", "celsius": 21.5, "target": 20}));
    wire.call("climate.read", json!({"room": "cellar"})).await.refused("/room");
    let set = wire.call("climate.set_target", json!({"room": "greenhouse", "celsius": 24})).await;
    assert_eq!(set.ok()["text"], "greenhouse: 24 degrees, asked by stdio (admin)");
    assert_eq!(wire.call("climate.read", json!({"room": "greenhouse"})).await.ok()["target"], 24);
    // It ends when it is told to: nobody kills it.
    let agents = &machine.pi.server().pipeline.services.agents;
    agents.end();
    soon(async {
        while machine.runner.alive() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_python_program_keeps_notes() {
    let machine = Machine::new(|folder| vec![example("notes", copied(folder, "notes.py"))]).await;
    machine.accept("notes").await;
    machine.call("notes.add", json!({"text": "buy seeds"})).await.ok();
    assert_eq!(machine.call("notes.list", json!({})).await.ok(), &json!({"notes": ["buy seeds"]}));
    machine.call("notes.add", json!({"text": "x".repeat(201)})).await.refused("/text");
}
