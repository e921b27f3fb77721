//! The agent behind its socket: who is let in, what a bad line gets, and what its absence looks like.

use super::*;
use ::agent::{AskState, Client, bind, serve};
use ::hw::board::{Board, Choice};
use base::error::ErrorCode;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};
use tokio_util::sync::CancellationToken;

/// Serves until dropped.
struct Served(CancellationToken, tokio::task::JoinHandle<()>);

impl Served {
    fn of(pi: &Pi) -> Self {
        let stop = CancellationToken::new();
        let listener = bind(&pi.settings.socket, false).unwrap();
        Self(stop.clone(), tokio::spawn(serve(listener, pi.agent(), stop)))
    }

    async fn stop(self) {
        self.0.cancel();
        self.1.await.unwrap();
    }
}

/// A peer that speaks line by line.
struct Wire(BufReader<UnixStream>);

impl Wire {
    async fn open(pi: &Pi) -> Self {
        // As clients do: a full queue is waited for.
        let stream = base::os::doors::connect(&pi.settings.socket, &[], Duration::from_secs(5)).await.unwrap();
        Self(BufReader::new(stream))
    }

    async fn greeted(pi: &Pi) -> Self {
        let mut wire = Self::open(pi).await;
        let answer = wire.says(r#"{"id":1,"op":{"hello":{"protocol":1,"version":"test"}}}"#).await;
        assert_eq!(answer["ok"]["hello"]["protocol"], 1, "{answer}");
        wire
    }

    async fn says(&mut self, line: &str) -> Value {
        // Whoever is turned away before it spoke still hears why.
        let _ = self.0.write_all(format!("{line}\n").as_bytes()).await;
        self.hears().await
    }

    async fn hears(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }
}

fn me() -> u32 {
    rustix::process::getuid().as_raw()
}

#[tokio::test]
async fn both_halves_talk_over_the_socket() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let server = AgentLink::Socket(Client::new(&pi.settings.socket));
    let status = server.get::<op::status::GetStatus>().await.unwrap();
    assert!(status.simulated);

    // A long wait holds nothing up on the same connection.
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap();
    let waiter = tokio::spawn({
        let (server, id) = (server.clone(), opened.id.clone());
        async move { server.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&id, Duration::from_secs(60))).await }
    });
    assert_eq!(server.get::<op::status::GetStatus>().await.unwrap().pending_asks, 1);
    let answered = server
        .call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: opened.id.clone(), approve: true })
        .await
        .unwrap();
    assert_eq!(answered.how.as_deref(), Some("raspi-mcp approve; simulated board, same user"));
    assert_eq!(waiter.await.unwrap().unwrap().state, AskState::Approved);
}

