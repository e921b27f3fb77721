//! From nothing to a device in a fleet: the owner's folder, the broker's own configuration, request, answer, status.

use crate::support::{
    fleet::NatsServer,
    served::{Pi, soon},
};
use agent::{
    AgentLink, Client,
    operations::fleet::{MembershipWish, SignEnrolment},
};
use base::{base64url, clock::Wall, signing::SigningKey};
use contract::config;
use fleet_protocol::enrolment::{EnrolmentRequest, Membership};
use raspi_mcp::{
    fleet::{
        console::{Console, FleetFolder},
        desk::{self, NewFleet},
    },
    fleet_device::membership::MembershipFiles,
};
use rcgen::{KeyPair, PublicKeyData};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{fs, net::TcpListener, path::Path, sync::Barrier, thread, time::Duration};
use tempfile::TempDir;
use time::OffsetDateTime;

/// A new fleet in a folder, with its broker running as `fleet init` configured it, on loopback only.
pub(super) async fn fleet(folder: &Path) -> NatsServer {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let new = NewFleet { name: "home".into(), servers: vec![format!("tls://127.0.0.1:{port}")], hosts: Vec::new() };
    // It is used in another place than it was made in.
    let made = folder.with_extension("made");
    desk::init(&made, &new).unwrap();
    assert!(desk::init(&made, &new).is_err(), "a folder is made once");
    let unit = fs::read_to_string(made.join("raspi-mcp-nats.service")).unwrap();
    assert!(unit.contains(&format!("WorkingDirectory={}\n", made.display())), "{unit}");
    fs::rename(made, folder).unwrap();
    let text = fs::read_to_string(folder.join("nats-server.conf")).unwrap();
    assert!(
        text.contains(&format!("listen: \"127.0.0.1:{port}\"\n")),
        "a broker for this computer is open to no other: {text}"
    );
    let server = NatsServer::of(folder).await;
    console(folder).await.ensure_streams().await.unwrap();
    server
}

pub(super) async fn console(folder: &Path) -> Console {
    Console::connect(FleetFolder::read(folder).unwrap(), Wall::system()).await.unwrap()
}

/// Signs a device of this name, whose certificate and key are then `NAME.pem` and `NAME.key`; the broker has its user.
pub(super) fn signed(folder: &Path, server: &NatsServer, name: &str) {
    let key = KeyPair::generate().unwrap();
    let membership = desk::sign(folder, &request_of(name, &key)).unwrap();
    fs::write(folder.join(format!("{name}.pem")), membership.certificate).unwrap();
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    reloaded(server);
}

/// The request of a new device of this name, for its key.
fn request_of(name: &str, key: &KeyPair) -> EnrolmentRequest {
    let agent = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
    let public_key = base64url::encode(&key.subject_public_key_info());
    EnrolmentRequest::read(&EnrolmentRequest::sign(name, &public_key, None, &agent).unwrap()).unwrap()
}

fn new_request(name: &str) -> EnrolmentRequest {
    request_of(name, &KeyPair::generate().unwrap())
}

#[test]
fn devices_that_are_signed_at_once_are_all_known_and_a_name_is_given_once() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("home-fleet");
    let new = NewFleet { name: "home".into(), servers: vec!["tls://127.0.0.1:4222".into()], hosts: Vec::new() };
    desk::init(&folder, &new).unwrap();
    let requests: Vec<_> = (0..8).map(|at| new_request(&format!("device-{at}"))).collect();
    let rivals: Vec<_> = (0..8).map(|_| new_request("kitchen")).collect();
    let begin = Barrier::new(requests.len() + rivals.len());
    let sign = |request| {
        begin.wait();
        desk::sign(&folder, request).is_ok()
    };
    let won = thread::scope(|scope| {
        let others: Vec<_> = requests.iter().map(|request| scope.spawn(|| sign(request))).collect();
        let rivals: Vec<_> = rivals.iter().map(|request| scope.spawn(|| sign(request))).collect();
        assert!(others.into_iter().all(|one| one.join().unwrap()));
        rivals.into_iter().map(|one| one.join().unwrap()).filter(|won| *won).count()
    });
    assert_eq!(won, 1, "a name belongs to one device");
    let users = fs::read_to_string(folder.join("users.conf")).unwrap();
    for at in 0..8 {
        assert!(users.contains(&format!("device-{at}")), "{at} is no user of the broker: {users}");
    }
}

