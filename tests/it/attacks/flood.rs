//! Ten thousand wrong tokens: told to wait, counted, and forgotten; nobody else notices.

use crate::support::served::{process::Process, secure::pinned, soon, token};
use appliance::certificate::Fingerprint;
use contract::meta::Role;
use raspi_mcp::audit::{AuditFilter, recent_file};
use serde_json::Value;
use std::{collections::BTreeMap, fs, net::SocketAddr, time::Instant};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

const FLOOD: u32 = 10_000;

/// One connection that stays open.
struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    async fn from(source: &str, to: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{source}:0").parse().unwrap()).unwrap();
        Self { stream: socket.connect(to).await.unwrap(), buffer: vec![0; 4096] }
    }

    /// Shows a token; the status and the whole answer.
    async fn shows(&mut self, token: &str) -> (u16, String) {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"system.get_clock","params":{}}"#;
        let post = format!(
            "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(post.as_bytes()).await.unwrap();
        let mut answer = String::new();
        loop {
            let count = soon(self.stream.read(&mut self.buffer)).await.unwrap();
            assert!(count > 0, "hung up");
            answer.push_str(std::str::from_utf8(&self.buffer[..count]).unwrap());
            let Some((head, rest)) = answer.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")
                    .map(|length| length.parse::<usize>().unwrap())
            });
            if rest.len() >= length.unwrap() {
                return (head.split(' ').nth(1).unwrap().parse().unwrap(), answer);
            }
        }
    }
}

#[tokio::test]
async fn ten_thousand_wrong_tokens_cost_a_few_records_and_no_memory() {
    let root = TempDir::new().unwrap();
    let (good, setting) = token("laptop", Role::ReadOnly);
    let config = root.path().join("site.toml");
    let hash = setting.sha256.hex();
    let lines = format!(
        "[[access.tokens]]\nname = \"laptop\"\nrole = \"read_only\"\nsha256 = \"{hash}\"\n[access]\nrequire_token = true\n"
    );
    fs::write(&config, lines).unwrap();
    let mut server = Process::http_in(root, &["--config", config.to_str().unwrap()]).await;
    let address: SocketAddr = server.url.as_ref().unwrap().trim_start_matches("http://").parse().unwrap();
    let mut attacker = Caller::from("127.0.0.1", address).await;
    let (started, mut statuses, mut resident) = (Instant::now(), BTreeMap::new(), 0);
    for n in 0..FLOOD {
        let (status, answer) = attacker.shows(&format!("rmcp_{n}")).await;
        *statuses.entry(status).or_insert(0u32) += 1;
        if status == 429 {
            assert!(answer.to_lowercase().contains("\r\nretry-after: "), "{answer}");
        }
        if n == FLOOD / 10 {
            resident = server.resident_kib();
        }
        if n % 1000 == 999 {
            // From the very same address, and from another one.
            assert_eq!(attacker.shows(&good).await.0, 200, "a right token is never locked out");
            assert_eq!(Caller::from("127.0.0.2", address).await.shows(&good).await.0, 200);
        }
    }
    let (grown, seconds) = (server.resident_kib().saturating_sub(resident), started.elapsed().as_secs_f64());
    println!(
        "{FLOOD} wrong tokens in {seconds:.1} s: {statuses:?}; resident memory {resident} KiB, grown by {grown} KiB"
    );
    // Ten at once, then one in six seconds.
    let answered = 10 + (seconds / 6.0) as u32 + 1;
    assert!((10..=answered).contains(&statuses[&401]), "{statuses:?} in {seconds:.1} s");
    assert_eq!(statuses.values().sum::<u32>(), FLOOD);
    assert!(grown <= 512, "memory grew by {grown} KiB over {resident} KiB");
    // Another address is judged by itself.
    assert_eq!(Caller::from("127.0.0.2", address).await.shows("rmcp_wrong").await.0, 401);

    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let at_the_door = AuditFilter { tool: Some("access.authenticate".into()), ..AuditFilter::default() };
    let (records, _) = recent_file(&server.path("state/store.db"), &at_the_door, 1000).unwrap();
    // For each minute begun: one at once and one for the rest, for each of the two addresses.
    let most = 4 * (started.elapsed().as_secs() / 60 + 1);
    assert!(records.len() as u64 <= most, "{} records: {records:#?}", records.len());
    let count = |record: &Value| record["args"]["refused"].as_u64().unwrap_or(1);
    assert_eq!(
        records.iter().map(count).sum::<u64>(),
        u64::from(FLOOD) + 1,
        "every one is accounted for: {records:#?}"
    );
    assert!(records.iter().all(|record| record["outcome"] == "unauthenticated" && record["role"].is_null()));
    let text = fs::read(server.path("state/store.db")).unwrap();
    assert!(!text.windows(good.len()).any(|part| part == good.as_bytes()), "no token in the record");
}

#[tokio::test]
async fn handshakes_leave_nothing_behind() {
    let root = TempDir::new().unwrap();
    let (good, setting) = token("laptop", Role::ReadOnly);
    let config = root.path().join("site.toml");
    let hash = setting.sha256.hex();
    let lines = format!(
        "[tls]\nenabled = true\n[[access.tokens]]\nname = \"laptop\"\nrole = \"read_only\"\nsha256 = \"{hash}\"\n"
    );
    fs::write(&config, lines).unwrap();
    let config = config.to_str().unwrap().to_owned();
    let made = soon(crate::support::served::process::command(&root, &["tls", "init", "--config", &config]).output())
        .await
        .unwrap();
    let text = String::from_utf8(made.stdout).unwrap();
    let pin = text.lines().find_map(|line| line.strip_prefix("pin ")).expect("the pin");
    let pin = Fingerprint::parse(pin).unwrap();
    let server = Process::http_in(root, &["--config", &config]).await;
    let url = format!("{}/api/mcp", server.url.as_ref().unwrap());
    assert!(url.starts_with("https://"), "{url}");
    let mut resident = 0;
    for n in 0..300 {
        // A client each: a connection and a whole handshake.
        let post = pinned(pin).build().unwrap().post(&url).header("content-type", "application/json");
        let post = post.bearer_auth(if n % 2 == 0 { "rmcp_wrong" } else { &good });
        let status = soon(post.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).send()).await.unwrap().status();
        assert_eq!(status == 200, n % 2 == 1, "{n}: {status}");
        if n == 100 {
            resident = server.resident_kib();
        }
    }
    let grown = server.resident_kib().saturating_sub(resident);
    println!("200 handshakes: resident memory {resident} KiB, grown by {grown} KiB");
    assert!(grown <= 512, "memory grew by {grown} KiB over {resident} KiB");
}
