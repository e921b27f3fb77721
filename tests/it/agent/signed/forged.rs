//! Answers that do not count: forged, replayed, for another ask, boot or device, by the wrong kind of key.

use super::*;

/// Hands in `answer`, which must be refused and leave the ask as it is.
async fn refused(pi: &Pi, id: &str, answer: SignedAnswer, what: &str) {
    let error = pi.carried::<AnswerSigned>(answer).await.expect_err(what);
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{what}: {error}");
    assert!(error.hint.is_some(), "{what}: {error}");
    assert_eq!(pi.state(id).await, ::agent::AskState::Pending, "{what}");
}

#[tokio::test]
async fn no_field_of_an_answer_can_be_changed() {
    let pi = Pi::new();
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::enrolled("ben", &pi).await);
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    let good = anna.answers(&seen[0], Decision::Deny);
    let flip = |text: &str| {
        let mut bytes = base64url::decode(text).unwrap();
        bytes[5] ^= 1;
        base64url::encode(&bytes)
    };
    let id = &opened.id;
    let with = |change: &dyn Fn(&mut SignedAnswer)| {
        let mut answer = good.clone();
        change(&mut answer);
        answer
    };
    refused(&pi, id, with(&|answer| answer.decision = Decision::Approve), "a no turned into a yes").await;
    refused(&pi, id, with(&|answer| answer.nonce = flip(&answer.nonce)), "another nonce").await;
    refused(&pi, id, with(&|answer| answer.signature = flip(&answer.signature)), "another signature").await;
    refused(&pi, id, with(&|answer| answer.signature = String::new()), "no signature").await;
    refused(&pi, id, with(&|answer| answer.signature = "!".into()), "no base64url").await;
    refused(&pi, id, with(&|answer| answer.key = ben.secret.public().id()), "another's key").await;
    refused(&pi, id, with(&|answer| answer.key = Person::new("eve").secret.public().id()), "a stranger's key").await;
    refused(&pi, id, with(&|answer| answer.kind = KeyKind::Passkey), "another kind").await;
    refused(&pi, id, with(&|answer| answer.client_data = Some("e30".into())), "data of a passkey").await;
    pi.carried::<AnswerSigned>(good).await.unwrap();
}

#[tokio::test]
async fn an_answer_is_for_one_ask_once() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let first = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let second = pi.opened("gpio.write_pin", json!({"pin": 5})).await;
    let seen = anna.sees_each(&pi, [&first, &second]).await;
    let yes = anna.answers(&seen[0], Decision::Approve);
    let crossed = SignedAnswer { ask: second.id.clone(), ..yes.clone() };
    refused(&pi, &second.id, crossed, "the answer to another ask").await;
    let crossed = SignedAnswer { ask: second.id.clone(), nonce: seen[1].1.nonce.clone(), ..yes.clone() };
    refused(&pi, &second.id, crossed, "with its nonce too").await;
    pi.carried::<AnswerSigned>(yes.clone()).await.unwrap();
    assert_eq!(pi.carried::<AnswerSigned>(yes).await.unwrap_err().code, ErrorCode::FailedPrecondition, "replayed");
    assert_eq!(pi.state(&first.id).await, ::agent::AskState::Approved);
}

#[tokio::test]
async fn an_answer_does_not_outlive_the_agents_start() {
    let mut pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let before = anna.sees(&pi).await;
    pi.restarted_agent().await;
    // The same call asks anew.
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let stale = SignedAnswer { ask: opened.id.clone(), ..anna.answers(&before[0], Decision::Approve) };
    refused(&pi, &opened.id, stale.clone(), "before it was shown").await;
    anna.sees(&pi).await;
    refused(&pi, &opened.id, stale, "after it was shown").await;
}