#[tokio::test]
async fn a_server_with_a_user_of_its_own_reaches_the_agent_before_a_simulated_board_too() {
    use std::os::unix::fs::PermissionsExt;
    for (server_uid, mode) in [(None, 0o600), (Some(me()), 0o600), (Some(me() + 1), 0o666)] {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Pi::settings_in(dir.path());
        settings.server_uid = server_uid;
        let (socket, stop) = (settings.socket.clone(), CancellationToken::new());
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let stopped = stop.clone();
        let running = tokio::spawn(async move {
            let board = Board::detect(Choice::Simulated, &settings.root).unwrap();
            agent::run(settings, &board, stopped, move || ready.send(()).unwrap_or_default()).await
        });
        is_ready.await.unwrap();
        let permissions = std::fs::metadata(&socket).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{server_uid:?}");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_bad_line_gets_an_answer_and_the_connection_lives() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let mut wire = Wire::greeted(&pi).await;
    for (line, id, code) in [
        ("this is no json", Value::Null, "invalid_argument"),
        (r#"{"id":7,"op":{"format_card":{}}}"#, json!(7), "invalid_argument"),
        (r#"{"id":8,"op":{"status":{"extra":1}}}"#, json!(8), "invalid_argument"),
        (r#"{"id":9,"op":{"status":{}},"extra":1}"#, json!(9), "invalid_argument"),
        (r#"{"id":10,"op":{"ask_state":{"id":"XXXXXX","wait_ms":0}}}"#, json!(10), "not_found"),
    ] {
        let answer = wire.says(line).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    }
    assert_eq!(wire.says(r#"{"id":11,"op":{"status":{}}}"#).await["id"], 11);
}

fn padded(line: &str, len: usize) -> String {
    format!("{line}{}", " ".repeat(len - line.len()))
}

#[tokio::test]
async fn a_message_over_128_kib_is_refused_and_the_connection_lives() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let mut wire = Wire::greeted(&pi).await;
    let fits = padded(r#"{"id":2,"op":{"status":{}}}"#, 131_072);
    assert_eq!(wire.says(&fits).await["id"], 2, "128 KiB exactly");
    let answer = wire.says(&format!("{fits} ")).await;
    assert_eq!(answer["error"]["code"], "content_too_large");
    assert_eq!(wire.says(r#"{"id":3,"op":{"status":{}}}"#).await["id"], 3);
}

#[tokio::test]
async fn another_protocol_is_told_which_half_to_restart() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let mut wire = Wire::open(&pi).await;
    let early = wire.says(r#"{"id":1,"op":{"status":{}}}"#).await;
    assert_eq!(early["error"]["message"], "a connection begins with hello");
    let answer = wire.says(r#"{"id":2,"op":{"hello":{"protocol":2,"version":"9.0.0"}}}"#).await;
    assert_eq!(answer["error"]["code"], "failed_precondition");
    assert_eq!(answer["error"]["details"]["caller_protocol"], 2);
    assert!(answer["error"]["hint"].as_str().unwrap().contains("restart"));
    let after = wire.says(r#"{"id":3,"op":{"status":{}}}"#).await;
    assert_eq!(after["error"]["code"], "failed_precondition", "still not greeted");
}

#[tokio::test]
async fn strangers_are_refused_by_the_kernels_word() {
    // A machine on which this user is nobody: not simulated, no server user, no group; root is let in as root.
    let pi = Pi::with(|settings| settings.simulated = false);
    let strangers = Peer::judge(&pi.settings, 4711, 4711, None).unwrap_err();
    assert_eq!(strangers.code, ErrorCode::PermissionDenied);
    let _served = Served::of(&pi);
    let mut wire = Wire::open(&pi).await;
    if me() == 0 {
        assert_eq!(wire.says(r#"{"id":1,"op":{"hello":{"protocol":1,"version":"t"}}}"#).await["id"], 1);
    } else {
        assert_eq!(wire.hears().await["error"]["code"], "permission_denied");
        let error =
            AgentLink::Socket(Client::new(&pi.settings.socket)).get::<op::status::GetStatus>().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::PermissionDenied, "the client passes the reason on");
    }
}

#[test]
fn standing_comes_from_users_and_groups() {
    let dir = tempdir().unwrap();
    let etc = dir.path().join("etc");
    std::fs::create_dir_all(&etc).unwrap();
    std::fs::write(
        etc.join("passwd"),
        "root:x:0:0::/:/bin/sh\npi:x:1000:1000::/home/pi:/bin/sh\nlee:x:1001:50::/:/bin/sh\n",
    )
    .unwrap();
    std::fs::write(etc.join("group"), "root:x:0:\nraspi-mcp-approver:x:50:pi,ann\n").unwrap();
    let mut settings = Pi::settings_in(dir.path());
    settings.simulated = false;
    settings.server_uid = Some(990);
    let judge = |uid, gid| Peer::judge(&settings, uid, gid, None);
    assert_eq!(judge(990, 990).unwrap().standing, PeerKind::Server);
    assert_eq!(judge(0, 0).unwrap().standing, PeerKind::Approver);
    let pi = judge(1000, 1000).unwrap();
    assert_eq!((pi.name.as_str(), pi.standing), ("pi", PeerKind::Approver));
    assert_eq!(judge(1001, 50).unwrap().standing, PeerKind::Approver, "by primary group");
    assert_eq!(judge(1002, 1002).unwrap_err().code, ErrorCode::PermissionDenied);

    settings.server_uid = Some(0);
    let server = Peer::judge(&settings, 0, 0, None).unwrap();
    assert_eq!(server.standing, PeerKind::Server, "a server that runs as root answers nothing either");
    assert!(server.may("answer", op::asks::AnswerAsk::CALLERS).is_err());
    assert!(pi.may("reboot", op::power::SchedulePower::CALLERS).is_err(), "an approver runs nothing");
}

#[test]
fn commands_run_through_the_server_are_kept_out() {
    let dir = tempdir().unwrap();
    let proc = dir.path().join("proc/77");
    std::fs::create_dir_all(&proc).unwrap();
    std::fs::write(proc.join("cgroup"), "0::/raspi-mcp-exec.slice/run-1.scope\n").unwrap();
    let settings = Pi::settings_in(dir.path());
    assert!(Peer::judge(&settings, me(), 0, Some(78)).is_ok());
    assert_eq!(Peer::judge(&settings, me(), 0, Some(77)).unwrap_err().code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn an_agent_that_is_away_is_unavailable_and_one_that_is_back_is_found() {
    let mut pi = Pi::new();
    let server = AgentLink::Socket(Client::new(&pi.settings.socket));
    let error = server.get::<op::status::GetStatus>().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert_eq!(error.hint.as_deref(), Some("start the agent: systemctl start raspi-mcp-agent"));

    let served = Served::of(&pi);
    server.get::<op::status::GetStatus>().await.unwrap();
    served.stop().await;
    let error = server.get::<op::status::GetStatus>().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);

    pi.restart_agent();
    let _served = Served::of(&pi);
    server.get::<op::status::GetStatus>().await.expect("the socket file of the one before is no hindrance");
}

#[tokio::test]
async fn one_user_cannot_take_every_place() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(Wire::greeted(&pi).await);
    }
    let mut ninth = Wire::open(&pi).await;
    assert_eq!(ninth.hears().await["error"]["code"], "resource_exhausted");
    drop(held.pop());
    // Freed when the agent has seen the end of it.
    loop {
        let mut wire = Wire::open(&pi).await;
        if wire.says(r#"{"id":1,"op":{"hello":{"protocol":1,"version":"t"}}}"#).await["id"] == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn two_agents_do_not_share_a_folder_or_a_socket() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let error = bind(&pi.settings.socket, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    let platform = Platform::new(Arc::new(|| NOON), Arc::clone(&pi.machine) as _);
    let error = Agent::start(pi.settings.clone(), platform).err().unwrap();
    assert_eq!(error.code, ErrorCode::Conflict);
}

#[tokio::test]
async fn a_refusal_is_heard_even_when_the_agent_hung_up_before_the_question_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // An agent as quick as can be: on a thread of its own, so that it is gone before, during or after the question.
    let agent = std::thread::spawn(move || {
        use std::io::Write;
        for _ in 0..ROUNDS {
            let (mut stream, _) = listener.accept().unwrap();
            let refusal =
                r#"{"id":null,"error":{"code":"permission_denied","message":"bob may not talk to the agent"}}"#;
            stream.write_all(format!("{refusal}\n").as_bytes()).unwrap();
        }
    });
    const ROUNDS: usize = 300;
    for round in 0..ROUNDS {
        let link = AgentLink::Socket(Client::new(&path));
        let error = link.get::<op::status::GetStatus>().await.unwrap_err();
        assert_eq!(error.message, "bob may not talk to the agent", "round {round}");
    }
    agent.join().unwrap();
}

/// Makes this very process one that the agent refuses: it runs commands for the server.
fn refuse_this_process(pi: &Pi, refuse: bool) {
    let proc = pi.dir.path().join(format!("proc/{}", std::process::id()));
    std::fs::create_dir_all(&proc).unwrap();
    let group = if refuse { "0::/raspi-mcp-exec.slice/run-1.scope\n" } else { "0::/user.slice\n" };
    std::fs::write(proc.join("cgroup"), group).unwrap();
}

#[tokio::test]
async fn a_flood_of_refused_peers_pushes_nothing_out_of_the_log_and_delays_no_approval() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let deed = op::hostname::HostnameRequest {
        hostname: "kitchen".into(),
        dry_run: true,
        authorization: authorization(&json!({}), None),
    };
    let _ = pi.agent().perform::<op::hostname::SetHostname>(&Peer::in_process(), deed).await;
    let waits = pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap();
    let mut approver = Wire::greeted(&pi).await;
    pi.says(&pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 5}))).await.unwrap(), true)
        .await
        .unwrap();
    let before = (pi.log_of("operations"), pi.log_of("attempts"));
    assert!(before.0.contains("ask answered"), "{before:?}");

    refuse_this_process(&pi, true);
    const FLOOD: usize = 20_000;
    let path = pi.settings.socket.clone();
    let flood = std::thread::spawn(move || {
        let began = std::time::Instant::now();
        // Some never read, some never hang up while others come.
        let mut held = std::collections::VecDeque::new();
        for _ in 0..FLOOD {
            held.push_back(std::os::unix::net::UnixStream::connect(&path).unwrap());
            if held.len() > 64 {
                held.pop_front();
            }
        }
        began.elapsed()
    });
    let mut slowest = Duration::ZERO;
    let mut answers = 0;
    while !flood.is_finished() {
        let asked = std::time::Instant::now();
        let answer = approver.says(r#"{"id":5,"op":{"list_asks":{}}}"#).await;
        assert_eq!(answer["ok"]["asks"][0]["id"], waits.id, "{answer}");
        slowest = slowest.max(asked.elapsed());
        answers += 1;
    }
    let took = flood.join().unwrap();
    eprintln!("{FLOOD} refused in {took:?}, {answers} answers meanwhile, the slowest after {slowest:?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    // Whoever is heard after them says that all of them were.
    assert_eq!(Wire::open(&pi).await.hears().await["error"]["code"], "permission_denied");
    refuse_this_process(&pi, false);
    let mut late = Wire::greeted(&pi).await;
    let answer = late.says(&format!(r#"{{"id":6,"op":{{"answer":{{"id":"{}","approve":true}}}}}}"#, waits.id)).await;
    assert_eq!(answer["ok"]["ask"]["state"], "approved", "{answer}");

    let (deeds, attempts) = (pi.log_of("operations"), pi.log_of("attempts"));
    assert!(deeds.starts_with(&before.0) && !deeds.contains("peer refused"), "{deeds}");
    assert_eq!(attempts.matches("peer refused").count(), 1, "{attempts}");
    // The number follows with the first attempt of the next minute.
    pi.now_ms.fetch_add(60_000, Ordering::SeqCst);
    let stranger = Peer { uid: 4711, name: "mallory".into(), standing: PeerKind::Approver };
    pi.agent().perform::<op::throttled::ReadThrottled>(&stranger, Default::default()).await.unwrap_err();
    let more = format!("\"more\":{FLOOD},");
    assert!(pi.log_of("attempts").contains(&more), "{}", pi.log_of("attempts"));
}

#[tokio::test]
async fn a_flood_of_refused_operations_is_counted_by_user_and_kind_and_bounded_in_memory() {
    let pi = Pi::new();
    let peer = |uid| Peer { uid, name: format!("uid {uid}"), standing: PeerKind::Approver };
    for round in 0..3 {
        for uid in 0..200 {
            let (agent, peer) = (pi.agent(), peer(1000 + uid));
            agent.perform::<op::throttled::ReadThrottled>(&peer, Default::default()).await.unwrap_err();
            agent.perform::<op::pins::ReadPins>(&peer, Default::default()).await.unwrap_err();
        }
        assert_eq!(pi.log_of("attempts").lines().count(), 63, "round {round}: the first of each kind that fits");
    }
    // A server that is broken in: asks without number, deeds that policy refuses.
    for n in 0..500 {
        let opened = pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": n}))).await.unwrap();
        pi.server().call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: opened.id.clone() }).await.unwrap();
        let wrong = op::hostname::HostnameRequest {
            hostname: "not a name".into(),
            dry_run: false,
            authorization: authorization(&json!({}), None),
        };
        pi.server().call::<op::hostname::SetHostname>(wrong).await.unwrap_err();
        pi.server()
            .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
            .await
            .unwrap();
    }
    assert_eq!(pi.log_of("operations"), "", "none of it was a deed");
    pi.now_ms.fetch_add(60_000, Ordering::SeqCst);
    pi.agent().perform::<op::throttled::ReadThrottled>(&peer(1), Default::default()).await.unwrap_err();
    let log = pi.log_of("attempts");
    assert!(log.contains("attempts of others") && log.len() < 64 * 1024, "{log}");
}

#[tokio::test(start_paused = true)]
async fn who_connects_and_says_nothing_is_not_kept() {
    let pi = Pi::new();
    let _served = Served::of(&pi);
    let mut silent = Wire::open(&pi).await;
    let mut greeted = Wire::greeted(&pi).await;
    assert_eq!(silent.hears().await, Value::Null, "it is hung up on");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(greeted.says(r#"{"id":3,"op":{"status":{}}}"#).await["id"], 3, "who greeted may wait");
}
