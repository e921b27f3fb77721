//! Where an index is published, for real: a folder, and a web space that takes PUT over TLS.

use super::channel;
use crate::update::origin::Authority;
use base::error::ErrorCode;
use fleet_protocol::rollout::RolloutTarget;
use raspi_mcp::fleet::rollout::{ChannelPlace, IndexPlace};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};
use update::channel::Tree;

#[tokio::test]
async fn a_folder_is_replaced_only_over_what_was_expected() {
    let dir = TempDir::new().unwrap();
    let index = dir.path().join("www/stable/index.signed");
    let place = ChannelPlace::open(&RolloutTarget::Folder("www".into()), "stable", dir.path()).unwrap();
    assert_eq!(place.present().await.unwrap_err().code, ErrorCode::NotFound);
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    fs::write(&index, channel()).unwrap();
    assert_eq!(place.present().await.unwrap(), channel());
    let refused = async |expected: &[u8]| place.replace(expected, b"next").await.unwrap_err();
    assert_eq!(refused(b"other").await.code, ErrorCode::Conflict);
    assert_eq!(fs::read(&index).unwrap(), channel());
    // `raspi-mcp channel` publishes on this machine; then a controller on another one.
    let held = Tree::open(&dir.path().join("www")).unwrap();
    assert_eq!(refused(&channel()).await.code, ErrorCode::Conflict);
    drop(held);
    let lock = index.with_extension("lock");
    fs::write(&lock, "").unwrap();
    assert!(refused(&channel()).await.message.contains("index.lock"));
    assert!(lock.exists(), "it is not removed before its time");
    fs::remove_file(&lock).unwrap();
    place.replace(&channel(), b"next").await.unwrap();
    assert_eq!(fs::read(&index).unwrap(), b"next");
    assert!(!lock.exists());
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_was_left_behind_is_removed_after_half_a_minute_without_a_change() {
    let dir = TempDir::new().unwrap();
    let index = dir.path().join("www/stable/index.signed");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    fs::write(&index, "one").unwrap();
    let lock = index.with_extension("lock");
    fs::write(&lock, "").unwrap();
    let place = ChannelPlace::open(&RolloutTarget::Folder("www".into()), "stable", dir.path()).unwrap();
    let mut refused = 0;
    while let Err(error) = place.replace(b"one", b"two").await {
        assert_eq!(error.code, ErrorCode::Conflict);
        refused += 1;
        tokio::time::advance(Duration::from_secs(5)).await;
    }
    assert_eq!(refused, 6, "for half a minute");
    assert!(fs::read(&index).unwrap() == b"two" && !lock.exists());
}

/// What the web space does.
#[derive(Default)]
struct Space {
    bytes: Vec<u8>,
    changes: u64,
    weak: bool,
    /// Somebody else writes this between the next GET and PUT.
    between: Option<Vec<u8>>,
    requests: Vec<String>,
}

impl Space {
    fn tag(&self) -> String {
        format!("{}\"{}\"", if self.weak { "W/" } else { "" }, self.changes)
    }

    fn answer(&mut self, head: &str, body: Vec<u8>) -> (u16, Vec<u8>) {
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        self.requests.push(head.lines().next().unwrap().to_owned());
        if header("authorization").as_deref() != Some("Bearer secret") {
            return (403, vec![]);
        }
        if head.starts_with("GET") {
            let now = self.bytes.clone();
            return (200, now);
        }
        if let Some(other) = self.between.take() {
            (self.bytes, self.changes) = (other, self.changes + 1);
        }
        if header("if-match") != Some(self.tag()) {
            return (412, vec![]);
        }
        (self.bytes, self.changes) = (body, self.changes + 1);
        (204, vec![])
    }
}

async fn serve(space: Arc<Mutex<Space>>, authority: &Authority) -> u16 {
    let acceptor = authority.acceptor(2020..2050);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await.unwrap() > 0 {}
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut body).await.unwrap();
            let (status, body, tag) = {
                let mut space = space.lock().unwrap();
                let tag = space.tag();
                let (status, body) = space.answer(&head, body);
                (status, body, tag)
            };
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status} x\r\netag: {tag}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn a_web_space_is_replaced_only_over_what_was_expected() {
    let authority = Authority::new();
    let space = Arc::new(Mutex::new(Space { bytes: channel(), ..Space::default() }));
    let port = serve(Arc::clone(&space), &authority).await;
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("token"), "secret\n").unwrap();
    fs::set_permissions(dir.path().join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let open = |token_file: Option<&str>| {
        let target = RolloutTarget::Address {
            url: format!("https://localhost:{port}/pi/"),
            token_file: token_file.map(str::to_owned),
            ca_file: Some(authority.file().to_str().unwrap().to_owned()),
        };
        ChannelPlace::open(&target, "stable", dir.path()).unwrap()
    };
    assert_eq!(open(None).present().await.unwrap_err().code, ErrorCode::PermissionDenied);
    let place = open(Some("token"));
    assert_eq!(place.present().await.unwrap(), channel());
    place.replace(&channel(), b"two").await.unwrap();
    assert_eq!(place.replace(&channel(), b"three").await.unwrap_err().code, ErrorCode::Conflict);
    // Another one comes between the look and the write.
    space.lock().unwrap().between = Some(b"other".to_vec());
    assert_eq!(place.replace(b"two", b"three").await.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(space.lock().unwrap().bytes, b"other");
    place.replace(b"other", b"three").await.unwrap();
    let put = "PUT /pi/stable/index.signed HTTP/1.1";
    assert!(space.lock().unwrap().requests.iter().any(|line| line == put));
    // Without a strong tag nothing is written.
    space.lock().unwrap().weak = true;
    assert_eq!(place.replace(b"three", b"four").await.unwrap_err().code, ErrorCode::FailedPrecondition);
    assert_eq!(space.lock().unwrap().bytes, b"three");
}