#[tokio::test]
async fn another_devices_answer_is_none() {
    let (pi, other) = (Pi::new(), Pi::new());
    let anna = Person::enrolled("anna", &pi).await;
    other.agent().perform::<AddApprover>(&root(), anna.described()).await.unwrap();
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    other.opened("gpio.write_pin", json!({"pin": 4})).await;
    let (here, there) = (anna.sees(&pi).await, anna.sees(&other).await);
    assert_ne!(here[0].1.device, there[0].1.device);
    let mut crossed = anna.answers(&there[0], Decision::Approve);
    (crossed.ask, crossed.nonce) = (opened.id.clone(), here[0].1.nonce.clone());
    refused(&pi, &opened.id, crossed, "signed for another device").await;
    // And its ask is none for who knows this device.
    let error = there[0].0.open(&here[0].1.device).unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn an_ask_that_was_touched_is_not_opened() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let (signed, shown) = &anna.sees(&pi).await[0];
    let touched = SignedAsk { document: signed.document.replace("\"pin\":4", "\"pin\":5"), ..signed.clone() };
    assert_ne!(touched.document, signed.document);
    assert_eq!(touched.open(&shown.device).unwrap_err().code, ErrorCode::PermissionDenied);
    // Signed by a server that was taken over, with a key of its own.
    let eve = Person::new("eve").secret;
    let message = [b"raspi-mcp ask 1\0".as_slice(), touched.document.as_bytes()].concat();
    let forged = SignedAsk { signature: base64url::encode(&eve.sign(&message)), key: eve.public(), ..touched };
    assert_eq!(forged.open(&shown.device).unwrap_err().code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn an_expired_ask_takes_no_answer() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    pi.now_ms.fetch_add(301_000, Ordering::SeqCst);
    let late = pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Approve)).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::FailedPrecondition);
    assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Expired);
}

#[tokio::test]
async fn a_browser_key_denies_everything_and_approves_little() {
    let pi = Pi::new();
    let ben = Person::new("ben");
    let described =
        NewApprover { kind: KeyKind::Browser, origin: Some("https://pi.local:8444".into()), ..ben.described() };
    pi.agent().perform::<AddApprover>(&root(), described).await.unwrap();
    let anna = Person::enrolled("anna", &pi).await;
    let reboot = pi.opened("system.reboot", kernel_update()).await;
    let pin = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let unknown = pi.opened("weather.change", json!({})).await;
    let seen = anna.sees_each(&pi, [&reboot, &pin, &unknown]).await;
    let by_browser = |at: usize, decision| SignedAnswer { kind: KeyKind::Browser, ..ben.answers(&seen[at], decision) };
    assert_eq!(seen[0].1.kinds, [KeyKind::Passkey, KeyKind::Cli]);
    assert_eq!(seen[1].1.kinds, KeyKind::ALL);
    refused(&pi, &reboot.id, by_browser(0, Decision::Approve), "a restart").await;
    refused(&pi, &unknown.id, by_browser(2, Decision::Approve), "a tool that nobody knows").await;
    refused(&pi, &pin.id, ben.answers(&seen[1], Decision::Approve), "a browser key that says it is a cli key").await;
    pi.carried::<AnswerSigned>(by_browser(1, Decision::Approve)).await.unwrap();
    pi.carried::<AnswerSigned>(by_browser(0, Decision::Deny)).await.unwrap();
}

#[tokio::test]
async fn no_number_of_wrong_answers_keeps_a_right_one_out() {
    let pi = Pi::new();
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::enrolled("ben", &pi).await);
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    let good = anna.answers(&seen[0], Decision::Approve);
    let as_anna = |signature: String| SignedAnswer { signature, ..good.clone() };
    // By a stranger, in anna's name, in anna's name with ben's signature, and about a nonce that nobody was given.
    let wrong = [
        SignedAnswer { key: "00".into(), ..good.clone() },
        as_anna("AAAA".into()),
        as_anna(ben.answers(&seen[0], Decision::Approve).signature),
        SignedAnswer { nonce: "AAAA".into(), ..good.clone() },
    ];
    for _ in 0..50 {
        for bad in &wrong {
            refused(&pi, &opened.id, bad.clone(), "not signed by its key").await;
        }
    }
    let proof = anna.proof(&pi.carried::<DescribeDevice>(Default::default()).await.unwrap());
    for _ in 0..50 {
        let bad = ListProof { signature: "AAAA".into(), ..proof.clone() };
        pi.carried::<ListSigned>(ListSignedRequest { proof: Some(bad), known: None }).await.unwrap_err();
    }
    assert_eq!(anna.sees(&pi).await.len(), 1);
    pi.carried::<AnswerSigned>(good).await.unwrap();
}
