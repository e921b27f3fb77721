//! The routers' process and the server's way to it.

use super::house::House;
use crate::support::served::soon;
use ::agent::{AgentLink, Client};
use base::error::ErrorCode;
use contract::meta::Environment;
use raspi_mcp::routeros::{
    call::RouterCall,
    configured::{self, Passwords},
    link::{RouterosLink, RoutersSocket},
    serve, table, wire,
};
use routeros_simulator::Fault;
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};
use tokio_util::sync::{CancellationToken, DropGuard};

fn call(tool: &str) -> RouterCall {
    let args = Map::from_iter([("device_id".to_owned(), json!("edge"))]);
    RouterCall::new(table::find(tool).unwrap(), args, "stdio")
}

/// The socket served in this process, for the user `uid`.
fn served(house: &House, uid: u32) -> (PathBuf, DropGuard) {
    let path = house.folder.path().join("routeros.sock");
    let agent = AgentLink::Socket(Client::new(&house.sources.places.agent_socket));
    let folder = house.folder.path().join("plans");
    let service = configured::service(&house.routers(), Environment::Prod, &Passwords::Files, folder, agent).unwrap();
    let (listener, stop) = (serve::bind(&path).unwrap(), CancellationToken::new());
    tokio::spawn(serve::serve(listener, service, uid, stop.clone()));
    (path, stop.drop_guard())
}

fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

fn link(path: &Path) -> RouterosLink {
    RouterosLink::Socket(Arc::new(RoutersSocket { path: path.to_owned(), devices: vec!["edge".into()] }))
}

