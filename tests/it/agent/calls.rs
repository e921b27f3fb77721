//! Calls that go all the way: pipeline, ask, person, agent, audit.

use super::*;
use ::hw::{
    board::{Board, Choice},
    machine::Machine,
};
use contract::{
    access::caller::{Caller, Transport},
    config::{Places, Settings},
    meta::{Mode, Role},
};
use raspi_mcp::{
    approval::Asking,
    audit::Audit,
    log::Ring,
    registry::{
        Registry,
        bounds::ServerLimits,
        listing::CallLimits,
        pipeline::{Call, Pipeline},
    },
    services::Services,
    store::Store,
};
use tokio_util::sync::CancellationToken;

/// A server and its agent on a simulated board.
pub(super) struct Server {
    pub(super) pi: Pi,
    pub(super) pipeline: Arc<Pipeline>,
}

impl Server {
    /// As an owner would have it who enabled system.*.
    fn new() -> Self {
        Self::before(Pi::now(), |pi| pi.server())
    }

    fn before(pi: Pi, link: impl Fn(&Pi) -> AgentLink) -> Self {
        Self::with(pi, link, |_| {})
    }

    pub(super) fn with(pi: Pi, link: impl Fn(&Pi) -> AgentLink, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default_for(&Places::below(pi.dir.path()));
        settings.tools.enable.extend(["system".into(), "service".into()]);
        change(&mut settings);
        let root = Root::at(pi.dir.path());
        let store = Store::open(&pi.dir.path().join("store.db")).unwrap();
        let (agent, audit) = (link(&pi), Audit::new(store.clone(), 1 << 20, Some(link(&pi))));
        let bounds = ServerLimits {
            limits: CallLimits { reads_per_minute: 1000, writes_per_minute: 1000, request_timeout_seconds: 30 },
            concurrent: 10,
            waiting: 10,
            streams: 10,
            response_bytes: 1 << 20,
        };
        let machine = Machine::new(root.clone(), Board::detect(Choice::Simulated, &root).unwrap(), None);
        let (settings, registry) = (Arc::new(settings), Registry::new(raspi_mcp::tools::NAMESPACES));
        let services = Services::new(settings, Arc::new(machine), agent.clone(), store, audit.clone(), Ring::new(10));
        let gate = Asking {
            agent,
            patience: Duration::from_millis(1),
            elicitation_clients: Vec::new(),
            agents: Vec::new(),
            notifications: Default::default(),
        };
        let pipeline = Pipeline::new(Arc::new(services), Arc::new(registry), bounds, Arc::new(audit), Arc::new(gate));
        Self { pi, pipeline: Arc::new(pipeline) }
    }

    async fn call(&self, caller: (&str, Role), tool: &str, args: Value) -> (Result<Value, ToolError>, Value) {
        let registry = &self.pipeline.registry;
        let call = Call {
            entry: registry.entries().find(|entry| entry.name() == tool).unwrap(),
            caller: Arc::new(Caller::new(caller.0, caller.1, Transport::Stdio)),
            args,
            request_id: "n:1".into(),
            correlation_id: None,
            cancel: CancellationToken::new(),
            progress: Default::default(),
            peer: None,
            alias: None,
        };
        let finished = self.pipeline.run(call).await;
        (finished.result.map(|output| serde_json::from_str(output.json.get()).unwrap()), json!(finished.meta))
    }

    pub(super) async fn admin(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        self.call(ADMIN, tool, args).await.0
    }

    /// The newest audit record.
    async fn recorded(&self) -> Value {
        self.admin("logs.get_recent_audit_logs", json!({"limit": 1})).await.unwrap()["entries"][0].clone()
    }
}

pub(super) const ADMIN: (&str, Role) = ("token:owner", Role::Admin);
const GUEST: (&str, Role) = ("token:guest", Role::ReadOnly);

