//! Tokens that are made and revoked while the server runs: a revoked one is of no use from that moment on, wherever it was used.

use super::goodbye;
use crate::support::served::{Pi, Wire, process::Process, request, secure, soon};
use base::error::ErrorCode;
use contract::{
    access::token,
    config::{self, Places, Settings, Sources, TokenFiles, TokenSetting},
    meta::Role,
};
use raspi_mcp::{
    cli::exit::{Exit, Failure},
    owner::tokens::{list, make, revoke},
};
use serde_json::json;
use std::{fs, net::SocketAddr, path::PathBuf};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// The configuration of a machine, and a server that follows it.
struct Home {
    sources: Sources,
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { sources: Sources::new(Places::below(folder.path()), Vec::new()), folder }
    }

    fn site(&self, name: &str) -> PathBuf {
        self.sources.places.site_dir.join(name)
    }

    fn made(&self, name: &str, role: Role) -> String {
        let (secret, setting) = crate::support::served::token(name, role);
        make(&setting, &self.sources).unwrap();
        secret
    }

    fn follow(&self, settings: &mut Settings) {
        settings.access.require_token = true;
        settings.token_files = TokenFiles::of(&self.sources);
        let kept = settings.token_files.read(&[]).unwrap();
        settings.access.tokens = kept.into_iter().map(|kept| kept.setting).collect();
    }

    async fn served(&self) -> Pi {
        Pi::with(|settings| self.follow(settings)).await
    }
}

/// The status of one call with this token.
async fn status(address: SocketAddr, token: &str) -> u16 {
    let body = request(&json!(1), "test.echo", &json!({"text": "hello"}));
    let post =
        reqwest::Client::new().post(format!("http://{address}/api/mcp")).header("content-type", "application/json");
    post.bearer_auth(token).body(body).send().await.unwrap().status().as_u16()
}

async fn on(pi: &Pi, token: &str) -> Wire {
    let mut wire = pi.on(crate::support::served::Door::Http).await;
    wire.post().headers = vec![("authorization".into(), format!("Bearer {token}"))];
    wire
}