/// What comes back for these bytes, when the other side has been told that no more will come.
async fn answered(path: &Path, bytes: &[u8]) -> Value {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

#[tokio::test]
async fn a_call_goes_through_the_process_and_its_end_is_found_out() {
    let house = House::new().await;
    let server = house.server().await;
    let overview = json!({ "device_id": "edge" });
    let none = server.call("routeros.get_system_overview", overview.clone()).await;
    let error = none.failed("unavailable");
    assert_eq!(error["details"]["unit"], "raspi-mcp-routeros.service", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("systemctl"), "{error}");
    let process = house.process(&server).await;
    let through = server.call("routeros.get_system_overview", overview.clone()).await.ok().clone();
    let here = house.pi.call("routeros.get_system_overview", overview.clone()).await.ok().clone();
    assert_eq!(through, here);
    // It ends when it is told to, and the next one is reached by the same server.
    let log = process.stop().await;
    assert!(log.contains("listening on"), "{log}");
    server.call("routeros.get_system_overview", overview.clone()).await.failed("unavailable");
    let _again = house.process(&server).await;
    server.call("routeros.get_system_overview", overview).await.ok();
}

#[tokio::test]
async fn without_routers_nothing_is_listed_and_nothing_runs() {
    let pi = crate::support::served::Pi::start().await;
    pi.call("tools.search", json!({ "query": "mikrotik router" })).await.ok();
    let listed = pi.server().pipeline.registry.entries().filter(|entry| entry.name().starts_with("routeros.")).count();
    assert_eq!(listed, 0);
    assert!(pi.server().pipeline.services.routeros.get().is_none());
}

#[tokio::test]
async fn it_talks_to_one_user_only() {
    let house = House::new().await;
    let (path, _stop) = served(&house, own_uid() + 1);
    let error = soon(link(&path).call(call("routeros.get_system_overview"))).await.unwrap_err();
    assert!(matches!(error.code, ErrorCode::PermissionDenied | ErrorCode::Unavailable), "{error:?}");
    assert_eq!(house.listener.credentials_seen(), 0);
}

#[test]
fn the_server_calls_and_root_tests() {
    let rights = |peer, server, own| {
        let serve::Rights { call, test } = serve::Rights::of(peer, server, own);
        (call, test)
    };
    // As installed: 990 the server, 981 this process.
    assert_eq!([rights(990, 990, 981), rights(0, 990, 981)], [(true, false), (false, true)]);
    assert_eq!([rights(981, 990, 981), rights(1000, 990, 981)], [(false, false); 2]);
    // Where one user runs all of it.
    assert_eq!([rights(1000, 1000, 1000), rights(0, 1000, 1000)], [(true, true), (false, true)]);
    assert_eq!(rights(0, 0, 0), (true, true));
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_so_is_one_that_is_too_long() {
    let house = House::new().await;
    let (path, _stop) = served(&house, own_uid());
    let good = json!({ "call": {
        "tool": "routeros.get_system_clock", "args": { "device_id": "edge" }, "principal": "stdio", "ask_id": null,
        "device_scope": null,
    } });
    let long = format!("{{\"test\": \"{}\"}}\n", "x".repeat(wire::MAX_REQUEST as usize));
    let mut more = good.clone();
    more["call"]["password"] = true.into();
    // One that is too long is not read to its end, so its answer may be lost with the connection.
    let mut stream = UnixStream::connect(&path).await.unwrap();
    let _ = stream.write_all(long.as_bytes()).await;
    let mut text = String::new();
    let _ = soon(stream.read_to_string(&mut text)).await;
    assert!(text.is_empty() || text.contains("invalid_argument"), "{text}");
    let padded = RouterCall { principal: "x".repeat(wire::MAX_REQUEST as usize), ..call("routeros.get_system_clock") };
    let error = soon(link(&path).call(padded)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge, "{error:?}");
    let (more, of_nothing) = (format!("{more}\n"), "{}\n");
    for bad in [more.as_str(), of_nothing, "\n", "null\n", "{\"devices\": true}\n", "\u{0}\n"] {
        let refused = answered(&path, bad.as_bytes()).await;
        assert_eq!(refused["error"]["code"], "invalid_argument", "{refused} to {:.60}", bad);
    }
    let mut unknown = good.clone();
    unknown["call"]["tool"] = "routeros.read_password".into();
    let refused = answered(&path, format!("{unknown}\n").as_bytes()).await;
    assert_eq!(refused["error"]["code"], "not_found", "{refused}");
    assert_eq!(house.listener.credentials_seen(), 0);
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(format!("{good}\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    soon(BufReader::new(stream).read_line(&mut line)).await.unwrap();
    assert!(line.starts_with("{\"ok\":"), "{line}");
}

#[tokio::test]
async fn a_call_ends_when_it_is_cancelled_and_when_its_connection_closes() {
    let house = House::new().await;
    let (path, _stop) = served(&house, own_uid());
    house.router.fault(Fault::Slow(Duration::from_secs(10)));
    let began = Instant::now();
    let slow = call("routeros.get_system_overview");
    let cancel = slow.cancel.clone();
    tokio::spawn(async move { cancel.cancel() });
    let error = soon(link(&path).call(slow)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled, "{error:?}");
    let asked = wire::Asked::Call(wire::Request::of(&call("routeros.get_system_overview")));
    let ended = answered(&path, &wire::line(&json!(asked))).await;
    assert_eq!(ended["error"]["code"], "cancelled", "{ended}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[tokio::test]
async fn progress_comes_through() {
    let house = House::new().await;
    let (path, _stop) = served(&house, own_uid());
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let args = json!({ "device_id": "edge", "address": "192.168.88.1", "count": 2, "stream_progress": true })
        .as_object()
        .unwrap()
        .clone();
    let ping = RouterCall {
        progress: Arc::new(move |done, total, message| drop(said.send((done, total, message.to_owned())))),
        ..RouterCall::new(table::find("routeros.ping").unwrap(), args, "stdio")
    };
    soon(link(&path).call(ping)).await.unwrap();
    let (done, total, message) = heard.recv().await.expect("a ping says how far it is");
    assert!(done <= total && !message.is_empty(), "{done} of {total}: {message}");
}

#[test]
fn an_answer_that_is_too_long_is_an_error() {
    let long = wire::answer(Ok(json!("x".repeat(wire::MAX_ANSWER))));
    let Some(wire::Said::Ended(Err(error))) = wire::read(&long) else { panic!("{} bytes", long.len()) };
    assert_eq!(error.code, ErrorCode::ContentTooLarge);
    for strange in ["", "{}", "[]", "{\"progress\": [1]}", "{\"error\": 1}"] {
        assert!(wire::read(strange.as_bytes()).is_none(), "{strange}");
    }
}

/// systemd names the credentials of a folder by the folder's word and the names of its files.
#[tokio::test]
async fn passwords_come_from_systemd_where_it_passes_them() {
    let house = House::new().await;
    let folder = tempfile::TempDir::new().unwrap();
    let routers = house.routers();
    let passwords = Passwords::Credentials(folder.path().to_owned());
    let none = configured::device(&routers[0], &passwords).err().unwrap();
    assert_eq!(none.code, ErrorCode::FailedPrecondition, "{none:?}");
    std::fs::write(folder.path().join("routeros_edge"), "secret word\r\n").unwrap();
    let device = configured::device(&routers[0], &passwords).unwrap();
    assert_eq!(device.password.expose(), "secret word");
    for bad in ["", "\n", "two\nlines\n", &"x".repeat(1025)] {
        let error = configured::checked(bad).err().unwrap();
        assert!(bad.is_empty() || !error.contains(bad.trim()) || bad == "\n", "{error}");
    }
}
