//! The agent's knowledge of the audit: what it takes, what it keeps, and what it gives up.

use super::*;
use base::{base64url, canonical::hex, error::ErrorCode};
use contract::audit::{AuditHead, Beginning, Extension, KnownHeads, VerifiedPosition};
use raspi_mcp::{
    audit::{Audit, verify_file},
    store::Store,
};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// A chain as a server writes it.
pub struct Chain {
    name: String,
    bodies: Vec<String>,
    hash: [u8; 32],
}

impl Chain {
    pub fn of(letter: char, records: usize) -> Self {
        let mut chain = Self { name: letter.to_string().repeat(16), bodies: Vec::new(), hash: [0; 32] };
        chain.grow(records, "");
        chain
    }

    pub fn grow(&mut self, records: usize, text: &str) {
        for _ in 0..records {
            let body = format!("{{\"seq\":{},\"text\":\"{text}\"}}", self.bodies.len() + 1);
            self.hash = Sha256::new().chain_update(self.hash).chain_update(&body).finalize().into();
            self.bodies.push(body);
        }
    }

    fn head(&self) -> AuditHead {
        AuditHead { chain: self.name.clone(), seq: self.bodies.len() as i64, hash: hex(&self.hash) }
    }

    fn beginning(&self) -> Beginning {
        Beginning {
            chain: self.name.clone(),
            store: "/var/lib/store.db".into(),
            before_seq: 0,
            before_hash: "0".repeat(64),
        }
    }

    /// Everything after `at`, in one message.
    fn after(&self, at: &VerifiedPosition) -> Extension {
        let rest = &self.bodies[at.seq as usize..];
        Extension {
            chain: self.name.clone(),
            after: at.seq,
            part: at.part,
            lengths: rest.iter().map(|body| body.len() as u32).collect(),
            records: base64url::encode(rest.concat().as_bytes()),
            goes_on: false,
        }
    }

    /// Has the agent follow to the end.
    pub async fn tell(&self, server: &AgentLink) -> Result<VerifiedPosition, ToolError> {
        let mut at = server.call::<op::audit::FindPosition>(self.beginning()).await?;
        if at.seq < self.bodies.len() as i64 {
            at = server.call::<op::audit::ExtendAudit>(self.after(&at)).await?;
        }
        Ok(at)
    }
}

async fn newest(server: &AgentLink) -> Vec<AuditHead> {
    let known = server.get::<op::audit::ListHeads>().await.unwrap();
    let mut newest: Vec<AuditHead> = Vec::new();
    for head in known.heads {
        newest.retain(|other| other.chain != head.chain);
        newest.push(head);
    }
    newest
}

fn file(pi: &Pi) -> std::path::PathBuf {
    pi.dir.path().join("agent/audit-heads.ndjson")
}

#[tokio::test]
async fn a_position_is_taken_only_when_it_follows_from_the_one_before() {
    let pi = Pi::new();
    let server = pi.server();
    let mut chain = Chain::of('a', 5);
    let at = chain.tell(&server).await.unwrap();
    assert_eq!((at.seq, at.hash.clone()), (5, hex(&chain.hash)), "the agent computes the hash itself");
    // Records again, records of before, records after some that were left out.
    for after in [0, 4, 6] {
        let jump = Extension { after, ..chain.after(&VerifiedPosition { seq: 4, ..at.clone() }) };
        assert_eq!(server.call::<op::audit::ExtendAudit>(jump).await.unwrap_err().code, ErrorCode::Conflict);
    }
    let other = Chain::of('b', 5).after(&VerifiedPosition { seq: 4, ..at.clone() });
    assert_eq!(server.call::<op::audit::ExtendAudit>(other).await.unwrap_err().code, ErrorCode::NotFound);
    chain.grow(1, "");
    assert_eq!(chain.tell(&server).await.unwrap().hash, hex(&chain.hash));
    assert_eq!(newest(&server).await, [chain.head()]);
    assert!(pi.log().contains("audit refused"), "{}", pi.log());
}

