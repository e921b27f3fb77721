//! Asking a person: once, for this call, for a while.

use super::*;
use ::agent::AskState;
use base::error::ErrorCode;

#[tokio::test(start_paused = true)]
async fn the_server_waits_and_wakes_when_a_person_answers() {
    let pi = Pi::new();
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap();
    assert_eq!(opened.id.len(), 6);
    assert_eq!(opened.state, AskState::Pending);

    let waiter = tokio::spawn({
        let (server, id) = (server.clone(), opened.id.clone());
        async move { server.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&id, Duration::from_secs(200))).await }
    });
    tokio::task::yield_now().await;
    pi.says(&opened, true).await.unwrap();
    let seen = waiter.await.unwrap().unwrap();
    assert_eq!((seen.state, seen.by.as_deref()), (AskState::Approved, Some("pi")));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_without_an_answer_too() {
    let pi = Pi::new();
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let seen = server
        .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&opened.id, Duration::from_secs(20)))
        .await
        .unwrap();
    assert_eq!(seen.state, AskState::Pending);
    let people_see = pi.person::<op::asks::ListAsks>(Default::default()).await.unwrap();
    assert_eq!(people_see, [seen]);
}

#[tokio::test(start_paused = true)]
async fn who_follows_hears_of_each_ask_that_opens_is_answered_or_expires() {
    let pi = Pi::new();
    let server = pi.server();
    let open = |pin: u8| server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": pin})));
    let follow = |known: Option<Vec<String>>| server.call::<op::asks::FollowAsks>(op::asks::FollowRequest { known });
    let ids = |asks: Vec<::agent::Ask>| asks.into_iter().map(|ask| ask.id).collect::<Vec<_>>();
    assert!(follow(None).await.unwrap().is_empty(), "at once");
    let (seen, first) = tokio::join!(follow(Some(Vec::new())), open(4));
    let first = first.unwrap();
    let known = Some(ids(seen.unwrap()));
    assert_eq!(known, Some(vec![first.id.clone()]));
    let (seen, answered) = tokio::join!(follow(known.clone()), pi.says(&first, true));
    answered.unwrap();
    assert!(seen.unwrap().is_empty());
    // Nothing happens: the answer is the same after a minute, and another one once the ask has expired.
    let second = open(5).await.unwrap();
    let known = Some(vec![second.id.clone()]);
    let began = tokio::time::Instant::now();
    assert_eq!(ids(follow(known.clone()).await.unwrap()), [second.id]);
    assert_eq!(began.elapsed().as_secs(), 60);
    pi.pass(301).await;
    assert!(follow(known).await.unwrap().is_empty(), "expired");
}

#[tokio::test]
async fn an_approval_is_good_for_one_call() {
    let pi = Pi::new();
    let server = pi.server();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let opened = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    let redeem = || redeem(&server, &opened.id, &request);

    assert_eq!(redeem().await.unwrap_err().code, ErrorCode::PermissionDenied, "nobody has answered");
    pi.says(&opened, true).await.unwrap();
    let approval = redeem().await.unwrap();
    assert_eq!((approval.by.as_str(), approval.how.as_str()), ("pi", "raspi-mcp approve"));
    let again = redeem().await.unwrap_err();
    assert_eq!(again.code, ErrorCode::PermissionDenied);
    assert!(again.message.contains("used before"), "{again}");
}

#[tokio::test]
async fn an_approval_is_for_one_tool_one_caller_and_these_arguments() {
    let pi = Pi::new();
    let server = pi.server();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let opened = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let other = canonical::sha256_hex(&json!({"pin": 5}));
    for (tool, caller, hash, differs) in [
        ("gpio.write_pin", "token:fleet", other.as_str(), "arguments"),
        ("gpio.write_pin", "stdio", &request.args_sha256, "caller"),
        ("gpio.set_pwm", "token:fleet", &request.args_sha256, "tool"),
    ] {
        let call =
            AskRequest { tool: tool.into(), principal: caller.into(), args_sha256: hash.into(), ..request.clone() };
        let error = redeem(&server, &opened.id, &call).await.unwrap_err();
        assert_eq!((error.code, &error.details["differs"]), (ErrorCode::PermissionDenied, &json!(differs)));
    }
    redeem(&server, &opened.id, &request).await.unwrap();
}