#[tokio::test]
async fn a_token_counts_from_the_moment_it_is_made_to_the_moment_it_is_revoked() {
    let home = Home::new();
    // Not even the folder is there yet.
    let pi = home.served().await;
    assert_eq!(status(pi.address(), "rmcp_none").await, 401);
    let laptop = home.made("laptop", Role::Admin);
    assert_eq!(status(pi.address(), &laptop).await, 200);
    let phone = home.made("phone", Role::ReadOnly);
    assert_eq!((status(pi.address(), &phone).await, status(pi.address(), &laptop).await), (200, 200));
    let shown = on(&pi, &laptop).await.call("manage.get_server_status", json!({})).await;
    let names: Vec<&str> = shown.ok()["config_summary"]["access"]["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["laptop", "phone"]);
    revoke("phone", &home.sources).unwrap();
    assert_eq!((status(pi.address(), &phone).await, status(pi.address(), &laptop).await), (401, 200));
    // The same name again is another token.
    let again = home.made("phone", Role::ReadOnly);
    assert_eq!((status(pi.address(), &phone).await, status(pi.address(), &again).await), (401, 200));
    let (last, hashes) = revoke("phone", &home.sources).and_then(|_| revoke("laptop", &home.sources)).unwrap();
    assert!(last.contains("the last token") && hashes.len() == 1, "{last}");
    assert_eq!((status(pi.address(), &again).await, status(pi.address(), &laptop).await), (401, 401));
}

#[tokio::test]
async fn whatever_is_open_with_a_revoked_token_ends_at_once() {
    let home = Home::new();
    let (visitor, owner) = (home.made("visitor", Role::Admin), home.made("owner", Role::Admin));
    let pi = home.served().await;
    let mut upgrade = format!("ws://{}/ws", pi.address()).into_client_request().unwrap();
    upgrade.headers_mut().insert("authorization", format!("Bearer {visitor}").parse().unwrap());
    let (mut socket, _) = tokio_tungstenite::connect_async(upgrade).await.unwrap();
    let mut wire = on(&pi, &visitor).await;
    wire.initialize("2025-11-25", "a listener").await.result();
    let session = wire.post().session();
    let mut stream = wire.post().client.get(format!("http://{}/mcp", pi.address()));
    stream = stream.header("accept", "text/event-stream").header("mcp-session-id", session.clone().unwrap());
    let mut stream = stream.bearer_auth(&visitor).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    // A connection that is only kept alive, and a call that runs.
    let mut idle = TcpStream::connect(pi.address()).await.unwrap();
    let head = format!("GET /photos/none HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {visitor}\r\n\r\n");
    idle.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = [0; 4096];
    assert!(soon(idle.read(&mut bytes)).await.unwrap() > 0);
    let mut caller = on(&pi, &visitor).await;
    caller.ask("test.hold", json!({}));
    pi.bench.until_inside(1).await;
    // Another in the session, with a stream that tells of its progress.
    wire.ask("tools/call", json!({"name": "test.hold", "arguments": {}, "_meta": {"progressToken": "p"}}));
    pi.bench.until_inside(2).await;
    let mut other = on(&pi, &owner).await;
    other.initialize("2025-11-25", "another").await.result();

    // Nobody calls from here on until all has ended: the files' change alone does it.
    revoke("visitor", &home.sources).unwrap();
    assert_eq!(goodbye(&mut socket).await, "the token was revoked");
    soon(async { while let Ok(Some(_)) = stream.chunk().await {} }).await;
    let ended = soon(idle.read(&mut bytes)).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    pi.bench.until_dropped(2).await;
    let record = pi.audited(|record| record["tool"] == "test.hold").await;
    assert_eq!((&record["principal"], &record["outcome"]), (&json!("token:visitor"), &json!("cancelled")));
    on(&pi, &visitor).await.request_unread("ping", json!({})).await.under(401).fault(-32002);
    // Others are not touched.
    other.request("ping", json!({})).await.result();
    // Whoever gets a token of that name does not find the old session.
    let again = home.made("visitor", Role::Admin);
    let mut heir = on(&pi, &again).await;
    heir.post().join_session(session);
    heir.request_unread("ping", json!({})).await.under(404).fault(-32003);
}

#[tokio::test]
async fn a_token_with_less_than_before_is_another_one() {
    let home = Home::new();
    let token = home.made("laptop", Role::Admin);
    let pi = home.served().await;
    let mut wire = on(&pi, &token).await;
    wire.call("test.admin", json!({})).await.ok();
    let file = home.site("60-token-laptop.toml");
    let text = fs::read_to_string(&file).unwrap().replace("\"admin\"", "\"read_only\"");
    fs::write(&file, text).unwrap();
    on(&pi, &token).await.call("test.admin", json!({})).await.failed("permission_denied");
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_revoking_beside_it_says_so() {
    let home = Home::new();
    let (one, two) = (home.made("one", Role::Admin), home.made("two", Role::Admin));
    let pi = home.served().await;
    fs::write(home.site("70-broken.toml"), "[access\n").unwrap();
    assert_eq!((status(pi.address(), &one).await, status(pi.address(), &two).await), (200, 200));
    let refused = make(&crate::support::served::token("three", Role::Admin).1, &home.sources);
    let refused = Failure::from(refused.expect_err("nothing is made beside a broken file"));
    assert!(refused.exit == Exit::Config && refused.message.contains("70-broken.toml:1:"), "{}", refused.message);
    let told = revoke("one", &home.sources).expect_err("it is not in force");
    assert!(told.message.contains("does NOT notice") && told.message.contains("70-broken.toml"), "{}", told.message);
    assert_eq!(status(pi.address(), &one).await, 200, "the server cannot know");
    // Once that is mended, all of it counts.
    fs::remove_file(home.site("70-broken.toml")).unwrap();
    assert_eq!((status(pi.address(), &one).await, status(pi.address(), &two).await), (401, 200));
}

#[tokio::test]
async fn beyond_loopback_nobody_gets_in_when_the_last_token_is_revoked() {
    let (home, owner) = (Home::new(), secure::Owner::new());
    let token = home.made("laptop", Role::Admin);
    let server = owner.starts(|settings| home.follow(settings)).await;
    let call = async |token: Option<&str>| {
        let body = request(&json!(1), "test.echo", &json!({"text": "hello"}));
        let post = server.client().post(server.url("/api/mcp")).header("content-type", "application/json").body(body);
        let post =
            token.map_or_else(|| post.try_clone().unwrap(), |token| post.try_clone().unwrap().bearer_auth(token));
        post.send().await.unwrap().status().as_u16()
    };
    assert_eq!((call(Some(&token)).await, call(None).await), (200, 401));
    // As the site would have it, so that what the next start does is told.
    fs::write(home.site("10-site.toml"), "[http]\nlisten = \"0.0.0.0:8765\"\n[tls]\nenabled = true\n").unwrap();
    assert_eq!(call(Some(&token)).await, 200);
    let (told, _) = revoke("laptop", &home.sources).unwrap();
    assert!(
        told.contains("the next start of the server is refused") && told.contains("nobody could be known"),
        "{told}"
    );
    assert_eq!((call(Some(&token)).await, call(None).await), (401, 401));
    assert!(config::load(&home.sources).is_err());
}

#[tokio::test]
async fn the_program_follows_the_one_file_that_it_was_given() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("all.toml");
    let token = |name: &str| {
        let (secret, setting) = crate::support::served::token(name, Role::ReadOnly);
        (secret, token::lines(&setting).unwrap())
    };
    let (first, second) = (token("first"), token("second"));
    let head = "[access]\nrequire_token = true\n";
    fs::write(&file, format!("{head}{}", first.1)).unwrap();
    let process = Process::http_in(root, &["--config", file.to_str().unwrap()]).await;
    let address: SocketAddr = process.url.as_deref().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
    assert_eq!((status(address, &first.0).await, status(address, &second.0).await), (200, 401));
    fs::write(&file, format!("{head}{}", second.1)).unwrap();
    assert_eq!((status(address, &first.0).await, status(address, &second.0).await), (401, 200));
}

#[test]
fn what_is_made_is_listed_without_its_secret_and_only_once() {
    let home = Home::new();
    let text = || list(&home.sources).unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text().contains("no token"));
    let (secret, setting) = crate::support::served::token("laptop", Role::OpsRw);
    let wanted = |name: &str, owner: Option<&str>| TokenSetting {
        name: name.into(),
        owner: owner.map(str::to_owned),
        expires: Some(time::OffsetDateTime::UNIX_EPOCH + time::Duration::days(30_000)),
        ..setting.clone()
    };
    let file = make(&wanted("laptop", Some("ann")), &home.sources).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777 & !0o640, 0, "{mode:o}");
    let (written, listed) = (fs::read_to_string(&file).unwrap(), text());
    assert!(!written.contains(&secret) && !listed.contains(&secret), "{written}{listed}");
    for shown in ["laptop", "ops_rw", "ann", "2052-02-20T00:00:00Z", "60-token-laptop.toml"] {
        assert!(listed.contains(shown), "{shown}: {listed}");
    }
    let all = &list(&home.sources).unwrap()["tokens"];
    assert_eq!(
        (&all[0]["name"], &all[0]["owner"], &all[0]["role"]),
        (&json!("laptop"), &json!("ann"), &json!("ops_rw"))
    );
    assert!(all[0]["made"].as_str().is_some_and(|made| made.ends_with('Z')), "{all}");
    let taken = make(&wanted("laptop", None), &home.sources).unwrap_err();
    assert!(taken.message.contains("already") && taken.message.contains("60-token-laptop.toml"), "{}", taken.message);
    for bad in [wanted("My Laptop", None), wanted("ok", Some("Ann")), wanted("../../x", None)] {
        assert_eq!(make(&bad, &home.sources).unwrap_err().code, ErrorCode::InvalidArgument);
    }
    assert_eq!(fs::read_dir(&home.sources.places.site_dir).unwrap().count(), 1);
    let near = revoke("laptob", &home.sources).err().unwrap();
    assert!(near.message.contains("did you mean laptop?"), "{}", near.message);
}