#[tokio::test]
async fn a_record_longer_than_a_message_comes_in_parts() {
    let pi = Pi::new();
    let server = pi.server();
    let mut chain = Chain::of('a', 1);
    chain.grow(1, &"long ".repeat(40_000));
    let mut at = server.call::<op::audit::FindPosition>(chain.beginning()).await.unwrap();
    let all = chain.after(&at);
    at = server
        .call::<op::audit::ExtendAudit>(Extension {
            lengths: vec![all.lengths[0]],
            records: base64url::encode(chain.bodies[0].as_bytes()),
            ..all
        })
        .await
        .unwrap();
    for part in chain.bodies[1].as_bytes().chunks(30_000) {
        let goes_on = at.part as usize + part.len() < chain.bodies[1].len();
        let part = Extension {
            chain: chain.name.clone(),
            after: 1,
            part: at.part,
            lengths: vec![part.len() as u32],
            records: base64url::encode(part),
            goes_on,
        };
        at = server.call::<op::audit::ExtendAudit>(part).await.unwrap();
    }
    assert_eq!((at.seq, at.part, at.hash), (2, 0, hex(&chain.hash)));
}

#[tokio::test]
async fn what_is_known_survives_the_agent_and_a_new_chain_does_not_hide_the_old() {
    let mut pi = Pi::new();
    let (old, new) = (Chain::of('a', 5), Chain::of('b', 2));
    old.tell(&pi.server()).await.unwrap();
    for _ in 0..2 {
        pi.restart_agent();
        let at = new.tell(&pi.server()).await.unwrap();
        assert_eq!(at.missing, [old.head()], "and the server is told what is missing");
        assert_eq!(newest(&pi.server()).await, [old.head(), new.head()]);
    }
    assert_eq!(pi.log().matches("audit chain begins").count(), 2);
}

#[tokio::test]
async fn neither_heads_nor_chains_without_number_make_the_agent_forget_one() {
    let mut pi = Pi::with(|settings| settings.audit_max_bytes = 1 << 20);
    let mut old = Chain::of('a', 50);
    old.tell(&pi.server()).await.unwrap();
    // Chains: a few, then none any more, also after a restart.
    let begin = async |pi: &Pi, letter| Chain::of(letter, 1).tell(&pi.server()).await;
    for letter in 'b'..='h' {
        begin(&pi, letter).await.unwrap();
    }
    for letter in 'i'..='z' {
        assert_eq!(begin(&pi, letter).await.unwrap_err().code, ErrorCode::ResourceExhausted);
    }
    pi.restart_agent();
    assert_eq!(begin(&pi, 'z').await.unwrap_err().code, ErrorCode::ResourceExhausted);
    for hour in 1..4 {
        pi.now_ms.fetch_add(3_600_000, Ordering::SeqCst);
        for number in 0..8u8 {
            let letter = char::from(b'A' + (hour * 8 + number) % 26);
            if let Err(error) = begin(&pi, letter).await {
                assert_eq!(error.code, ErrorCode::ResourceExhausted, "the table is full, not turned over");
            }
        }
    }
    // Heads: as many as a broken-in server likes.
    for _ in 0..4000 {
        old.grow(1, "x");
        old.tell(&pi.server()).await.unwrap();
    }
    let bytes = fs::metadata(file(&pi)).unwrap().len();
    assert!(bytes < 1 << 20, "{bytes}");
    pi.restart_agent();
    let known = pi.server().get::<op::audit::ListHeads>().await.unwrap();
    assert!(newest(&pi.server()).await.contains(&old.head()), "the newest says what all before it were");
    assert!(known.heads.iter().filter(|head| head.chain == old.name).count() > 3, "and some say where");
    assert!(known.chains.len() <= 24 && known.forged == 0, "{known:?}");
    assert!(serde_json::to_vec(&known).unwrap().len() < 512 * 1024, "it fits into an answer");
}

