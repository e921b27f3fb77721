//! Which kinds of keys may approve a tool: what the configuration takes away, and what nothing gives.

use super::*;
use contract::config::{self, APPROVER_KINDS, ApproverKinds, Reload, Sources, fragment_of};

/// A person with a `browser` key beside one with a `cli` key, on a machine with these `approval.kinds`.
async fn two(kinds: &[&str]) -> (Pi, Person, Person) {
    let pi = Pi::with(|settings| settings.policy.approver_kinds = ApproverKinds::from_entries(kinds.iter().copied()));
    let (anna, ben) = people(&pi).await;
    (pi, anna, ben)
}

async fn people(pi: &Pi) -> (Person, Person) {
    let (anna, ben) = (Person::enrolled("anna", pi).await, Person::new("ben"));
    let origin = Some("https://pi.local:8444".into());
    let described = NewApprover { kind: KeyKind::Browser, origin, ..ben.described() };
    pi.agent().perform::<AddApprover>(&root(), described).await.unwrap();
    (anna, ben)
}

fn by_browser(ben: &Person, seen: &(SignedAsk, AskDocument), decision: Decision) -> SignedAnswer {
    SignedAnswer { kind: KeyKind::Browser, ..ben.answers(seen, decision) }
}

#[test]
fn the_configuration_and_the_keys_have_the_same_kinds() {
    let mut named = KeyKind::ALL.map(KeyKind::name).to_vec();
    named.sort_unstable();
    let mut listed = APPROVER_KINDS.to_vec();
    listed.sort_unstable();
    assert_eq!(named, listed);
}

#[tokio::test]
async fn a_narrowed_tool_refuses_the_kinds_that_were_taken_away() {
    let (pi, anna, ben) = two(&["gpio.write_pin=cli"]).await;
    let pin = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    assert_eq!(seen[0].1.kinds, [KeyKind::Cli]);
    let refused = pi.carried::<AnswerSigned>(by_browser(&ben, &seen[0], Decision::Approve)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    assert!(refused.message.contains("kind browser does not count for gpio.write_pin"), "{refused}");
    let passkey = SignedAnswer { kind: KeyKind::Passkey, ..anna.answers(&seen[0], Decision::Approve) };
    let refused = pi.carried::<AnswerSigned>(passkey).await.unwrap_err();
    assert!(refused.message.contains("kind passkey does not count"), "{refused}");
    // Everybody may say no.
    pi.carried::<AnswerSigned>(by_browser(&ben, &seen[0], Decision::Deny)).await.unwrap();
    assert_eq!(pi.state(&pin.id).await, ::agent::AskState::Denied);

    let pin = pi.opened("gpio.write_pin", json!({"pin": 5})).await;
    let seen = anna.sees(&pi).await;
    pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Approve)).await.unwrap();
    assert_eq!(pi.state(&pin.id).await, ::agent::AskState::Approved);
}

#[tokio::test]
async fn no_setting_lets_a_browser_key_approve_a_restart() {
    let every = ["*=browser+cli", "system=browser+cli", "system.reboot=browser+cli", "weather=browser+cli"];
    let (pi, anna, ben) = two(&every).await;
    let reboot = pi.opened("system.reboot", kernel_update()).await;
    let unknown = pi.opened("weather.change", json!({})).await;
    for (shown, opened) in anna.sees_each(&pi, [&reboot, &unknown]).await.iter().zip([&reboot, &unknown]) {
        assert_eq!(shown.1.kinds, [KeyKind::Cli]);
        let refused = pi.carried::<AnswerSigned>(by_browser(&ben, shown, Decision::Approve)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied);
        assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Pending);
    }
}

#[tokio::test]
async fn the_agent_reads_the_setting_itself_and_again_after_a_change() {
    let site = tempdir().unwrap();
    let sources = Sources::new(Places::below(site.path()), vec![("gpio.write_pin", contract::meta::Mode::Allow)]);
    let fragment = fragment_of(&sources.places.site_dir, "gpio");
    let pi = Pi::with(|settings| settings.reload = Reload::of(sources, config::load_agent));
    let (anna, ben) = people(&pi).await;
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    assert_eq!(seen[0].1.kinds, KeyKind::ALL);
    std::fs::create_dir_all(fragment.parent().unwrap()).unwrap();
    std::fs::write(&fragment, "[approval]\nkinds = [\"gpio=cli\"]\n").unwrap();
    // Shown before the change, and judged after it.
    let refused = pi.carried::<AnswerSigned>(by_browser(&ben, &seen[0], Decision::Approve)).await.unwrap_err();
    assert!(refused.message.contains("kind browser does not count"), "{refused}");
    pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Approve)).await.unwrap();
}
