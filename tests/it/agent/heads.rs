//! The agent's memory of the audit, and the audit's use of it.

use super::*;
use raspi_mcp::{
    access::audit::{Audit, Head, verify_file},
    error::ErrorCode,
    store::Store,
};
use std::fs;

fn head(chain: char, seq: i64) -> Head {
    Head { chain: chain.to_string().repeat(16), seq, hash: format!("{seq:064x}") }
}

#[tokio::test]
async fn heads_only_go_forward() {
    let pi = Pi::new();
    let server = pi.server();
    server.record_head(head('a', 5)).await.unwrap();
    server.record_head(head('a', 5)).await.expect("the same one twice is no news");
    for backwards in [head('a', 4), Head { hash: "f".repeat(64), ..head('a', 5) }] {
        assert_eq!(server.record_head(backwards).await.unwrap_err().code, ErrorCode::Conflict);
    }
    server.record_head(head('a', 6)).await.unwrap();
    assert_eq!(server.heads().await.unwrap().heads, [head('a', 5), head('a', 6)]);
    assert!(pi.log().contains("audit head refused"), "{}", pi.log());
}

#[tokio::test]
async fn heads_survive_the_agent_and_a_new_chain_does_not_hide_the_old() {
    let mut pi = Pi::new();
    pi.server().record_head(head('a', 5)).await.unwrap();
    pi.restart_agent();
    let server = pi.server();
    assert_eq!(server.record_head(head('a', 4)).await.unwrap_err().code, ErrorCode::Conflict);
    server.record_head(head('b', 1)).await.unwrap();
    assert_eq!(server.heads().await.unwrap().heads, [head('a', 5), head('b', 1)]);
    assert_eq!(pi.log().matches("audit chain begins").count(), 2);
}

#[tokio::test]
async fn servers_that_share_the_agent_do_not_get_in_each_others_way() {
    let mut pi = Pi::new();
    for seq in 1..4 {
        pi.server().record_head(head('a', seq)).await.unwrap();
        pi.server().record_head(head('b', seq + 10)).await.unwrap();
    }
    assert_eq!(pi.log().matches("audit chain begins").count(), 2);
    pi.restart_agent();
    for back in [head('a', 2), head('b', 12)] {
        assert_eq!(pi.server().record_head(back).await.unwrap_err().code, ErrorCode::Conflict);
    }
}

#[tokio::test]
async fn nonsense_is_no_head() {
    let pi = Pi::new();
    let server = pi.server();
    for bad in
        [head('a', 0), Head { hash: "12".into(), ..head('a', 1) }, Head { chain: "short".into(), ..head('a', 1) }]
    {
        assert_eq!(server.record_head(bad).await.unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_change_of_the_agents_own_file_shows() {
    let pi = Pi::new();
    let server = pi.server();
    for seq in 1..4 {
        server.record_head(head('a', seq)).await.unwrap();
    }
    let path = pi.dir.path().join("agent/audit-heads.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"seq\":2", "\"seq\":9")).unwrap();
    let known = server.heads().await.unwrap();
    assert_eq!((known.forged, known.heads), (1, vec![head('a', 1), head('a', 3)]));
}

#[tokio::test]
async fn half_a_line_is_a_power_cut_and_costs_no_other() {
    let mut pi = Pi::new();
    pi.server().record_head(head('a', 1)).await.unwrap();
    let path = pi.dir.path().join("agent/audit-heads.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"chain\":\"aa")).unwrap();
    pi.restart_agent();
    let server = pi.server();
    server.record_head(head('a', 2)).await.unwrap();
    let known = server.heads().await.unwrap();
    assert_eq!((known.forged, known.heads), (0, vec![head('a', 1), head('a', 2)]));
    let read = raspi_mcp::agent::heads::read(&pi.dir.path().join("agent")).unwrap();
    assert_eq!(read.heads.len(), 2, "root can read them without an agent");
}

#[tokio::test]
async fn only_the_agents_user_can_read_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let pi = Pi::new();
    pi.server().record_head(head('a', 1)).await.unwrap();
    for file in ["audit-heads.key", "audit-heads.ndjson", "operations.ndjson"] {
        let mode = fs::metadata(pi.dir.path().join("agent").join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn the_file_of_heads_stays_small() {
    let pi = Pi::new();
    let server = pi.server();
    server.record_head(head('a', 1)).await.unwrap();
    for seq in 1..12_000 {
        server.record_head(head('b', seq)).await.unwrap();
    }
    let bytes: u64 = ["audit-heads.ndjson", "audit-heads.ndjson.1"]
        .iter()
        .map(|file| fs::metadata(pi.dir.path().join("agent").join(file)).unwrap().len())
        .sum();
    assert!(bytes < (2 << 20) + 1000, "{bytes}");
    let known = server.heads().await.unwrap();
    assert_eq!(known.heads.last(), Some(&head('b', 11_999)));
    assert_eq!(known.heads.first(), Some(&head('a', 1)), "a chain that rests is not forgotten");
    assert_eq!(known.heads.len(), 257);
}

#[tokio::test]
async fn the_audit_gives_its_heads_and_is_caught_when_it_goes_back() {
    let pi = Pi::new();
    let path = pi.dir.path().join("store.db");
    let audit = Audit::new(Store::open(&path).unwrap(), 1 << 20, Some(pi.server()));
    for n in 0..5 {
        audit.write(super::super::access::call("gpio.write_pin", n)).await.unwrap();
    }
    let newest = async || {
        // The head travels after the answer; the agent says when it has come.
        loop {
            if let Some(head) = pi.server().status().await.unwrap().audit_head.filter(|head| head.seq == 6) {
                return head;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(newest().await.seq, 6);
    assert!(audit.verify().await.unwrap().ok);

    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DELETE FROM audit WHERE seq > 3").unwrap();
    let report = audit.verify().await.unwrap();
    assert!(report.reason.unwrap().contains("cut off"));
    audit.write(super::super::access::call("gpio.write_pin", 9)).await.unwrap();
    let known = pi.server().heads().await.unwrap();
    assert!(!verify_file(&path, Some(&known)).unwrap().ok, "writing on does not mend it");
}

#[tokio::test]
async fn the_agent_hears_of_no_record_that_a_power_cut_could_take() {
    let pi = Pi::new();
    let path = pi.dir.path().join("store.db");
    let audit = Audit::new(Store::open(&path).unwrap(), 1 << 20, Some(pi.server()));
    audit.write_soon(super::super::access::call("gpio.write_pin", 1)).await.unwrap();
    // A head sets out with its answer, and would have come before the answer to a later question.
    for _ in 0..5 {
        assert_eq!(pi.server().status().await.unwrap().audit_head, None);
    }
    audit.flush().await.unwrap();
    let head = loop {
        if let Some(head) = pi.server().status().await.unwrap().audit_head {
            break head;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(head.seq, 2);
}
