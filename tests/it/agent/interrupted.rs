//! Deeds that are withdrawn, lose their time or their agent while they are done: a real command, a slow service, a late answer.

use super::{
    calls::{ADMIN, Server},
    exec::{commands, real, until},
    *,
};
use ::agent::{
    Client, bind, serve,
    units::{Action, EnableEffects, JobEnd, JobMode, Unit},
};
use contract::{
    access::caller::{Caller, Transport},
    meta::Mode,
};
use futures::future::BoxFuture;
use raspi_mcp::registry::pipeline::{Call, CallOutcome};
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// A call under way, and what withdraws it.
struct Begun(JoinHandle<CallOutcome>, CancellationToken);

impl Begun {
    async fn ended(self) -> (Result<Value, ToolError>, Value) {
        let finished = tokio::time::timeout(Duration::from_secs(30), self.0).await.expect("an answer").unwrap();
        (finished.result.map(|output| serde_json::from_str(output.json.get()).unwrap()), json!(finished.meta))
    }

    async fn withdrawn(self) -> (ToolError, Value) {
        self.1.cancel();
        let (result, meta) = self.ended().await;
        (result.unwrap_err(), meta)
    }
}

impl Server {
    fn begin(&self, tool: &str, args: Value) -> Begun {
        let cancel = CancellationToken::new();
        let call = Call {
            entry: self.pipeline.registry.entries().find(|entry| entry.name() == tool).unwrap(),
            caller: Arc::new(Caller::new(ADMIN.0, ADMIN.1, Transport::Stdio)),
            args,
            request_id: "n:7".into(),
            correlation_id: None,
            cancel: cancel.clone(),
            progress: Default::default(),
            peer: None,
            alias: None,
        };
        let pipeline = Arc::clone(&self.pipeline);
        Begun(tokio::spawn(async move { pipeline.run(call).await }), cancel)
    }