#[tokio::test]
async fn a_reboot_waits_for_a_person_and_is_made_once() {
    let server = Server::new();
    let args = json!({"delay_seconds": 60, "reason": "kernel update"});
    let unanswered = server.admin("system.reboot", args.clone()).await.unwrap_err();
    assert_eq!(unanswered.code.symbol(), "failed_precondition");
    let record = server.recorded().await;
    assert_eq!((&record["tool"], &record["outcome"]), (&json!("system.reboot"), &json!("failed_precondition")));

    let asks = server.pi.person::<op::asks::ListAsks>(Default::default()).await.unwrap();
    assert_eq!(unanswered.details["ask_id"], asks[0].id.as_str());
    assert_eq!(asks[0].request.args, args);
    server.pi.says(&asks[0], true).await.unwrap();

    let (done, meta) = server.call(ADMIN, "system.reboot", args.clone()).await;
    let done = done.unwrap();
    assert_eq!((&done["scheduled"], &done["effective_after_seconds"]), (&json!(true), &json!(60)));
    assert_eq!(done["reason"], "kernel update");
    assert_eq!((&meta["simulated"], &meta["changed"]), (&json!(true), &json!(true)));
    let record = server.recorded().await;
    assert_eq!(record["approval"], json!({"ask_id": asks[0].id, "by": "pi", "how": "raspi-mcp approve"}));
    assert_eq!((&record["outcome"], &record["changed"]), (&json!("ok"), &json!(true)));
    assert_eq!(record["args_sha256"], canonical::sha256_hex(&args));

    let second = server.admin("system.reboot", args.clone()).await.unwrap_err();
    assert_eq!(second.code.symbol(), "conflict", "one is scheduled, and nobody is asked about a second: {second}");
    server.admin("system.reboot", json!({"cancel": true})).await.unwrap();
    let again = server.admin("system.reboot", args).await.unwrap_err();
    assert_eq!(again.code.symbol(), "failed_precondition", "asked anew: {again}");
    assert!(server.pipeline.services.audit.verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_scheduled_reboot_is_cancelled_through_the_same_tool() {
    // Both halves have to trust it.
    let pi = Pi::with(|agent| allow(&mut agent.policy.modes));
    let server = Server::with(pi, |pi| pi.server(), |settings| allow(&mut settings.policy));

    let done = server.admin("system.reboot", json!({})).await.unwrap();
    assert_eq!(done["effective_after_seconds"], 5, "the default of system.reboot");
    let taken_back = server.admin("system.reboot", json!({"cancel": true})).await.unwrap();
    assert_eq!((&taken_back["scheduled"], &taken_back["cancelled"]), (&json!(false), &json!(true)));
    let nothing = server.admin("system.reboot", json!({"cancel": true})).await.unwrap();
    assert_eq!(nothing["cancelled"], false);
    assert_eq!(server.recorded().await["changed"], false);
}

#[tokio::test]
async fn a_person_sees_the_arguments_as_they_are_and_the_audit_keeps_its_masks() {
    let server = Server::new();
    let args = json!({"reason": "password=hunter2 [redacted]", "delay_seconds": 60});
    server.admin("system.reboot", args.clone()).await.unwrap_err();
    let asks = server.pi.server().get::<op::asks::ListAsks>().await.unwrap();
    assert_eq!(asks[0].request.args, args);
    server.pi.says(&asks[0], true).await.unwrap();
    server.admin("system.reboot", args).await.unwrap();
    assert_eq!(server.recorded().await["args"]["reason"], "password=[redacted] [redacted]");
}

#[tokio::test]
async fn the_agent_denies_a_deed_by_its_own_policy_under_every_name() {
    // The server's configuration says nothing.
    let pi = Pi::with(|agent| agent.policy.modes.extend([("service.restart".into(), Mode::Deny)]));
    let server = Server::with(pi, |pi| pi.server(), |settings| settings.service.allow = vec!["*.service".into()]);
    for (tool, args, denied) in [
        ("service.restart", json!({"service_name": "web"}), true),
        ("service.control_service", json!({"service_name": "web", "action": "restart"}), true),
        ("service.control_service", json!({"service_name": "web", "action": "restart", "dry_run": true}), true),
        ("service.control_service", json!({"service_name": "web", "action": "stop", "dry_run": true}), false),
        ("service.stop", json!({"service_name": "web"}), false),
    ] {
        let answer = server.admin(tool, args.clone()).await;
        assert_eq!(answer.is_err(), denied, "{tool} {args}: {answer:?}");
        if let Err(error) = answer {
            assert_eq!(error.code.symbol(), "permission_denied", "{error}");
            assert_eq!(error.details["decided_by"], "policy.\"service.restart\"");
        }
    }
    // Nor does it ask a person about what it denies.
    let asked = server
        .pi
        .server()
        .call::<op::asks::OpenAsk>(ask("service.control_service", json!({"action": "restart"})))
        .await;
    assert_eq!(asked.unwrap_err().code.symbol(), "permission_denied");
}

#[tokio::test]
async fn taking_a_reboot_back_waits_for_nobody() {
    // Policy asks a person about a reboot; nobody has to be at the device to stop one.
    let server = Server::new();
    let nothing = server.admin("system.reboot", json!({"cancel": true})).await.unwrap();
    assert_eq!(nothing["cancelled"], false);
    assert!(server.pi.server().get::<op::asks::ListAsks>().await.unwrap().is_empty(), "nobody was asked");
}

fn allow(policy: &mut std::collections::BTreeMap<String, Mode>) {
    policy.insert("system.reboot".into(), Mode::Allow);
}

#[tokio::test]
async fn arguments_of_a_reboot_have_bounds() {
    let server = Server::new();
    for (args, parameter) in [
        (json!({"delay_seconds": 601}), "delay_seconds"),
        (json!({"delay_seconds": -1}), "delay_seconds"),
        (json!({"reason": "x".repeat(201)}), "reason"),
        (json!({"force": true}), "force"),
    ] {
        let error = server.admin("system.reboot", args).await.unwrap_err();
        assert_eq!((error.code.symbol(), &error.details["parameter"]), ("invalid_argument", &json!(parameter)));
    }
}

#[tokio::test]
async fn without_an_agent_nothing_reboots_and_reads_go_on() {
    let server = Server::before(Pi::now(), |pi| AgentLink::Socket(agent::Client::new(&pi.settings.socket)));
    let error = server.admin("system.reboot", json!({})).await.unwrap_err();
    assert_eq!(error.code.symbol(), "unavailable");
    assert!(error.hint.as_ref().unwrap().contains("systemctl start raspi-mcp-agent"));
    server.admin("tools.search", json!({"query": "reboot"})).await.unwrap();
    assert_eq!(server.recorded().await["tool"], "tools.search");
}

#[tokio::test]
async fn a_refusal_is_recorded_and_each_caller_sees_their_own() {
    let server = Server::new();
    let (refused, _) = server.call(GUEST, "system.reboot", json!({"reason": "fun"})).await;
    assert_eq!(refused.unwrap_err().code.symbol(), "permission_denied");
    server.admin("tools.search", json!({"query": "reboot"})).await.unwrap();

    let logs = "logs.get_recent_audit_logs";
    let own = server.call(GUEST, logs, json!({})).await.0.unwrap();
    assert_eq!((&own["scope"], &own["pagination"]["total_count"]), (&json!("own"), &json!(1)));
    assert_eq!(own["entries"][0]["args"], json!({"reason": "fun"}));
    let (others, _) = server.call(GUEST, logs, json!({"principal": "token:owner"})).await;
    assert_eq!(others.unwrap_err().details["required_role"], "admin");

    let all = server.admin(logs, json!({"limit": 2})).await.unwrap();
    assert_eq!(all["scope"], "all");
    let page = &all["pagination"];
    assert_eq!(
        (&page["returned_count"], &page["has_more"], &page["next_offset"]),
        (&json!(2), &json!(true), &json!(2))
    );
    let denied = server.admin(logs, json!({"outcome": "permission_denied", "tool": "system.reboot"})).await.unwrap();
    assert_eq!(denied["pagination"]["total_count"], 1);
    let later = server.admin(logs, json!({"since": "2999-01-01T00:00:00Z"})).await.unwrap();
    assert_eq!(later["entries"], json!([]));
    let error = server.admin(logs, json!({"since": "yesterday"})).await.unwrap_err();
    assert_eq!(error.code.symbol(), "invalid_argument");
}

#[tokio::test]
async fn secrets_do_not_reach_the_audit() {
    let server = Server::new();
    let (refused, _) = server.call(GUEST, "system.reboot", json!({"token": "s3cret", "reason": "rmcp_s3cret"})).await;
    refused.unwrap_err();
    let record = server.recorded().await;
    assert!(!record.to_string().contains("s3cret"), "{record}");
    assert_eq!(record["args"], json!({"token": "[redacted]", "reason": "rmcp_[redacted]"}));
}

#[tokio::test]
async fn no_audit_no_write() {
    let server = Server::new();
    let db = rusqlite::Connection::open(server.pi.dir.path().join("store.db")).unwrap();
    server.pipeline.services.audit.flush().await.unwrap();
    let (refused, _) = server.call(GUEST, "system.reboot", json!({})).await;
    refused.unwrap_err();
    db.execute_batch("ALTER TABLE audit RENAME TO hidden").unwrap();
    // The first notices; what comes after is refused before anything is done.
    server.call(GUEST, "system.reboot", json!({})).await.0.unwrap_err();
    let question = AskRequest { principal: ADMIN.0.into(), ..ask("system.reboot", json!({})) };
    let asked = server.pi.server().call::<op::asks::OpenAsk>(question).await.unwrap();
    server.pi.says(&asked, true).await.unwrap();
    let error = server.admin("system.reboot", json!({})).await.unwrap_err();
    assert_eq!(error.code.symbol(), "unavailable");
    assert_eq!(server.pi.server().get::<op::status::GetStatus>().await.unwrap().power, None, "nothing was scheduled");
}

#[tokio::test]
async fn a_person_is_told_what_a_repetition_does() {
    let server = Server::with(
        Pi::now(),
        |pi| pi.server(),
        |settings| {
            settings.tools.enable.insert("gpio".into());
            settings.policy.insert("gpio.write_pin".into(), Mode::Ask);
        },
    );
    let args = json!({"pin": 17, "value": "high", "repeat": 5});
    server.admin("gpio.write_pin", args.clone()).await.unwrap_err();
    server.admin("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.unwrap_err();
    let asks = server.pi.server().get::<op::asks::ListAsks>().await.unwrap();
    let summary = |args: &Value| &asks.iter().find(|ask| ask.request.args == *args).unwrap().request.summary;
    assert!(
        summary(&args).ends_with(
            "; it repeats 5 times, each level 500 ms, 5 s in all, though the caller may have gone; then the pin goes to its safe state"
        ),
        "{}",
        summary(&args)
    );
    assert!(!summary(&json!({"pin": 17, "value": "high"})).contains("repeats"));
    // What is refused anyway, nobody is asked about.
    server.admin("gpio.write_pin", json!({"pin": 17, "value": "high", "interval_ms": 50})).await.unwrap_err();
    assert_eq!(server.pi.server().get::<op::asks::ListAsks>().await.unwrap().len(), 2);
}
