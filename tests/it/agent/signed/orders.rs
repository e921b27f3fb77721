//! Orders of the owner: what counts, and every way in which one does not.

use super::passkey::{Assertion, Authenticator};
use super::*;
use contract::config::{self, Reload, Sources};

const MINUTE: i64 = 60_000;

/// An order's document with a nonce of its own. `change` is the last to touch it.
fn document(device: &Device, operation: &str, args: Value, change: impl FnOnce(&mut Value)) -> String {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let mut nonce = [0; 32];
    nonce[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::SeqCst).to_be_bytes());
    let mut said = json!({
        "purpose": "raspi-mcp owner 1", "device": device.id, "boot": device.boot, "nonce": base64url::encode(&nonce),
        "time_ms": device.time_ms, "operation": operation, "args": args,
    });
    change(&mut said);
    said.to_string()
}

impl Person {
    fn signs(&self, document: String) -> SignedOrder {
        let signature = base64url::encode(&self.secret.sign(&order_challenge(&document)));
        let (key, kind) = (self.secret.public().id(), KeyKind::Cli);
        SignedOrder { document, key, kind, signature, authenticator_data: None, client_data: None }
    }

    fn orders(&self, device: &Device, operation: &str, args: Value) -> SignedOrder {
        self.signs(document(device, operation, args, |_| {}))
    }
}

impl Pi {
    async fn device(&self) -> Device {
        self.carried::<DescribeDevice>(Default::default()).await.unwrap()
    }

    async fn ordered(&self, order: SignedOrder) -> Result<Value, ToolError> {
        self.carried::<PerformOrder>(order).await
    }

    /// The order is refused with this code, and the machine stays halted.
    async fn refuses(&self, order: SignedOrder, code: ErrorCode, what: &str) {
        let error = self.ordered(order).await.expect_err(what);
        assert_eq!(error.code, code, "{what}: {error}");
        assert!(error.hint.is_some(), "{what}: {error}");
        assert!(self.is_halted().await, "{what}");
    }

    async fn halted() -> Self {
        let pi = Self::new();
        pi.agent().perform::<op::halt::SetHalt>(&root(), Default::default()).await.unwrap();
        pi
    }

    async fn is_halted(&self) -> bool {
        self.person::<op::halt::FollowHalt>(Default::default()).await.unwrap().halted.is_some()
    }
}

#[tokio::test]
async fn a_signed_order_lifts_a_halt_once_and_the_record_names_the_key() {
    let pi = Pi::halted().await;
    let anna = Person::enrolled("anna", &pi).await;
    let order = anna.orders(&pi.device().await, "lift_halt", json!({}));
    let done = pi.ordered(order.clone()).await.unwrap();
    assert_eq!((&done["lifted"], pi.is_halted().await), (&json!(true), false));
    let log = pi.log_of("operations");
    let line = log.lines().find(|line| line.contains("\"what\":\"order\"")).unwrap_or_else(|| panic!("{log}"));
    let fields: Value = serde_json::from_str(line).unwrap();
    let request = &fields["fields"]["request"];
    assert_eq!(
        (&request["operation"], &request["by"], &request["kind"], &request["key"]),
        (&json!("lift_halt"), &json!("anna"), &json!("cli"), &json!(anna.secret.public().id()))
    );
    // The same bytes again, on a machine that was halted since.
    pi.agent().perform::<op::halt::SetHalt>(&root(), Default::default()).await.unwrap();
    pi.refuses(order, ErrorCode::PermissionDenied, "replayed").await;
    let again = anna.orders(&pi.device().await, "lift_halt", json!({}));
    assert_eq!(pi.ordered(again).await.unwrap()["lifted"], true);
}

#[tokio::test]
async fn the_clients_own_order_counts() {
    let pi = Pi::halted().await;
    let anna = Person::enrolled("anna", &pi).await;
    let Device { id, boot, time_ms, .. } = pi.device().await;
    let order = SignedOrder::by_cli(&anna.secret, (&id, &boot, time_ms), "lift_halt", &json!({})).unwrap();
    pi.ordered(order).await.unwrap();
    assert!(!pi.is_halted().await);
}