/// The broker loads its configuration again.
pub(super) fn reloaded(server: &NatsServer) {
    kill_process(Pid::from_raw(server.pid().cast_signed()).unwrap(), Signal::HUP).unwrap();
}

/// The agent, as a command at the machine's console reaches it.
fn console_of(pi: &Pi) -> AgentLink {
    AgentLink::Socket(Client::new(&pi.server().pipeline.services.settings.places.agent_socket))
}

#[tokio::test]
async fn a_device_that_was_signed_and_joined_reports() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("home-fleet");
    let server = fleet(&folder).await;
    let (pi, sources) = Pi::of_site(&[]).await;
    let files = MembershipFiles::of(&sources.places.site_dir);
    let wish = |key: &[u8]| MembershipWish { name: "kitchen".into(), public_key: base64url::encode(key), pin: None };
    let agent = console_of(&pi);

    // A request that is replaced by a newer one: its answer goes with no key of this machine.
    let older = agent.call::<SignEnrolment>(wish(&files.make_key().unwrap())).await.unwrap().request;
    let request = agent.call::<SignEnrolment>(wish(&files.make_key().unwrap())).await.unwrap().request;
    let stale = desk::sign(&folder, &EnrolmentRequest::read(&older).unwrap()).unwrap();
    assert!(files.join(&stale).unwrap_err().message.contains("does not go with its key"));
    assert!(!sources.places.site_dir.join("60-fleet.toml").exists(), "nothing has changed");
    let membership = desk::sign(&folder, &EnrolmentRequest::read(&request).unwrap()).unwrap();
    files.join(&membership).unwrap();
    // A renewed certificate, for the key that it has.
    let renewed = desk::renew(&folder, "kitchen").unwrap();
    assert_eq!(Membership { certificate: membership.certificate.clone(), ..renewed.clone() }, membership);
    assert_ne!(renewed.certificate, membership.certificate);
    files.join(&renewed).unwrap();
    let joined = config::load(&sources).unwrap();
    assert_eq!(fs::read_to_string(&joined.fleet.certificate).unwrap(), renewed.certificate);
    assert_eq!((joined.fleet.name.as_str(), joined.fleet.device.as_str()), ("home", "kitchen"));
    reloaded(&server);

    let _kept = pi.stop_and_keep().await.unwrap();
    let pi = Pi::of_sources(&sources).await;
    let console = console(&folder).await;
    let status = soon(async {
        let (mut book, mut reader) = console.statuses().await.unwrap();
        loop {
            if let Some((_, Some(status))) = book.device("kitchen") {
                return status.document.clone();
            }
            let message = reader.next().await.unwrap();
            book.take(&message.subject, &message.payload, message.heard_ms);
        }
    })
    .await;
    assert_eq!(status.device, FleetFolder::read(&folder).unwrap().device("kitchen").unwrap().device);
    pi.stop().await.unwrap();

    // Another device does not get the name, and who was revoked is in no list.
    let (other, _) = Pi::of_site(&[]).await;
    let agent = console_of(&other);
    let request = agent.call::<SignEnrolment>(wish(&[0; 91])).await.unwrap().request;
    let error = desk::sign(&folder, &EnrolmentRequest::read(&request).unwrap()).unwrap_err();
    assert!(error.message.contains("another device is called kitchen"), "{error}");
    let known = FleetFolder::read(&folder).unwrap();
    let ending = |days: u64| known.ending(OffsetDateTime::now_utc() + Duration::from_secs(days * 86_400)).count();
    assert_eq!((ending(0), ending(2 * 365 - 61), ending(2 * 365 - 59), ending(3 * 365)), (0, 0, 1, 1));
    // An entry that an older version wrote.
    let file = folder.join("devices/kitchen.json");
    let mut entry: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    entry.as_object_mut().unwrap().remove("public_key").unwrap();
    fs::write(&file, entry.to_string()).unwrap();
    let error = desk::renew(&folder, "kitchen").unwrap_err();
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("fleet enroll")), "{error}");
    desk::revoke(&folder, "kitchen").unwrap();
    assert!(desk::renew(&folder, "kitchen").unwrap_err().message.contains("was revoked"));
    assert!(!fs::read_to_string(folder.join("users.conf")).unwrap().contains("kitchen"));
    assert!(desk::revoke(&folder, "kitchen").is_err());
}