    /// The records of a tool, the newest first, once there are so many.
    async fn records(&self, tool: &str, count: usize) -> Vec<Value> {
        let started = std::time::Instant::now();
        loop {
            let found = self.admin("logs.get_recent_audit_logs", json!({"tool": tool})).await.unwrap();
            let entries = found["entries"].as_array().unwrap().clone();
            if entries.len() >= count {
                return entries;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{count} records of {tool}, not {entries:#?}");
            tokio::task::yield_now().await;
        }
    }
}

fn changed(error: &ToolError, meta: &Value) -> Value {
    assert_eq!(error.details["changed"], meta["changed"], "{error:?}");
    meta["changed"].clone()
}

fn shell() -> Server {
    let pi = real(|_| {});
    Server::with(
        pi,
        |pi| pi.server(),
        |settings| {
            settings.tools.enable.insert("exec".into());
            settings.policy.insert("exec.run".into(), Mode::Allow);
            settings.exec = commands();
        },
    )
}

#[tokio::test]
async fn a_command_that_ignores_its_end_is_ended_and_what_it_wrote_is_said() {
    let server = shell();
    let folder = tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let file = folder.path().join("written");
    let script =
        format!("trap '' TERM INT HUP; echo before; echo here > {}; while :; do sleep 600; done", file.display());
    let begun = server.begin("exec.run", json!({"command": "sh", "args": ["-c", script]}));
    until("it has written", || std::fs::read_to_string(&file).is_ok_and(|text| text == "here\n")).await;
    let (error, meta) = begun.withdrawn().await;
    assert_eq!(error.code.symbol(), "cancelled");
    assert_eq!((changed(&error, &meta), &error.details["stopped"]), (json!(true), &json!(true)), "{error:?}");
    assert_eq!((&error.details["exit_code"], &error.details["stdout"]), (&json!(137), &json!("before\n")));
    assert!(error.message.contains("it was stopped, but not before it changed something"), "{error}");
    let record = &server.records("exec.run", 1).await[0];
    assert_eq!((&record["outcome"], &record["changed"]), (&json!("cancelled"), &json!(true)));
    // Its own time being up says the same.
    let args = json!({"command": "sh", "args": ["-c", "trap '' TERM; sleep 600"], "timeout_ms": 1000});
    let (result, meta) = server.begin("exec.run", args).ended().await;
    let error = result.unwrap_err();
    assert_eq!((error.code.symbol(), error.timeout_ms), ("timeout", Some(1000)));
    assert_eq!((changed(&error, &meta), &error.details["stopped"]), (json!(true), &json!(true)));
}

#[tokio::test]
async fn a_cancellation_right_behind_the_call_ends_the_command_too() {
    let server = shell();
    let begun = server.begin("exec.run", json!({"command": "sh", "args": ["-c", "sleep 600"]}));
    let (error, meta) = begun.withdrawn().await;
    assert_eq!((error.code.symbol(), &error.details["stopped"]), ("cancelled", &json!(true)), "{error:?}");
    assert_ne!(changed(&error, &meta), "unknown");
    assert_eq!(server.records("exec.run", 1).await.len(), 1);
}

/// Services whose jobs take until a permit comes.
struct Slow {
    units: SimulatedUnits,
    begun: Semaphore,
    gate: Semaphore,
}

impl Units for Slow {
    fn look<'a>(&'a self, unit: &'a str) -> BoxFuture<'a, Result<Unit, ToolError>> {
        self.units.look(unit)
    }
    fn act<'a>(
        &'a self,
        unit: &'a str,
        action: Action,
        mode: JobMode,
        wait: Option<Duration>,
    ) -> BoxFuture<'a, Result<JobEnd, ToolError>> {
        Box::pin(async move {
            self.begun.add_permits(1);
            self.gate.acquire().await.unwrap().forget();
            self.units.act(unit, action, mode, wait).await
        })
    }
    fn install(&self, unit: &Unit) -> Result<EnableEffects, ToolError> {
        self.units.install(unit)
    }
    fn set_enabled<'a>(&'a self, unit: &'a str, enabled: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.begun.add_permits(1);
            self.gate.acquire().await.unwrap().forget();
            self.units.set_enabled(unit, enabled).await
        })
    }
}

#[tokio::test]
async fn a_service_that_takes_its_time_is_unknown_until_it_is_there() {
    let slow = Arc::new(Slow { units: SimulatedUnits::default(), begun: Semaphore::new(0), gate: Semaphore::new(0) });
    let server = Server::with(
        Pi::with_units(Arc::clone(&slow) as _, |_| {}),
        |pi| pi.server(),
        |settings| {
            settings.service.allow = vec!["*.service".into()];
        },
    );
    for (tool, args) in [
        ("service.start", json!({"service_name": "backup"})),
        ("service.set_enabled", json!({"service_name": "web", "enabled": false})),
    ] {
        let begun = server.begin(tool, args);
        slow.begun.acquire().await.unwrap().forget();
        let (error, meta) = begun.withdrawn().await;
        assert_eq!((changed(&error, &meta), &error.details["stopped"]), (json!("unknown"), &json!(false)), "{error:?}");
        let record = &server.records(tool, 1).await[0];
        assert_eq!((&record["outcome"], &record["changed"]), (&json!("cancelled"), &json!("unknown")));
        slow.gate.add_permits(1);
        let later = &server.records(tool, 2).await[0];
        assert_eq!((&later["later"], &later["outcome"], &later["changed"]), (&json!(true), &json!("ok"), &json!(true)));
        assert_eq!(later["request_id"], record["request_id"]);
    }
}

/// Stands between the server and its agent's socket, and keeps answers back.
struct Between {
    path: PathBuf,
    gate: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Between {
    fn of(pi: &Pi) -> Self {
        let path = pi.dir.path().join("between.sock");
        let (listener, gate) = (UnixListener::bind(&path).unwrap(), Arc::new(Semaphore::new(0)));
        let (socket, open) = (pi.settings.socket.clone(), Arc::clone(&gate));
        let task = tokio::spawn(async move {
            let mut all = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                all.spawn(carried(stream, socket.clone(), Arc::clone(&open)));
            }
        });
        Self { path, gate, task }
    }
}

