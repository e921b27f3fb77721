//! Passkeys: what an authenticator signs, and each way in which it is not what was asked.

use super::*;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use sha2::{Digest, Sha256};

pub(super) const ORIGIN: &str = "https://approve.example.org:8444";
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// An authenticator as WebAuthn describes one.
pub(super) struct Authenticator(EcdsaKeyPair);

/// What it is asked to sign, and what it makes of it.
pub(super) struct Assertion {
    kind: &'static str,
    pub(super) origin: &'static str,
    cross_origin: bool,
    site: &'static str,
    flags: u8,
    counter: u32,
    challenge: Vec<u8>,
}

impl Authenticator {
    pub(super) fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    fn spki(&self) -> Vec<u8> {
        [P256.as_slice(), self.0.public_key().as_ref()].concat()
    }

    pub(super) fn described(&self) -> NewApprover {
        NewApprover {
            name: "anna".into(),
            kind: KeyKind::Passkey,
            key: base64url::encode(&self.spki()),
            origin: Some(ORIGIN.into()),
        }
    }

    /// Signature, authenticator data and client data.
    fn signs(&self, assertion: &Assertion) -> [String; 3] {
        let client = json!({
            "type": assertion.kind, "challenge": base64url::encode(&assertion.challenge), "origin": assertion.origin,
            "crossOrigin": assertion.cross_origin, "other_keys_can_be_added_here": "as browsers do",
        });
        let client = client.to_string();
        let mut data = Sha256::digest(assertion.site.as_bytes()).to_vec();
        data.push(assertion.flags);
        data.extend(assertion.counter.to_be_bytes());
        let message = [data.as_slice(), &Sha256::digest(client.as_bytes())].concat();
        let signature = self.0.sign(&SystemRandom::new(), &message).unwrap();
        [signature.as_ref(), &data, client.as_bytes()].map(base64url::encode)
    }

    /// The id of its key.
    fn id(&self) -> String {
        canonical::hex(&Sha256::digest(self.spki()))
    }

    pub(super) fn orders(&self, document: &str, assertion: &Assertion) -> SignedOrder {
        let [signature, authenticator_data, client_data] = self.signs(assertion);
        SignedOrder {
            document: document.into(),
            key: self.id(),
            kind: KeyKind::Passkey,
            signature,
            authenticator_data: Some(authenticator_data),
            client_data: Some(client_data),
        }
    }

    fn answers(&self, ask: &AskDocument, decision: Decision, assertion: &Assertion) -> SignedAnswer {
        let [signature, authenticator_data, client_data] = self.signs(assertion);
        SignedAnswer {
            ask: ask.ask.clone(),
            nonce: ask.nonce.clone(),
            decision,
            key: self.id(),
            kind: KeyKind::Passkey,
            signature,
            authenticator_data: Some(authenticator_data),
            client_data: Some(client_data),
        }
    }
}

impl Assertion {
    /// About an order.
    pub(super) fn of_order(document: &str, counter: u32) -> Self {
        Self { challenge: order_challenge(document).to_vec(), ..Self::good("", counter) }
    }

    fn good(document: &str, counter: u32) -> Self {
        Self {
            kind: "webauthn.get",
            origin: ORIGIN,
            cross_origin: false,
            site: "approve.example.org",
            flags: 0b101,
            counter,
            challenge: challenge(Decision::Approve, document).to_vec(),
        }
    }
}

#[tokio::test]
async fn a_passkeys_answer_counts_only_as_it_was_asked_for() {
    let pi = Pi::new();
    let watcher = Person::enrolled("watcher", &pi).await;
    let key = Authenticator::new();
    pi.agent().perform::<AddApprover>(&root(), key.described()).await.unwrap();
    let opened = pi.opened("system.reboot", kernel_update()).await;
    let (signed, shown) = watcher.sees(&pi).await.remove(0);
    let good = || Assertion::good(&signed.document, 7);
    for (what, wrong) in [
        ("a registration", Assertion { kind: "webauthn.create", ..good() }),
        ("another site with the right id", Assertion { origin: "https://evil.example.org:8444", ..good() }),
        ("another port", Assertion { origin: "https://approve.example.org", ..good() }),
        ("another scheme", Assertion { origin: "http://approve.example.org:8444", ..good() }),
        ("inside another page", Assertion { cross_origin: true, ..good() }),
        ("another id", Assertion { site: "example.org", ..good() }),
        ("the origin as id", Assertion { site: "approve.example.org:8444", ..good() }),
        ("nobody present", Assertion { flags: 0b100, ..good() }),
        ("nobody verified", Assertion { flags: 0b001, ..good() }),
        ("another challenge", Assertion { challenge: challenge(Decision::Deny, &signed.document).to_vec(), ..good() }),
        ("the challenge of a list", Assertion { challenge: vec![0; 32], ..good() }),
    ] {
        let error = pi.carried::<AnswerSigned>(key.answers(&shown, Decision::Approve, &wrong)).await.expect_err(what);
        assert_eq!(error.code, ErrorCode::PermissionDenied, "{what}: {error}");
        assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Pending, "{what}");
    }
    let mut stripped = key.answers(&shown, Decision::Approve, &good());
    stripped.authenticator_data = None;
    assert!(pi.carried::<AnswerSigned>(stripped).await.is_err());
    let other = Authenticator::new();
    let mut swapped = other.answers(&shown, Decision::Approve, &good());
    swapped.key = canonical::hex(&Sha256::digest(key.spki()));
    assert!(pi.carried::<AnswerSigned>(swapped).await.is_err(), "another authenticator's signature");
    let answered = pi.carried::<AnswerSigned>(key.answers(&shown, Decision::Approve, &good())).await.unwrap();
    assert_eq!(answered.state, ::agent::AskState::Approved);
}

#[tokio::test]
async fn a_counter_that_does_not_rise_tells_of_a_copy_also_after_a_restart() {
    let mut pi = Pi::new();
    let key = Authenticator::new();
    pi.agent().perform::<AddApprover>(&root(), key.described()).await.unwrap();
    let watcher = Person::enrolled("watcher", &pi).await;
    pi.opened("system.reboot", kernel_update()).await;
    let (signed, shown) = watcher.sees(&pi).await.remove(0);
    pi.carried::<AnswerSigned>(key.answers(&shown, Decision::Approve, &Assertion::good(&signed.document, 7)))
        .await
        .unwrap();
    pi.restarted_agent().await;
    for (counter, counts) in [(7, false), (6, false), (0, false), (8, true)] {
        let opened = pi.opened("gpio.write_pin", json!({"pin": counter})).await;
        let all = watcher.sees(&pi).await;
        let (signed, shown) = all.iter().find(|(_, shown)| shown.ask == opened.id).unwrap();
        let answer = key.answers(shown, Decision::Approve, &Assertion::good(&signed.document, counter));
        assert_eq!(pi.carried::<AnswerSigned>(answer).await.is_ok(), counts, "{counter}");
        if !counts {
            pi.says(&opened, false).await.unwrap();
        }
    }
}
