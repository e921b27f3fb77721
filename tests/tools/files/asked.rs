//! Writing where policy asks: a person sees the very content, and the yes is for it alone.

use super::Files;
use agent::operations as op;
use agent::{AgentLink, Client};
use contract::{access::question::lines, meta::Mode};
use serde_json::json;

/// The person's way in.
fn agent(files: &Files) -> AgentLink {
    AgentLink::Socket(Client::new(&files.pi.server().pipeline.services.settings.places.agent_socket))
}

async fn asking() -> Files {
    Files::with(|settings| {
        settings.policy.insert("files.write".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
    })
    .await
}

#[tokio::test]
async fn a_person_sees_all_634_bytes_that_would_be_written_and_no_mask_of_the_callers_making() {
    let files = asking().await;
    let agent = agent(&files);
    let harmless = "# harmless\n".repeat(30);
    let content = format!("{harmless}{}password=[redacted]\nrm -rf /\n", "x".repeat(634 - harmless.len() - 29));
    assert_eq!(content.len(), 634);
    let args = json!({"path": files.data("a"), "content": content});
    files.call("files.write", args.clone()).await.failed("failed_precondition");
    let asks = agent.get::<op::asks::ListAsks>().await.unwrap();
    assert_eq!((asks[0].request.args.clone(), asks[0].request.marks.len()), (args.clone(), 0));
    let page = lines(&asks[0].request, 80);
    assert!(page.contains("» rm -rf /\\n\""), "a line of its own: {page}");
    let whole: String = page.lines().map(|line| line.trim_start().trim_start_matches("» ")).collect();
    assert!(whole.contains(&content.replace('\n', "\\n")), "{page}");
    assert_eq!(page.matches("# harmless\\n").count(), 30);
    assert!(!files.data("a").exists());

    agent.call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: asks[0].id.clone(), approve: true }).await.unwrap();
    let other = json!({"path": files.data("a"), "content": content.replace("rm", "ls")});
    files.call("files.write", other).await.failed("failed_precondition");
    files.call("files.write", args).await.ok();
    assert_eq!(std::fs::read_to_string(files.data("a")).unwrap(), content);
    // The audit keeps to its own rule.
    let record = files.pi.audited(|record| record["outcome"] == "ok").await;
    assert!(record["args"]["content"].as_str().unwrap().len() < 300, "{record}");
}

#[tokio::test]
async fn content_above_64_kib_is_asked_about_by_length_hash_and_ends_and_written_as_it_is() {
    let files = asking().await;
    let agent = agent(&files);
    let content = format!("begin{}end", "0123456789\n".repeat(10_000));
    let args = json!({"path": files.data("a"), "content": content});
    files.call("files.write", args.clone()).await.failed("failed_precondition");
    let asks = agent.get::<op::asks::ListAsks>().await.unwrap();
    let page = lines(&asks[0].request, 80);
    assert!(page.contains(&format!("<cut: {} bytes, SHA-256", content.len())), "{page}");
    assert!(page.contains("\"begin0123456789\\n") && page.contains("end\""), "{page}");
    agent.call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: asks[0].id.clone(), approve: true }).await.unwrap();
    let other = json!({"path": files.data("a"), "content": content.replacen("56789\n0", "5678x\n0", 1)});
    let again = files.call("files.write", other).await;
    assert!(again.failed("failed_precondition")["details"]["ask_id"] != asks[0].id.as_str());
    files.call("files.write", args).await.ok();
}
