//! The wire between the halves, against lines that were recorded when the protocol was one enum (`tests/fixtures/agent`): a half
//! of that version still understands this one, byte for byte, and what is malformed is answered as it was.

use super::*;
use ::agent::{
    converse,
    peer::Callers,
    protocol::{AgentReply, AgentRequest},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

const REQUESTS: &str = include_str!("../../fixtures/agent/requests.ndjson");
const ANSWERS: &str = include_str!("../../fixtures/agent/answers.ndjson");
/// Each line that is no request, and its answer.
const MALFORMED: &str = include_str!("../../fixtures/agent/malformed.ndjson");

#[test]
fn every_request_is_read_and_written_as_it_was() {
    for line in REQUESTS.lines() {
        let request: AgentRequest = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&request).unwrap(), line);
    }
}

#[test]
fn every_answer_is_read_and_written_as_it_was() {
    for line in ANSWERS.lines() {
        let reply: AgentReply = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&reply).unwrap(), line);
        // Once more through the answer's own type.
        if let Some(answer) = reply.ok {
            let reply = AgentReply { id: reply.id, ok: Some(through_type(&answer)), error: None };
            assert_eq!(serde_json::to_string(&reply).unwrap(), line);
        }
    }
}

/// The answer, read and written by an operation that has it.
fn through_type(answer: &op::Answer) -> op::Answer {
    macro_rules! any_of {
        ($($operation:path,)*) => { $(
            if let Some(read) = answer.read::<$operation>().unwrap_or_else(|error| panic!("{error}: {answer:?}")) {
                return op::Answer::of::<$operation>(&read).unwrap();
            }
        )* };
    }
    any_of! {
        op::hello::Hello,
        op::status::GetStatus,
        op::asks::OpenAsk,
        op::asks::ListAsks,
        op::asks::RedeemAsk,
        op::power::SchedulePower,
        op::power::CancelPower,
        op::hostname::SetHostname,
        op::commands::RunCommand,
        op::commands::ReadOutput,
        op::commands::StopCommand,
        op::process::SendSignal,
        op::process::InspectProcess,
        op::holders::ListHolders,
        op::pins::ReadPins,
        op::service::ControlUnit,
        op::service::EnableUnit,
        op::network::ActivateConnection,
        op::network::ConfirmConnection,
        op::throttled::ReadThrottled,
        op::audit::FindPosition,
        op::audit::MakeRoom,
        op::audit::AcceptGap,
        op::audit::ListHeads,
        op::update::GetUpdateStatus,
        op::update::RollBack,
        op::update::MarkGood,
        op::update::ReportHealth,
        op::update::TrustRoot,
        op::claim::Claim,
        op::claim::ConfirmClaim,
    }
    panic!("an answer of no operation: {answer:?}")
}

/// Who may ask for what, what waits, and what is uncertain when its answer is lost, as the protocol's one enum had it.
#[test]
fn the_table_says_of_each_operation_what_the_enum_said() {
    // Those of the enum; newer ones say it in their own file alone.
    let recorded = |row: &&op::OperationRow| REQUESTS.contains(&format!(r#""op":{{"{}":"#, row.tag));
    let those = |is: &dyn Fn(&op::OperationRow) -> bool| -> Vec<&str> {
        op::OPERATIONS.iter().filter(recorded).filter(|row| is(row)).map(|row| row.tag).collect()
    };
    // The approval page, which the enum did not know, greets too.
    assert_eq!(those(&|row| row.callers == Callers::Carriers), ["hello"]);
    let anyone =
        "status ask_state list_asks heads update_status install reboot_into_update roll_back mark_good resume_update";
    assert_eq!(those(&|row| row.callers == Callers::Anyone).join(" "), anyone);
    assert_eq!(those(&|row| matches!(row.callers, Callers::Approvers { .. })), ["answer", "accept_gap"]);
    let waits = "ask_state run_command command_output control_unit enable_unit activate_connection confirm_connection \
         update_status reboot_into_update roll_back mark_good report_health resume_update trust_root claim confirm_claim";
    assert_eq!(those(&|row| row.waits).join(" "), waits);
    let changes = "power cancel_power set_hostname run_command signal_process control_unit enable_unit \
         activate_connection confirm_connection reboot_into_update roll_back mark_good";
    assert_eq!(those(&|row| row.changes).join(" "), changes);
    assert_eq!(those(&|_| true).len(), 39, "each of the enum is still there");
    let tags: std::collections::BTreeSet<&str> = op::OPERATIONS.iter().map(|row| row.tag).collect();
    assert_eq!(tags.len(), op::OPERATIONS.len(), "each has a name of its own");
}

#[tokio::test]
async fn a_malformed_line_is_answered_as_it_was() {
    let pi = Pi::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let serving = tokio::spawn(converse(pi.agent(), Peer::in_process(), theirs));
    let (reader, mut writer) = ours.into_split();
    let mut answers = BufReader::new(reader).lines();
    writer.write_all(b"{\"id\":0,\"op\":{\"hello\":{\"protocol\":1,\"version\":\"t\"}}}\n").await.unwrap();
    answers.next_line().await.unwrap().unwrap();
    for line in MALFORMED.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let (sent, expected) = (recorded["line"].as_str().unwrap(), recorded["answer"].as_str().unwrap());
        writer.write_all(format!("{sent}\n").as_bytes()).await.unwrap();
        let answer = answers.next_line().await.unwrap().unwrap();
        if expected.contains("expected one of `hello`") {
            // The list of operations, to which newer ones were added at its end.
            let known = expected.rsplit_once('`').unwrap().0;
            assert!(answer.starts_with(known), "{answer}");
        } else {
            assert_eq!(answer, expected, "{sent}");
        }
    }
    drop(writer);
    serving.await.unwrap().unwrap();
}
