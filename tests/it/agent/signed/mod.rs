//! Signed asks and answers: what counts, and every way in which an answer does not.

mod forged;
mod keys;
mod kinds;
mod lists;
mod orders;
mod passkey;

use super::*;
use ::agent::approvers::{
    Approver, ApproverSecret, AskDocument, Decision, Enrolled, KeyKind, ListProof, NewApprover, SignedAnswer,
    SignedAsk, SignedOrder, challenge, list_challenge, order_challenge,
};
use base::{base64url, error::ErrorCode};
use op::approvals::{
    AddApprover, AnswerSigned, DescribeDevice, Device, ListApprovers, ListSigned, ListSignedRequest, PerformOrder,
    RevokeApprover, RevokeRequest,
};

fn root() -> Peer {
    Peer { uid: 0, name: "root".into(), standing: PeerKind::Approver }
}

/// Whoever carries asks and answers: the page, which may do nothing else.
fn carrier() -> Peer {
    Peer { uid: 990, name: "raspi-mcp-approval".into(), standing: PeerKind::ApprovalPage }
}

/// An approver with a key in a file.
struct Person {
    name: &'static str,
    secret: ApproverSecret,
}

impl Person {
    fn new(name: &'static str) -> Self {
        Self { name, secret: ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap() }
    }

    fn described(&self) -> NewApprover {
        NewApprover {
            name: self.name.into(),
            kind: KeyKind::Cli,
            key: self.secret.public().text().into(),
            origin: None,
        }
    }

    async fn enrolled(name: &'static str, pi: &Pi) -> Self {
        let person = Self::new(name);
        pi.agent().perform::<AddApprover>(&root(), person.described()).await.unwrap();
        person
    }

    fn proof(&self, device: &Device) -> ListProof {
        let signature = self.secret.sign(&list_challenge(&device.id, &device.boot, device.time_ms));
        ListProof {
            key: self.secret.public().id(),
            kind: KeyKind::Cli,
            time_ms: device.time_ms,
            signature: base64url::encode(&signature),
            authenticator_data: None,
            client_data: None,
            parts: None,
            salt: None,
        }
    }

    /// The asks that it is shown, with the signature checked.
    async fn sees(&self, pi: &Pi) -> Vec<(SignedAsk, AskDocument)> {
        let device = pi.carried::<DescribeDevice>(Default::default()).await.unwrap();
        let proof = Some(self.proof(&device));
        let asks = pi.carried::<ListSigned>(ListSignedRequest { proof, known: None }).await.unwrap();
        asks.into_iter().map(|ask| (ask.clone(), ask.open(&device.id).unwrap())).collect()
    }

    /// The same for asks that were opened at one moment, in this order.
    async fn sees_each<const N: usize>(&self, pi: &Pi, asks: [&Ask; N]) -> [(SignedAsk, AskDocument); N] {
        let seen = self.sees(pi).await;
        asks.map(|ask| seen.iter().find(|(_, shown)| shown.ask == ask.id).expect("it waits").clone())
    }

    fn answers(&self, (signed, ask): &(SignedAsk, AskDocument), decision: Decision) -> SignedAnswer {
        SignedAnswer {
            ask: ask.ask.clone(),
            nonce: ask.nonce.clone(),
            decision,
            key: self.secret.public().id(),
            kind: KeyKind::Cli,
            signature: base64url::encode(&self.secret.sign(&challenge(decision, &signed.document))),
            authenticator_data: None,
            client_data: None,
        }
    }
}

impl Pi {
    async fn carried<O: Operation>(&self, request: O::Request) -> Result<O::Answer, ToolError> {
        self.agent().perform::<O>(&carrier(), request).await
    }

    async fn opened(&self, tool: &str, args: Value) -> Ask {
        self.server().call::<op::asks::OpenAsk>(ask(tool, args)).await.unwrap()
    }

    async fn state(&self, id: &str) -> ::agent::AskState {
        let request = op::asks::AwaitRequest::new(id, Duration::ZERO);
        self.server().call::<op::asks::AwaitAsk>(request).await.unwrap().state
    }
}

#[tokio::test]
async fn a_signed_yes_lets_the_call_go_on_and_the_records_name_the_key() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let request = ask("gpio.write_pin", json!({"pin": 4, "value": 9_007_199_254_740_993_u64}));
    let opened = pi.server().call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    let seen = anna.sees(&pi).await;
    let (_, shown) = &seen[0];
    assert_eq!((&shown.ask, &shown.tool, &shown.principal), (&opened.id, &request.tool, &request.principal));
    assert_eq!(shown.args, request.args, "numbers that JavaScript would round too");
    assert!(shown.lines.iter().any(|line| line.contains("9007199254740993")), "{:?}", shown.lines);
    let answered = pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Approve)).await.unwrap();
    assert_eq!((answered.state, answered.by.as_deref()), (::agent::AskState::Approved, Some("anna")));
    let record = redeem(&pi.server(), &opened.id, &request).await.unwrap();
    assert_eq!((record.by.as_str(), record.how), ("anna", format!("cli key {}", anna.secret.public().id())));
    assert!(pi.log().contains(&anna.secret.public().id()));
}

#[tokio::test]
async fn a_signed_no_is_a_no() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Deny)).await.unwrap();
    assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Denied);
    assert!(anna.sees(&pi).await.is_empty(), "nothing waits any more");
}

#[tokio::test]
async fn of_two_people_at_once_the_first_counts() {
    let pi = Pi::new();
    let (anna, ben) = (Person::enrolled("anna", &pi).await, Person::enrolled("ben", &pi).await);
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let (one, other) = (anna.sees(&pi).await, ben.sees(&pi).await);
    assert_eq!(one[0].0, other[0].0, "the same bytes for both");
    pi.carried::<AnswerSigned>(ben.answers(&other[0], Decision::Deny)).await.unwrap();
    let late = pi.carried::<AnswerSigned>(anna.answers(&one[0], Decision::Approve)).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::FailedPrecondition);
    assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Denied);
}

#[tokio::test]
async fn the_page_may_carry_and_nothing_else() {
    let pi = Pi::new();
    // It is the first request of every connection.
    pi.carried::<op::hello::Hello>(op::hello::Greeting::ours()).await.unwrap();
    let refused = |error: ToolError| assert_eq!(error.code, ErrorCode::PermissionDenied, "{error}");
    refused(pi.carried::<op::asks::ListAsks>(Default::default()).await.unwrap_err());
    refused(pi.carried::<ListApprovers>(Default::default()).await.unwrap_err());
    refused(pi.carried::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap_err());
    refused(pi.carried::<AddApprover>(Person::new("page").described()).await.unwrap_err());
    refused(pi.carried::<ListSigned>(ListSignedRequest::default()).await.unwrap_err());
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let answer = op::asks::AnswerRequest { id: opened.id, approve: true };
    refused(pi.carried::<op::asks::AnswerAsk>(answer).await.unwrap_err());
}