#[tokio::test]
async fn nonsense_is_no_chain() {
    let pi = Pi::new();
    let (server, good) = (pi.server(), Chain::of('a', 1).beginning());
    for bad in [
        Beginning { chain: "short".into(), ..good.clone() },
        Beginning { chain: "é".repeat(8), ..good.clone() },
        Beginning { before_hash: "12".into(), ..good.clone() },
        Beginning { before_seq: -1, ..good.clone() },
        Beginning { store: "a\nb".into(), ..good.clone() },
    ] {
        assert_eq!(server.call::<op::audit::FindPosition>(bad).await.unwrap_err().code, ErrorCode::InvalidArgument);
    }
    let chain = Chain::of('a', 3);
    let at = server.call::<op::audit::FindPosition>(good).await.unwrap();
    let whole = chain.after(&at);
    for bad in [
        Extension { records: "*".into(), ..whole.clone() },
        Extension { lengths: vec![], records: String::new(), ..whole.clone() },
        Extension { lengths: vec![0], records: String::new(), ..whole.clone() },
        Extension { lengths: vec![u32::MAX; 3], ..whole.clone() },
        Extension { lengths: vec![1; 100_000], ..whole.clone() },
    ] {
        assert_eq!(server.call::<op::audit::ExtendAudit>(bad).await.unwrap_err().code, ErrorCode::InvalidArgument);
    }
    assert_eq!(server.call::<op::audit::ExtendAudit>(whole).await.unwrap().seq, 3);
}

#[tokio::test]
async fn every_change_of_the_agents_own_file_shows_until_it_is_accepted() {
    let change = |path: &Path, how: &dyn Fn(Vec<&str>) -> Vec<String>| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, how(text.lines().collect()).iter().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
    };
    let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect::<Vec<_>>();
    type How<'a> = (&'a str, &'a dyn Fn(Vec<&str>) -> Vec<String>);
    let kinds: [How<'_>; 6] = [
        ("changed", &|lines| owned(lines).iter().map(|line| line.replace("\"seq\":2", "\"seq\":9")).collect()),
        ("taken away", &|mut lines| {
            lines.remove(2);
            owned(lines)
        }),
        ("moved", &|mut lines| {
            lines.swap(2, 3);
            owned(lines)
        }),
        ("put in twice", &|mut lines| {
            lines.insert(2, lines[2]);
            owned(lines)
        }),
        ("beginning taken away", &|mut lines| {
            lines.remove(0);
            owned(lines)
        }),
        ("emptied", &|_| Vec::new()),
    ];
    for (kind, how) in kinds {
        let mut pi = Pi::new();
        let mut chain = Chain::of('a', 1);
        for _ in 0..4 {
            chain.tell(&pi.server()).await.unwrap();
            chain.grow(1, "");
        }
        change(&file(&pi), how);
        let read = agent::heads::read(&pi.dir.path().join("agent")).unwrap();
        assert!(read.forged > 0, "{kind}");
        for _ in 0..2 {
            pi.restart_agent();
            assert!(pi.server().get::<op::audit::ListHeads>().await.unwrap().forged > 0, "{kind}");
        }
        let forged = pi.server().get::<op::audit::ListHeads>().await.unwrap().forged;
        let accept = op::audit::GapRequest { chain: String::new(), seq: forged as i64 };
        pi.person::<op::audit::AcceptGap>(accept).await.unwrap();
        pi.restart_agent();
        assert_eq!(pi.server().get::<op::audit::ListHeads>().await.unwrap().forged, 0, "{kind}");
    }
}

#[tokio::test]
async fn half_a_line_is_a_power_cut_and_costs_no_other() {
    let mut pi = Pi::new();
    let mut chain = Chain::of('a', 1);
    chain.tell(&pi.server()).await.unwrap();
    let text = fs::read_to_string(file(&pi)).unwrap();
    fs::write(file(&pi), format!("{text}{{\"kind\":\"he")).unwrap();
    pi.restart_agent();
    chain.grow(1, "");
    chain.tell(&pi.server()).await.unwrap();
    pi.restart_agent();
    let known = pi.server().get::<op::audit::ListHeads>().await.unwrap();
    assert_eq!((known.forged, newest(&pi.server()).await), (0, vec![chain.head()]));
    let read = agent::heads::read(&pi.dir.path().join("agent")).unwrap();
    assert_eq!(read.chains.len(), 1, "root can read them without an agent");
}