#[tokio::test]
async fn a_no_is_a_no_for_a_while() {
    let pi = Pi::new();
    let server = pi.server();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let opened = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.says(&opened, false).await.unwrap();
    let again = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    assert_eq!((again.id == opened.id, again.state), (true, AskState::Denied), "nobody is nagged");
    pi.now_ms.fetch_add(301_000, Ordering::SeqCst);
    assert_eq!(server.call::<op::asks::OpenAsk>(request).await.unwrap().state, AskState::Pending);
}

#[tokio::test(start_paused = true)]
async fn questions_and_answers_expire() {
    let pi = Pi::new();
    let server = pi.server();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let unanswered = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.pass(300).await;
    assert_eq!(
        server
            .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&unanswered.id, Duration::ZERO))
            .await
            .unwrap()
            .state,
        AskState::Expired
    );
    assert_eq!(pi.says(&unanswered, true).await.unwrap_err().code, ErrorCode::FailedPrecondition);

    let unused = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    assert_ne!(unused.id, unanswered.id);
    pi.says(&unused, true).await.unwrap();
    pi.pass(300).await;
    let error = redeem(&server, &unused.id, &request).await.unwrap_err();
    assert!(error.message.contains("has expired"), "{error}");
}

#[tokio::test]
async fn a_call_made_again_finds_its_question() {
    let pi = Pi::new();
    let server = pi.server();
    let first =
        server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4, "value": "high"}))).await.unwrap();
    let again =
        server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"value": "high", "pin": 4}))).await.unwrap();
    assert_eq!(first.id, again.id, "the order of the keys is no difference");
}

#[tokio::test]
async fn one_caller_cannot_crowd_out_the_others() {
    let pi = Pi::new();
    let server = pi.server();
    for pin in 0..4 {
        server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": pin}))).await.unwrap();
    }
    let fifth = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap_err();
    assert_eq!(fifth.code, ErrorCode::ResourceExhausted);
    assert!(fifth.message.contains("4 approvals that token:fleet asked for"), "{fifth}");
    // Signed in at the page it is the same party, and so are all credentials of one owner.
    let mut next = 100;
    let mut open = |principal: &str, party: Option<&str>, admin: bool| {
        next += 1;
        let request = AskRequest {
            principal: principal.into(),
            party: party.map(str::to_owned),
            admin,
            ..ask("gpio.write_pin", json!({"pin": next}))
        };
        server.call::<op::asks::OpenAsk>(request)
    };
    let refused = |error: ToolError| (error.code, error.details["limit"].clone());
    assert_eq!(refused(open("page:fleet", None, false).await.unwrap_err()), (fifth.code, json!(4)));
    for n in 0..4 {
        open(&format!("token:of-ann-{n}"), Some("owner:ann"), false).await.unwrap();
    }
    assert_eq!(refused(open("token:another", Some("owner:ann"), false).await.unwrap_err()), (fifth.code, json!(4)));
    for n in 0..20 {
        let at = if n % 2 == 0 { "page" } else { "token" };
        open(&format!("{at}:{}", n / 4), None, false).await.unwrap();
    }
    let full = open("token:last", None, false).await.unwrap_err();
    assert!(full.message.contains("28 approvals already wait") && full.message.contains("for admins"), "{full}");
    // An admin is asked about all the same, and its asks tell a person no more than before.
    let asked = open("token:boss", Some("owner:ann"), true).await.unwrap();
    assert_eq!((asked.request.party, asked.request.admin), (None, false));
    for _ in 0..3 {
        open("uid:0", None, true).await.unwrap();
    }
    let all = open("uid:0", None, true).await.unwrap_err();
    assert!(all.message.contains("32 approvals already wait, of all callers"), "{all}");
}

#[tokio::test]
async fn a_no_is_not_pushed_out_by_asks_that_are_withdrawn() {
    let pi = Pi::new();
    let server = pi.server();
    let denied = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap();
    pi.says(&denied, false).await.unwrap();
    for n in 100..300 {
        let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": n}))).await.unwrap();
        server.call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: opened.id.clone() }).await.unwrap();
    }
    let again = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": 4}))).await.unwrap();
    assert_eq!((again.id, again.state), (denied.id, AskState::Denied));
}