#[tokio::test]
async fn no_byte_of_an_order_can_be_changed() {
    let pi = Pi::halted().await;
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::enrolled("ben", &pi).await);
    let device = pi.device().await;
    let good = anna.orders(&device, "lift_halt", json!({}));
    let with = |change: &dyn Fn(&mut SignedOrder)| {
        let mut order = good.clone();
        change(&mut order);
        order
    };
    let denied = ErrorCode::PermissionDenied;
    let reworded = good.document.replace("lift_halt", "list_approvers");
    pi.refuses(with(&|order| order.document.clone_from(&reworded)), denied, "another operation").await;
    pi.refuses(with(&|order| order.document.push(' ')), denied, "the same in other bytes").await;
    pi.refuses(with(&|order| order.signature = "AAAA".into()), denied, "another signature").await;
    pi.refuses(with(&|order| order.signature = "!".into()), denied, "no base64url").await;
    pi.refuses(with(&|order| order.key = ben.secret.public().id()), denied, "another's key").await;
    pi.refuses(with(&|order| order.kind = KeyKind::Passkey), denied, "another kind").await;
    pi.refuses(with(&|order| order.client_data = Some("e30".into())), denied, "data of a passkey").await;
    pi.refuses(Person::new("eve").orders(&device, "lift_halt", json!({})), denied, "a stranger's").await;
    // What was signed for another purpose: the challenge of an answer, and the document itself.
    let direct = base64url::encode(&anna.secret.sign(good.document.as_bytes()));
    pi.refuses(with(&|order| order.signature.clone_from(&direct)), denied, "the document signed directly").await;
    let answer = base64url::encode(&anna.secret.sign(&challenge(Decision::Approve, &good.document)));
    pi.refuses(with(&|order| order.signature.clone_from(&answer)), denied, "signed as an answer").await;
    pi.ordered(good).await.unwrap();
}