#[tokio::test]
async fn what_the_version_before_kept_is_a_beginning_that_the_chain_must_lead_to() {
    let agent = |heads: &[AuditHead]| {
        let mut pi = Pi::new();
        pi.agent = None;
        let key = ring::hmac::Key::new(
            ring::hmac::HMAC_SHA256,
            &fs::read(pi.dir.path().join("agent/audit-heads.key")).unwrap(),
        );
        let line = |head: &AuditHead| {
            let said = format!("{}\n{}\n{}\n{NOON}", head.chain, head.seq, head.hash);
            let mac = hex(ring::hmac::sign(&key, said.as_bytes()).as_ref());
            json!({"chain": head.chain, "seq": head.seq, "hash": head.hash, "ts_ms": NOON, "mac": mac}).to_string()
        };
        // In two files, as it turned them over.
        let (older, newer) = heads.split_at(1);
        let text = |heads: &[AuditHead]| heads.iter().map(|head| line(head) + "\n").collect::<String>();
        fs::write(file(&pi).with_extension("ndjson.1"), text(older)).unwrap();
        fs::write(file(&pi), text(newer)).unwrap();
        pi.start();
        pi
    };
    let mut chain = Chain::of('a', 3);
    let first = chain.head();
    chain.grow(4, "");
    let second = chain.head();
    chain.grow(2, "");

    let mut pi = agent(&[first.clone(), second.clone()]);
    pi.restart_agent();
    let known = pi.server().get::<op::audit::ListHeads>().await.unwrap();
    assert_eq!((known.forged, known.heads), (0, vec![first.clone(), second.clone()]));
    assert!(!known.chains[0].proven);
    // Its own old checkpoints are taken as they are: it begins after record 2.
    chain.tell(&pi.server()).await.unwrap();
    let known = pi.server().get::<op::audit::ListHeads>().await.unwrap();
    assert!(known.chains[0].proven && known.heads.last() == Some(&chain.head()), "{known:?}");

    let mut rewritten = Chain::of('a', 2);
    rewritten.grow(7, "another");
    let pi = agent(&[first.clone(), second.clone()]);
    assert_eq!(rewritten.tell(&pi.server()).await.unwrap_err().code, ErrorCode::Conflict);
    // Nor may the beginning lie behind what was known.
    let pi = agent(&[first, second]);
    let late = Beginning { before_seq: 7, before_hash: "1".repeat(64), ..chain.beginning() };
    assert_eq!(pi.server().call::<op::audit::FindPosition>(late).await.unwrap_err().code, ErrorCode::Conflict);
}