#[tokio::test]
async fn a_withdrawn_question_cannot_be_answered() {
    let pi = Pi::new();
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    server.call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: opened.id.clone() }).await.unwrap();
    assert_eq!(pi.says(&opened, true).await.unwrap_err().code, ErrorCode::FailedPrecondition);
}

#[tokio::test]
async fn the_server_can_never_answer_itself() {
    let pi = Pi::new();
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let error = server
        .call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: opened.id.clone(), approve: true })
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert_eq!(
        server.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&opened.id, Duration::ZERO)).await.unwrap().state,
        AskState::Pending
    );
    assert!(pi.log().contains("\"refused\""), "and the agent's log has it: {}", pi.log());
}

#[tokio::test]
async fn ids_are_taken_as_people_type_them() {
    let pi = Pi::new();
    let opened = pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let typed = format!(" {} ", opened.id.to_lowercase().replace('0', "o").replace('1', "l"));
    pi.person::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: typed, approve: true }).await.unwrap();
    let error = pi
        .person::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: "nope".into(), approve: true })
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn after_a_restart_of_the_agent_open_questions_are_expired_not_forgotten() {
    let mut pi = Pi::new();
    let request = ask("gpio.write_pin", json!({}));
    let opened = pi.server().call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    pi.restart_agent();
    let server = pi.server();
    assert_eq!(
        server.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&opened.id, Duration::ZERO)).await.unwrap().state,
        AskState::Expired
    );
    let error = redeem(&server, &opened.id, &request).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn nobody_is_asked_about_arguments_nobody_can_read() {
    let pi = Pi::new();
    let server = pi.server();
    let whole = json!({"text": "x".repeat(64 * 1024)});
    let opened = server.call::<op::asks::OpenAsk>(ask("camera.capture", whole.clone())).await.unwrap();
    assert_eq!(opened.request.args, whole, "64 KiB are shown whole");
    let list: Vec<String> = (0..100).map(|_| "y".repeat(1000)).collect();
    for args in [json!({"text": "x".repeat(64 * 1024 + 1)}), json!({"list": list})] {
        let error = server.call::<op::asks::OpenAsk>(ask("camera.capture", args)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ContentTooLarge);
    }
    for long in [
        AskRequest { summary: "x".repeat(5000), ..ask("camera.capture", json!({})) },
        AskRequest { principal: "x".repeat(5000), ..ask("camera.capture", json!({})) },
        ask(&"x".repeat(5000), json!({})),
    ] {
        assert_eq!(server.call::<op::asks::OpenAsk>(long).await.unwrap_err().code, ErrorCode::ContentTooLarge);
    }
}