#[tokio::test]
async fn an_order_is_for_this_device_this_boot_and_this_moment() {
    let mut pi = Pi::halted().await;
    let anna = Person::enrolled("anna", &pi).await;
    let device = pi.device().await;
    let (denied, invalid) = (ErrorCode::PermissionDenied, ErrorCode::InvalidArgument);
    let with = |change: &dyn Fn(&mut Value)| anna.signs(document(&device, "lift_halt", json!({}), change));
    let other = Pi::new();
    other.agent().perform::<AddApprover>(&root(), anna.described()).await.unwrap();
    pi.refuses(anna.orders(&other.device().await, "lift_halt", json!({})), denied, "for another device").await;
    pi.refuses(with(&|said| said["purpose"] = json!("raspi-mcp ask 1")), denied, "another purpose").await;
    pi.refuses(with(&|said| said["boot"] = json!("x")), denied, "another boot").await;
    pi.refuses(with(&|said| said["nonce"] = json!("AAAA")), invalid, "a short nonce").await;
    pi.refuses(with(&|said| said["more"] = json!(1)), invalid, "an unknown field").await;
    pi.refuses(with(&|said| said["args"] = json!([])), invalid, "no object").await;
    pi.refuses(with(&|said| said["args"] = json!({"force": true})), invalid, "an unknown argument").await;
    pi.refuses(with(&|said| said["args"] = json!({"pad": "x".repeat(8200)})), invalid, "too long").await;
    pi.refuses(with(&|said| said["operation"] = json!("shell")), ErrorCode::FailedPrecondition, "no site").await;
    for (late, counts) in [(-5 * MINUTE - 1, false), (5 * MINUTE + 1, false), (5 * MINUTE, true)] {
        let order = with(&|said| said["time_ms"] = json!(device.time_ms - late));
        match counts {
            false => pi.refuses(order, ErrorCode::FailedPrecondition, "too old or too new").await,
            true => drop(pi.ordered(order).await.unwrap()),
        }
    }
    pi.agent().perform::<op::halt::SetHalt>(&root(), Default::default()).await.unwrap();
    let before = anna.orders(&device, "lift_halt", json!({}));
    pi.restarted_agent().await;
    pi.refuses(before, denied, "signed before the agent's start").await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_lets_no_order_be_given_twice() {
    let pi = Pi::halted().await;
    let anna = Person::enrolled("anna", &pi).await;
    let order = anna.orders(&pi.device().await, "lift_halt", json!({}));
    pi.ordered(order.clone()).await.unwrap();
    pi.agent().perform::<op::halt::SetHalt>(&root(), Default::default()).await.unwrap();
    pi.set_ms.store(60 * MINUTE, Ordering::SeqCst);
    let later = anna.orders(&pi.device().await, "list_approvers", json!({}));
    pi.ordered(later).await.unwrap();
    pi.set_ms.store(0, Ordering::SeqCst);
    pi.refuses(order, ErrorCode::PermissionDenied, "replayed after the clock went back").await;
}

#[tokio::test]
async fn a_browser_key_gives_no_orders_and_a_revoked_key_none_any_more() {
    let pi = Pi::halted().await;
    let ben = Person::new("ben");
    let described =
        NewApprover { kind: KeyKind::Browser, origin: Some("https://pi.local:8444".into()), ..ben.described() };
    pi.agent().perform::<AddApprover>(&root(), described).await.unwrap();
    let device = pi.device().await;
    let order = ben.orders(&device, "lift_halt", json!({}));
    let honest = SignedOrder { kind: KeyKind::Browser, ..order.clone() };
    pi.refuses(honest, ErrorCode::PermissionDenied, "a browser key").await;
    pi.refuses(order, ErrorCode::PermissionDenied, "a browser key that says it is a cli key").await;
    let anna = Person::enrolled("anna", &pi).await;
    let gone = anna.orders(&device, "lift_halt", json!({}));
    pi.agent().perform::<RevokeApprover>(&root(), RevokeRequest { name: "anna".into() }).await.unwrap();
    pi.refuses(gone, ErrorCode::PermissionDenied, "a revoked key").await;
}

#[tokio::test]
async fn a_passkey_orders_at_its_own_origin_with_a_counter_that_rises() {
    let pi = Pi::halted().await;
    let key = Authenticator::new();
    pi.agent().perform::<AddApprover>(&root(), key.described()).await.unwrap();
    let device = pi.device().await;
    let written = || document(&device, "lift_halt", json!({}), |_| {});
    let (one, other) = (written(), written());
    let denied = ErrorCode::PermissionDenied;
    let mut elsewhere = Assertion::of_order(&one, 7);
    elsewhere.origin = "https://evil.example.org:8444";
    pi.refuses(key.orders(&one, &elsewhere), denied, "another origin").await;
    pi.refuses(key.orders(&one, &Assertion::of_order(&other, 7)), denied, "about another order").await;
    pi.ordered(key.orders(&one, &Assertion::of_order(&one, 7))).await.unwrap();
    pi.agent().perform::<op::halt::SetHalt>(&root(), Default::default()).await.unwrap();
    pi.refuses(key.orders(&one, &Assertion::of_order(&one, 8)), denied, "the same order, signed again").await;
    pi.refuses(key.orders(&other, &Assertion::of_order(&other, 7)), denied, "a copied authenticator").await;
    pi.ordered(key.orders(&other, &Assertion::of_order(&other, 8))).await.unwrap();
}

#[tokio::test]
async fn no_number_of_strangers_orders_costs_an_enrolled_key_anything() {
    let pi = Pi::halted().await;
    let (anna, eve) = (Person::enrolled("anna", &pi).await, Person::new("eve"));
    let device = pi.device().await;
    let good = anna.orders(&device, "lift_halt", json!({}));
    let elsewhere = document(&device, "lift_halt", json!({}), |order| order["device"] = json!("another"));
    for _ in 0..100 {
        pi.refuses(eve.orders(&device, "lift_halt", json!({})), ErrorCode::PermissionDenied, "a stranger's").await;
        let named = SignedOrder { signature: "AAAA".into(), ..good.clone() };
        pi.refuses(named, ErrorCode::PermissionDenied, "a stranger's, in anna's name").await;
        let other = SignedOrder { key: anna.secret.public().id(), ..eve.signs(elsewhere.clone()) };
        pi.refuses(other, ErrorCode::PermissionDenied, "for another device, in anna's name").await;
    }
    pi.ordered(good).await.unwrap();
    let attempts = pi.log_of("attempts");
    assert!(attempts.contains("order refused") && attempts.contains(&eve.secret.public().id()), "{attempts}");
}

#[tokio::test]
async fn what_a_key_signed_wrong_is_counted_for_that_key_and_what_it_signs_right_counts_at_once() {
    let pi = Pi::halted().await;
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::enrolled("ben", &pi).await);
    let device = pi.device().await;
    let used = anna.orders(&device, "list_approvers", json!({}));
    pi.ordered(used.clone()).await.unwrap();
    let of_ben = ben.orders(&device, "list_approvers", json!({}));
    pi.ordered(of_ben.clone()).await.unwrap();
    // Somebody who carried it sends it again and again.
    for _ in 0..20 {
        pi.refuses(used.clone(), ErrorCode::PermissionDenied, "given before").await;
    }
    pi.refuses(used.clone(), ErrorCode::ResourceExhausted, "for the 21st time").await;
    pi.refuses(of_ben, ErrorCode::PermissionDenied, "of another key: counted for itself").await;
    pi.ordered(anna.orders(&device, "list_approvers", json!({}))).await.unwrap();
    pi.now_ms.fetch_add(MINUTE, Ordering::SeqCst);
    pi.refuses(used, ErrorCode::PermissionDenied, "in the next minute").await;
    pi.ordered(anna.orders(&device, "lift_halt", json!({}))).await.unwrap();
}