async fn carried(stream: UnixStream, socket: PathBuf, gate: Arc<Semaphore>) -> io::Result<()> {
    let (mut near_in, mut near_out) = stream.into_split();
    let (mut far_in, mut far_out) = UnixStream::connect(socket).await?.into_split();
    let back = async {
        let mut bytes = [0; 4096];
        loop {
            let read = far_in.read(&mut bytes).await?;
            if read == 0 {
                return io::Result::Ok(());
            }
            drop(gate.acquire().await);
            near_out.write_all(&bytes[..read]).await?;
        }
    };
    tokio::try_join!(back, async { tokio::io::copy(&mut near_in, &mut far_out).await.map(drop) }).map(drop)
}

struct Lost {
    server: Server,
    between: Between,
    serving: JoinHandle<()>,
}

/// A server whose agent is behind [`Between`].
async fn behind() -> Lost {
    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("system.set_hostname".into(), Mode::Allow);
    });
    let listener = bind(&pi.settings.socket, false).unwrap();
    let serving = tokio::spawn(serve(listener, pi.agent(), CancellationToken::new()));
    let between = Between::of(&pi);
    between.gate.add_permits(1);
    let link = AgentLink::Socket(Client::new(&between.path));
    let server = Server::with(
        pi,
        |_| link.clone(),
        |settings| {
            settings.policy.insert("system.set_hostname".into(), Mode::Allow);
        },
    );
    // The connection is there, and whatever else is said at its beginning.
    link.get::<op::status::GetStatus>().await.unwrap();
    Lost { server, between, serving }
}

fn name(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join("agent/operations.ndjson"))
        .unwrap_or_default()
        .lines()
        .any(|line| line.contains("set_hostname") && line.contains("\"outcome\":\"ok\""))
        .then(|| "kitchen".to_owned())
}

#[tokio::test]
async fn a_name_that_was_set_and_answered_late_is_unknown_and_then_known() {
    let Lost { server, between, serving } = behind().await;
    between.gate.acquire().await.unwrap().forget();
    let begun = server.begin("system.set_hostname", json!({"hostname": "kitchen"}));
    let folder = server.pi.dir.path().to_owned();
    until("the agent has named it", || name(&folder).is_some()).await;
    let (error, meta) = begun.withdrawn().await;
    assert_eq!((changed(&error, &meta), &error.details["stopped"]), (json!("unknown"), &json!(false)), "{error:?}");
    between.gate.add_permits(1);
    let records = server.records("system.set_hostname", 2).await;
    assert_eq!((&records[0]["later"], &records[0]["changed"]), (&json!(true), &json!(true)));
    assert_eq!(records[1]["changed"], "unknown");
    serving.abort();
}

#[tokio::test]
async fn an_agent_that_is_lost_in_mid_deed_leaves_it_unknown() {
    let Lost { server, between, serving } = behind().await;
    between.gate.acquire().await.unwrap().forget();
    let begun = server.begin("system.set_hostname", json!({"hostname": "kitchen"}));
    let folder = server.pi.dir.path().to_owned();
    until("the agent has named it", || name(&folder).is_some()).await;
    between.task.abort();
    let (result, meta) = begun.ended().await;
    let error = result.unwrap_err();
    assert_eq!((error.code.symbol(), changed(&error, &meta)), ("unavailable", json!("unknown")), "{error:?}");
    assert_eq!(server.records("system.set_hostname", 1).await[0]["changed"], "unknown");
    // One that was never reached has done nothing.
    let (result, meta) = server.begin("system.set_hostname", json!({"hostname": "cellar"})).ended().await;
    assert_eq!((result.unwrap_err().code.symbol(), &meta["changed"]), ("unavailable", &json!(false)));
    serving.abort();
}