#[tokio::test]
async fn asks_that_are_as_many_and_as_long_as_can_be_reach_the_person() {
    let pi = Pi::now();
    let stop = tokio_util::sync::CancellationToken::new();
    let listener = agent::bind(&pi.settings.socket, false).unwrap();
    let serving = tokio::spawn(agent::serve(listener, pi.agent(), stop.clone()));
    let link = AgentLink::Socket(agent::Client::new(&pi.settings.socket));
    for n in 0..32 {
        // Of control characters JSON makes six bytes each: the most that a line takes.
        let args = json!({"n": n, "a": "\u{1}".repeat(8_000), "b": "x".repeat(48_000)});
        // Four of each, and the last four places are for admins.
        let request =
            AskRequest { principal: format!("token:{}", n / 4), admin: n >= 28, ..ask("gpio.write_pin", args) };
        link.call::<op::asks::OpenAsk>(request).await.unwrap();
    }
    let asks = link.get::<op::asks::ListAsks>().await.unwrap();
    assert_eq!(asks.len(), 32);
    assert!(asks.iter().all(|ask| ask.request.args["a"].as_str().unwrap().len() == 8_000));
    let bytes = std::fs::metadata(pi.dir.path().join("agent/asks.json")).unwrap().len();
    println!("32 asks of the longest kind are {bytes} bytes on the card");
    assert!(bytes < 32 * 100 * 1024, "{bytes}");
    for ask in asks {
        link.call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: ask.id.clone(), approve: false }).await.unwrap();
    }
    let bytes = std::fs::metadata(pi.dir.path().join("agent/asks.json")).unwrap().len();
    assert!(bytes < 64 * 1024, "what is settled keeps no arguments: {bytes}");
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_makes_no_ask_live_longer_or_shorter() {
    for set in [-86_400_000, -1, 86_400_000] {
        let pi = Pi::new();
        let server = pi.server();
        let request = ask("gpio.write_pin", json!({"pin": 4}));
        let redeem = |id: String| {
            let (server, request) = (server.clone(), request.clone());
            async move { redeem(&server, &id, &request).await }
        };
        let unanswered = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
        pi.set_ms.store(set, Ordering::SeqCst);
        let seen = server
            .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&unanswered.id, Duration::ZERO))
            .await
            .unwrap();
        assert_eq!(seen.state, AskState::Pending, "{set}: its time goes on");
        let shown_ms = seen.expires_ms - (pi.now_ms.load(Ordering::SeqCst) + set);
        assert!((299_000..=301_000).contains(&shown_ms), "{set}: what is shown follows the clock: {shown_ms}");
        pi.pass(299).await;
        assert_eq!(
            server
                .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&unanswered.id, Duration::ZERO))
                .await
                .unwrap()
                .state,
            AskState::Pending,
            "{set}"
        );
        pi.pass(1).await;
        assert_eq!(
            server
                .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&unanswered.id, Duration::ZERO))
                .await
                .unwrap()
                .state,
            AskState::Expired,
            "{set}"
        );

        // An answer's time likewise, and a no's.
        let approved = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
        pi.says(&approved, true).await.unwrap();
        pi.set_ms.store(-2 * set, Ordering::SeqCst);
        pi.pass(300).await;
        assert!(redeem(approved.id).await.unwrap_err().message.contains("has expired"), "{set}");
        let denied = server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
        pi.says(&denied, false).await.unwrap();
        pi.set_ms.store(set, Ordering::SeqCst);
        pi.pass(299).await;
        assert_eq!(server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap().state, AskState::Denied, "{set}");
        pi.pass(1).await;
        assert_eq!(server.call::<op::asks::OpenAsk>(request.clone()).await.unwrap().state, AskState::Pending, "{set}");
    }
}

#[tokio::test]
async fn a_no_outlives_the_agent_and_is_not_for_ever_by_a_clock_that_was_set() {
    let mut pi = Pi::new();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let opened = pi.server().call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.says(&opened, false).await.unwrap();
    pi.restart_agent();
    assert_eq!(pi.server().call::<op::asks::OpenAsk>(request.clone()).await.unwrap().state, AskState::Denied);
    pi.set_ms.store(-86_400_000, Ordering::SeqCst);
    pi.restart_agent();
    pi.now_ms.fetch_add(301_000, Ordering::SeqCst);
    assert_eq!(pi.server().call::<op::asks::OpenAsk>(request).await.unwrap().state, AskState::Pending);
}

#[tokio::test]
async fn elicitation_counts_only_for_clients_the_agents_configuration_lists() {
    let pi = Pi::with(|settings| settings.policy.elicitation_clients.push("claude-code".into()));
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let error = server
        .call::<op::asks::AnswerElicited>(op::asks::ElicitedRequest {
            id: opened.id.clone(),
            approve: true,
            client: "helpful-bot".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let answered = server
        .call::<op::asks::AnswerElicited>(op::asks::ElicitedRequest {
            id: opened.id.clone(),
            approve: true,
            client: "claude-code".into(),
        })
        .await
        .unwrap();
    assert_eq!(answered.how.as_deref(), Some("elicitation by claude-code"));
    assert_eq!(answered.by.as_deref(), Some("token:fleet"));
}

#[tokio::test]
async fn a_denial_outlives_a_restart_beside_what_another_release_stored() {
    let mut pi = Pi::new();
    let request = ask("gpio.write_pin", json!({"pin": 4}));
    let opened = pi.server().call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    pi.says(&opened, false).await.unwrap();
    let file = pi.dir.path().join("agent/asks.json");
    let mut asks: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    asks[0]["voice"] = json!("a newer release's");
    asks.insert(0, json!({"id": "ABCDEF", "state": "postponed"}));
    std::fs::write(&file, json!(asks).to_string()).unwrap();
    pi.restarted_agent().await;
    let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
    assert!(faults.iter().any(|fault| fault.contains("one of the asks")), "{faults:?}");
    assert_eq!(pi.server().call::<op::asks::OpenAsk>(request).await.unwrap().state, AskState::Denied);
}