#[tokio::test]
async fn an_enrolled_key_enrols_and_revokes_and_the_last_one_is_told() {
    let pi = Pi::new();
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::new("ben"));
    let device = pi.device().await;
    let added = pi.ordered(anna.orders(&device, "add_approver", json!(ben.described()))).await.unwrap();
    assert_eq!(added["approver"]["added_by"], "anna");
    let listed = pi.ordered(ben.orders(&device, "list_approvers", json!({}))).await.unwrap();
    assert_eq!(listed["approvers"].as_array().unwrap().len(), 2);
    let revoke = |name: &str| json!({ "name": name });
    let gone = pi.ordered(ben.orders(&device, "revoke_approver", revoke("anna"))).await.unwrap();
    assert!(!gone["text"].as_str().unwrap().contains("last key"), "{gone}");
    let last = pi.ordered(ben.orders(&device, "revoke_approver", revoke("ben"))).await.unwrap();
    assert!(last["text"].as_str().unwrap().contains("it was the last key that may sign orders"), "{last}");
    let late = pi.ordered(ben.orders(&device, "list_approvers", json!({}))).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::PermissionDenied);
    for (operation, args) in [("add_approver", json!({})), ("revoke_approver", json!({"name": "a", "x": 1}))] {
        let anna = Person::enrolled(operation.split_once('_').unwrap().0, &pi).await;
        let error = pi.ordered(anna.orders(&device, operation, args)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{error}");
    }
}

