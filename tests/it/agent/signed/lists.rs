//! One signature for the lists of many devices: each takes it for itself, and none can use it at another.

use super::*;
use ::agent::approvers::{list_part, lists_challenge};

const SALTS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

/// Proofs for two devices by one signature of `person`, as the page of many devices makes them.
fn joint(person: &Person, devices: [&Device; 2]) -> [ListProof; 2] {
    let own = |at: usize| {
        let device: &Device = devices[at];
        list_part(&list_challenge(&device.id, &device.boot, device.time_ms), &SALTS[at])
    };
    let parts = [own(0), own(1)].concat();
    let signature = base64url::encode(&person.secret.sign(&lists_challenge(&parts)));
    [0, 1].map(|at| ListProof {
        signature: signature.clone(),
        parts: Some(base64url::encode(&parts)),
        salt: Some(base64url::encode(&SALTS[at])),
        ..person.proof(devices[at])
    })
}

async fn reads(pi: &Pi, proof: ListProof) -> Result<Vec<SignedAsk>, ToolError> {
    pi.carried::<ListSigned>(ListSignedRequest { proof: Some(proof), known: None }).await
}

#[tokio::test]
async fn one_signature_shows_what_waits_at_each_device() {
    let (porch, shed) = (Pi::new(), Pi::new());
    let anna = Person::new("anna");
    let mut devices = Vec::new();
    for pi in [&porch, &shed] {
        pi.agent().perform::<AddApprover>(&root(), anna.described()).await.unwrap();
        pi.opened("gpio.write_pin", json!({"pin": 4})).await;
        devices.push(pi.carried::<DescribeDevice>(Default::default()).await.unwrap());
    }
    let [first, second] = joint(&anna, [&devices[0], &devices[1]]);
    let seen = reads(&porch, first.clone()).await.unwrap();
    assert_eq!(seen[0].open(&devices[0].id).unwrap().tool, "gpio.write_pin");
    let seen = reads(&shed, second.clone()).await.unwrap();
    assert!(seen[0].open(&devices[1].id).is_ok() && seen[0].open(&devices[0].id).is_err());

    let other_parts = joint(&anna, [&devices[0], &devices[0]])[0].parts.clone();
    for (proof, why) in [
        (first.clone(), "what the porch was told, at the shed"),
        (ListProof { time_ms: second.time_ms, ..first.clone() }, "the same with the shed's time"),
        (ListProof { salt: None, ..second.clone() }, "no salt"),
        (ListProof { salt: first.salt.clone(), ..second.clone() }, "the porch's salt"),
        (ListProof { salt: Some("=".into()), ..second.clone() }, "a salt that is no base64url"),
        (ListProof { parts: None, ..second.clone() }, "a signature for many as one for this device"),
        (ListProof { parts: Some(String::new()), ..second.clone() }, "no parts"),
        (ListProof { parts: other_parts, ..second.clone() }, "parts that were not signed"),
        (ListProof { parts: second.parts.clone(), ..anna.proof(&devices[1]) }, "a signature for one as one for many"),
        (ListProof { time_ms: second.time_ms + 1, ..second.clone() }, "another time"),
    ] {
        let refused = reads(&shed, proof).await.map(|asks| asks.len()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{why}");
    }
    assert_eq!(reads(&shed, second).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_origin_is_known_while_a_key_is_enrolled_there() {
    let pi = Pi::new();
    let knows = async |origin: &str| {
        let request = op::approvals::DeviceRequest { origin: Some(origin.into()) };
        pi.carried::<DescribeDevice>(request).await.unwrap().knows_origin
    };
    let origin = "https://approve.example.org";
    assert!(!knows(origin).await);
    let phone = NewApprover { kind: KeyKind::Browser, origin: Some(origin.into()), ..Person::new("phone").described() };
    pi.agent().perform::<AddApprover>(&root(), phone).await.unwrap();
    assert!(knows(origin).await && !knows("https://approve.example.org:8444").await && !knows("").await);
    assert!(!pi.carried::<DescribeDevice>(Default::default()).await.unwrap().knows_origin);
    pi.agent().perform::<RevokeApprover>(&root(), RevokeRequest { name: "phone".into() }).await.unwrap();
    assert!(!knows(origin).await);
}
