//! Any bytes on the agent's socket, in any pieces: never a hang or a panic, one answer a line, and nothing that the policy
//! does not allow is done.

use super::{oracle, *};
use ::agent::converse;
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

/// Values of every type for a field, good ones among them.
fn any_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1.5),
        json!(""),
        json!("a\0b"),
        json!("system.reboot"),
        json!("../../etc/passwd"),
        json!("ssh.service"),
        json!("reboot"),
        json!("kitchen"),
        json!("x".repeat(5000)),
        json!([]),
        json!(["-rf", "/"]),
        json!({}),
        json!({"principal": "x"}),
        json!({"principal": "token:fleet", "args_sha256": "00", "ask_id": "AAAA-AAAA"}),
    ])
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let names = vec![
        "hello",
        "status",
        "open_ask",
        "ask_state",
        "withdraw_ask",
        "redeem_ask",
        "list_asks",
        "answer",
        "elicited",
        "power",
        "cancel_power",
        "set_hostname",
        "set_timezone",
        "activate_connection",
        "confirm_connection",
        "record_head",
        "heads",
        "format_card",
    ];
    let fields = vec![
        "protocol",
        "version",
        "id",
        "wait_ms",
        "tool",
        "principal",
        "args_sha256",
        "approve",
        "client",
        "action",
        "delay_seconds",
        "reason",
        "warrant",
        "hostname",
        "timezone",
        "dry_run",
        "chain",
        "seq",
        "hash",
        "args",
        "summary",
        "extra",
    ];
    let field = (prop::sample::select(fields), any_value());
    let made = (0u64..20, prop::sample::select(names), prop::collection::btree_map(field.0, field.1, 0..7))
        .prop_map(|(id, name, fields)| json!({"id": id, "op": {name: fields}}).to_string().into_bytes());
    prop_oneof![
        6 => made,
        1 => Just(br#"{"id":1,"op":{"status":{}}}"#.to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|mut bytes| {
            bytes.retain(|byte| *byte != b'\n');
            bytes
        }),
        1 => Just(vec![b'['; 70_000]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn one_answer_a_line_and_nothing_done(
        lines in prop::collection::vec(any_line(), 1..20),
        greeted: bool,
        ended: bool,
        piece in 1usize..4000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pi = Pi::new();
            let mut stream = Vec::new();
            if greeted {
                stream.extend_from_slice(b"{\"id\":0,\"op\":{\"hello\":{\"protocol\":1,\"version\":\"t\"}}}\n");
            }
            stream.extend(lines.join(&b'\n'));
            if ended {
                stream.push(b'\n');
            }
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (mut reader, mut writer) = ours.into_split();
            let serving = converse(pi.agent(), Peer::in_process(), theirs);
            let writing = async {
                for part in stream.chunks(piece) {
                    writer.write_all(part).await.unwrap();
                }
                drop(writer);
            };
            let mut answers = String::new();
            let reading = async { reader.read_to_string(&mut answers).await.unwrap() };
            let talk = async { tokio::join!(serving, writing, reading) };
            tokio::time::timeout(Duration::from_secs(20), talk).await.expect("it hangs").0.unwrap();
            oracle::check(&stream, &answers);
            // Policy of this agent: system.* asks, and nobody was asked.
            assert_eq!((pi.machine.reboots(), pi.machine.shutdowns()), (0, 0));
            let status = pi.agent().perform::<op::status::GetStatus>(&Peer::in_process(), Default::default()).await;
            assert_eq!(status.map(|status| status.power.is_some()), Ok(false));
        });
    }
}