#[tokio::test]
async fn a_machine_without_an_owner_takes_no_orders() {
    let pi = Pi::halted().await;
    let anna = Person::enrolled("anna", &pi).await;
    let folder = pi.settings.identity.path();
    std::fs::create_dir_all(folder).unwrap();
    let states = [r#"{"claimed":false}"#, "{", r#"{"claimed":true}"#];
    for (state, counts) in states.into_iter().zip([false, false, true]) {
        std::fs::write(folder.join("state.json"), state).unwrap();
        let order = anna.orders(&pi.device().await, "lift_halt", json!({}));
        match counts {
            false => pi.refuses(order, ErrorCode::PermissionDenied, state).await,
            true => drop(pi.ordered(order).await.unwrap()),
        }
    }
}

#[tokio::test]
async fn grants_and_tokens_are_written_as_at_the_console_and_nothing_else_is() {
    let places = tempdir().unwrap();
    let tools = raspi_mcp::registry::Registry::new(raspi_mcp::tools::NAMESPACES);
    let tools = tools.rows().map(|row| (row.name(), row.meta.mode)).collect();
    let sources = Sources::new(Places::below(places.path()), tools);
    let site = sources.places.site_dir.clone();
    let pi = Pi::with(|settings| {
        settings.site = raspi_mcp::owner::site(&Reload::of(sources.clone(), config::load_agent));
    });
    let anna = Person::enrolled("anna", &pi).await;
    let device = pi.device().await;
    let order = async |operation: &str, args: Value| pi.ordered(anna.orders(&device, operation, args)).await;

    let grant = json!({"tool": "gpio.write_pin", "pins": [17], "callers": ["loopback"]});
    let done = order("allow", grant.clone()).await.unwrap();
    assert!(done["text"].as_str().unwrap().contains("gpio.write_pin is open for loopback, on GPIO 17"), "{done}");
    let listed = order("list_grants", json!({})).await.unwrap();
    let kept = &listed["grants"][0];
    assert_eq!(
        (&kept["by"], &kept["pins"], &kept["callers"]),
        (&json!("anna (signed)"), &json!([17]), &json!(["loopback"]))
    );
    order("revoke", grant).await.unwrap();
    assert_eq!(order("list_grants", json!({})).await.unwrap()["grants"], json!([]));

    let hash = "a".repeat(64);
    let token = json!({"name": "phone", "role": "read_only", "sha256": hash});
    order("make_token", token.clone()).await.unwrap();
    let listed = order("list_tokens", json!({})).await.unwrap();
    assert_eq!((&listed["tokens"][0]["name"], listed.to_string().contains(&hash)), (&json!("phone"), false));
    assert_eq!(order("make_token", token).await.unwrap_err().code, ErrorCode::FailedPrecondition, "twice");
    order("revoke_token", json!({"name": "phone"})).await.unwrap();
    assert_eq!(std::fs::read_dir(&site).unwrap().count(), 0);

    for (operation, args) in [
        ("shell", json!({})),
        ("allow", json!({"tool": "gpio.write_pin", "by": "root"})),
        ("allow", json!({"tool": "gpio.write_pin", "for": ["loopback"]})),
        ("allow", json!({"tool": "gpio.write_pin", "pins": [1]})),
        ("allow", json!({"tool": "gpio.write_pin", "units": ["web.service"]})),
        ("allow", json!({"tool": "gpio.write_pin", "callers": ["nobody-of-this-name"]})),
        ("allow", json!({"tool": "gpio.write_pin", "callers": ["token:a\"]\n[[access.tokens]]\nname = \"eve"]})),
        ("allow", json!({"tool": "files.read_file", "paths": ["/etc"]})),
        ("allow", json!({"tool": "no.such_tool"})),
        ("allow", json!({})),
        ("revoke", json!({"tool": "gpio.write_pin", "ask": true})),
        ("make_token", json!({"name": "../x", "role": "admin", "sha256": hash})),
        ("make_token", json!({"name": "x", "role": "owner", "sha256": hash})),
        ("make_token", json!({"name": "x", "role": "admin", "sha256": "secret"})),
        ("make_token", json!({"name": "x", "role": "admin", "sha256": hash, "secret": "y"})),
        ("revoke_token", json!({})),
        ("list_tokens", json!({"all": true})),
    ] {
        let error = order(operation, args.clone()).await.expect_err(operation);
        let refused = [ErrorCode::InvalidArgument, ErrorCode::NotFound].contains(&error.code);
        assert!(refused, "{operation} {args}: {error}");
        assert_eq!(std::fs::read_dir(&site).unwrap().count(), 0, "{operation} {args}");
    }
}