#[test]
fn only_a_file_that_says_nothing_else_is_removed() {
    let home = Home::new();
    home.made("first", Role::Admin);
    let token = |name: &str, digit: char| {
        format!(
            "[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{}\"\nrole = \"admin\"\n",
            digit.to_string().repeat(64)
        )
    };
    fs::write(home.site("20-mine.toml"), token("alone", 'a')).unwrap();
    fs::write(home.site("30-both.toml"), token("one", 'b') + &token("two", 'c')).unwrap();
    fs::write(home.site("40-more.toml"), format!("[limits]\nmax_depth = 32\n{}", token("with", 'd'))).unwrap();
    for name in ["one", "two", "with"] {
        let refused = revoke(name, &home.sources).err().unwrap();
        assert!(
            refused.code == ErrorCode::FailedPrecondition && refused.message.contains("says other things"),
            "{}",
            refused.message
        );
    }
    revoke("alone", &home.sources).unwrap();
    assert!(!home.site("20-mine.toml").exists() && home.site("30-both.toml").exists());
    // With --config there is no folder: it is told where to look.
    let file = home.folder.path().join("all.toml");
    fs::write(&file, token("inside", 'e')).unwrap();
    let sources = Sources { file: Some(file.clone()), ..home.sources.clone() };
    let refused = revoke("inside", &sources).err().unwrap();
    assert!(refused.message.contains("all.toml") && file.exists(), "{}", refused.message);
    assert!(make(&crate::support::served::token("x", Role::Admin).1, &sources).is_err());
}