#[tokio::test]
async fn only_the_agents_user_can_read_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let pi = Pi::new();
    Chain::of('a', 1).tell(&pi.server()).await.unwrap();
    pi.server()
        .call::<op::audit::FindPosition>(Beginning { before_seq: -1, ..Chain::of('a', 1).beginning() })
        .await
        .unwrap_err();
    for file in ["audit-heads.key", "audit-heads.ndjson", "operations.ndjson", "attempts.ndjson"] {
        let mode = fs::metadata(pi.dir.path().join("agent").join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

/// A server's audit of `max_bytes` that this agent follows.
pub fn audit_of(pi: &Pi, max_bytes: u64) -> (Audit, std::path::PathBuf) {
    let path = pi.dir.path().canonicalize().unwrap().join("store.db");
    (Audit::new(Store::open(&path).unwrap(), max_bytes, Some(pi.server())), path)
}

/// Another agent in its place, when the last task that speaks with this one has ended.
/// Waits until the agent has followed the store at `path` to its end.
pub async fn followed(pi: &Pi, path: &Path) -> AuditHead {
    let end = || {
        let db = rusqlite::Connection::open(path).unwrap();
        db.query_row(
            "SELECT chain, seq, lower(hex(hash)) FROM audit, audit_state ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok(AuditHead { chain: row.get(0)?, seq: row.get(1)?, hash: row.get(2)? }),
        )
        .ok()
    };
    tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let told = pi.server().get::<op::status::GetStatus>().await.unwrap().audit_head;
            if let Some(head) = told.filter(|head| end().as_ref() == Some(head)) {
                return head;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the agent follows")
}

pub async fn write(audit: &Audit, count: usize) {
    for n in 0..count {
        audit.write(super::super::access::call("gpio.write_pin", n)).await.unwrap();
    }
}

async fn known(pi: &Pi) -> KnownHeads {
    pi.server().get::<op::audit::ListHeads>().await.unwrap()
}

#[tokio::test]
async fn the_audit_is_caught_when_it_goes_back() {
    let pi = Pi::new();
    let (audit, path) = audit_of(&pi, 1 << 20);
    write(&audit, 5).await;
    assert_eq!(followed(&pi, &path).await.seq, 6);
    let report = audit.verify().await.unwrap();
    assert!(report.ok && report.confirmed_through == 6, "{report:?}");

    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DELETE FROM audit WHERE seq > 3").unwrap();
    let report = audit.verify().await.unwrap();
    assert!(report.reason.unwrap().contains("cut off"));
    write(&audit, 9).await;
    assert!(!verify_file(&path, Some(&known(&pi).await)).unwrap().ok, "writing on does not mend it");
    while audit.doubt().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_agent_hears_of_no_record_that_a_power_cut_could_take() {
    let pi = Pi::new();
    let (audit, path) = audit_of(&pi, 1 << 20);
    audit.write_soon(super::super::access::call("gpio.write_pin", 1)).await.unwrap();
    // A head sets out with its answer, and would have come before the answer to a later question.
    for _ in 0..5 {
        assert_eq!(pi.server().get::<op::status::GetStatus>().await.unwrap().audit_head, None);
    }
    audit.flush().await.unwrap();
    assert_eq!(followed(&pi, &path).await.seq, 2);
}

#[tokio::test]
async fn what_goes_from_the_front_goes_behind_the_agents_signature() {
    const MAX: u64 = 60_000;
    let mut pi = Pi::with(|settings| settings.audit_max_bytes = MAX);
    let (audit, path) = audit_of(&pi, MAX);
    write(&audit, 400).await;
    followed(&pi, &path).await;
    // The last trim may still be on its way.
    let trimmed = async {
        loop {
            let report = verify_file(&path, Some(&known(&pi).await)).unwrap();
            let newest = known(&pi).await.chains[0].beginnings.last().unwrap().clone();
            if newest.through_seq == report.first_seq - 1 {
                return (report, newest);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (report, newest) = tokio::time::timeout(Duration::from_secs(60), trimmed).await.expect("the last trim");
    assert!(report.ok && report.first_seq > 200, "{report:?}");
    let db = rusqlite::Connection::open(&path).unwrap();
    let bytes: i64 = db.query_row("SELECT bytes FROM audit_state", [], |row| row.get(0)).unwrap();
    assert!(bytes as u64 <= MAX + MAX / 4, "{bytes}");
    assert!(pi.log().contains("audit trimmed") && newest.why.contains("60000"), "{newest:?}");
    // Also for an agent that began anew.
    drop(audit);
    pi.restarted_agent().await;
    assert!(verify_file(&path, Some(&known(&pi).await)).unwrap().ok);
    // The same, made by the server itself.
    super::sql_json::with_json(&db);
    db.execute_batch(
        "UPDATE audit SET body = json_set(body, '$.through_seq', (SELECT max(seq) - 3 FROM audit),
            '$.through_hash', (SELECT lower(hex(hash)) FROM audit WHERE seq = (SELECT max(seq) - 3 FROM audit)))
            WHERE seq = (SELECT max(seq) FROM audit WHERE kind = 'checkpoint');
        DELETE FROM audit WHERE seq < (SELECT max(seq) - 2 FROM audit) AND kind != 'checkpoint'",
    )
    .unwrap();
    assert!(!verify_file(&path, Some(&known(&pi).await)).unwrap().ok);
}

#[tokio::test]
async fn without_the_agent_nothing_is_trimmed_and_a_full_store_refuses_writes_and_counts_reads() {
    const MAX: u64 = 20_000;
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    let link = AgentLink::Offline(ToolError::unavailable("it is away"));
    let audit = Audit::new(Store::open(&path).unwrap(), MAX, Some(link));
    let mut done = 0;
    let error = loop {
        match audit.write(super::super::access::call("gpio.write_pin", done)).await {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert!(error.message.contains("it is away"), "{error:?}");
    assert!(audit.check().is_err(), "the next write is refused before it is done");
    for n in 0..5 {
        audit.read(super::super::access::call("gpio.read_pin", n)).await;
    }
    assert!(audit.flush().await.is_err());
    let backlog = audit.backlog();
    assert!(backlog.records + backlog.lost as usize >= 5, "{backlog:?}");
    let report = verify_file(&path, None).unwrap();
    assert!(report.ok && report.first_seq == 1 && report.records == done as u64 + 1, "{report:?}");
    let bytes =
        std::fs::metadata(&path).unwrap().len() + std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    assert!(bytes < 4 * MAX + (1 << 20), "{bytes}");
}

#[tokio::test]
async fn a_gap_stays_one_until_a_person_signs_for_it_and_that_is_on_record() {
    let mut pi = Pi::new();
    let (audit, path) = audit_of(&pi, 1 << 20);
    write(&audit, 5).await;
    let gone = followed(&pi, &path).await;
    drop(audit);
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::rename(format!("{}{suffix}", path.display()), format!("{}.away{suffix}", path.display()));
    }
    // No store at all, then another one, then after restarts.
    let report = raspi_mcp::audit::missing(&path, Some(&known(&pi).await)).unwrap();
    assert_eq!((report.ok, report.gaps[0].last_seq), (false, 6));
    pi.restarted_agent().await;
    let audit = Audit::new(Store::open(&path).unwrap(), 1 << 20, Some(pi.server()));
    write(&audit, 2).await;
    followed(&pi, &path).await;
    for _ in 0..2 {
        let report = verify_file(&path, Some(&known(&pi).await)).unwrap();
        assert!(!report.ok, "{report:?}");
        assert_eq!((report.gaps[0].chain.as_str(), report.gaps[0].last_seq), (gone.chain.as_str(), 6));
        assert!(report.gaps[0].last_ms > 0);
    }
    assert!(audit.doubt().unwrap().contains(&gone.chain));

    let accept = |seq| op::audit::GapRequest { chain: gone.chain.clone(), seq };
    let server = Peer { uid: 999, name: "raspi-mcp".into(), standing: PeerKind::Server };
    assert_eq!(
        pi.agent().perform::<op::audit::AcceptGap>(&server, accept(6)).await.unwrap_err().code,
        ErrorCode::PermissionDenied
    );
    assert_eq!(
        pi.person::<op::audit::AcceptGap>(accept(5)).await.unwrap_err().code,
        ErrorCode::Conflict,
        "only what was shown"
    );
    pi.person::<op::audit::AcceptGap>(accept(6)).await.unwrap();
    assert!(pi.log().contains("audit gap accepted"), "{}", pi.log());
    // The chain has it with the next record, and once.
    write(&audit, 1).await;
    let noted = || {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row("SELECT count(*) FROM audit WHERE tool = 'audit.accept_gap'", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    while noted() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    followed(&pi, &path).await;
    write(&audit, 1).await;
    followed(&pi, &path).await;
    assert_eq!(noted(), 1);
    let report = verify_file(&path, Some(&known(&pi).await)).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(audit.doubt(), None);
}

#[tokio::test]
async fn an_older_copy_that_was_put_back_is_a_gap_and_goes_on_when_it_is_accepted() {
    let mut pi = Pi::new();
    let (audit, path) = audit_of(&pi, 1 << 20);
    write(&audit, 5).await;
    followed(&pi, &path).await;
    let copy = pi.dir.path().join("copy.db");
    rusqlite::Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    // Other calls than those that come after the copy: the records are made of nothing but these.
    for n in 100..105 {
        audit.write(super::super::access::call("gpio.write_pin", n)).await.unwrap();
    }
    let last = followed(&pi, &path).await;
    drop(audit);
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let path = pi.dir.path().canonicalize().unwrap().join("copy.db");
    pi.restarted_agent().await;
    let audit = Audit::new(Store::open(&path).unwrap(), 1 << 20, Some(pi.server()));
    write(&audit, 8).await;
    while audit.doubt().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let report = verify_file(&path, Some(&known(&pi).await)).unwrap();
    assert_eq!((report.ok, report.gaps[0].last_seq), (false, last.seq), "{report:?}");
    pi.person::<op::audit::AcceptGap>(op::audit::GapRequest { chain: last.chain, seq: last.seq }).await.unwrap();
    write(&audit, 1).await;
    followed(&pi, &path).await;
    let report = verify_file(&path, Some(&known(&pi).await)).unwrap();
    assert!(report.ok && report.confirmed_through > 14, "{report:?}");
}
