//! The certificates of the folder itself: `fleet doctor` warns before they end, `fleet renew` signs them anew, and no device
//! has to change anything.

use super::enrolment::{console, fleet, reloaded, signed};
use crate::support::served::{process::command, soon};
use raspi_mcp::{
    broker::{Broker, BrokerOptions},
    fleet::desk::{OwnCertificate, RENEW_BEFORE},
};
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;
use time::OffsetDateTime;
use tokio::{io::AsyncReadExt, net::TcpStream};

async fn runs(home: &TempDir, args: &[&str]) -> (i32, String, String) {
    let output = soon(command(home, &[&["fleet"], args].concat()).output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A certificate for the key and the names that it has, which ends in so many days.
fn ages(folder: &Path, own: OwnCertificate, days: i64) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let signer = KeyPair::from_pem(&read("ca.key")).unwrap();
    let key = KeyPair::from_pem(&read(&own.file().replace(".pem", ".key"))).unwrap();
    let names = match own {
        OwnCertificate::Server => vec!["127.0.0.1".to_owned()],
        _ => vec!["console.console.home".to_owned()],
    };
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "fleet home");
    let mut params = CertificateParams::new(names).unwrap();
    params.not_after = OffsetDateTime::now_utc() + Duration::from_secs(86_400 * days.unsigned_abs());
    if days < 0 {
        params.not_after = OffsetDateTime::now_utc() - Duration::from_secs(86_400 * days.unsigned_abs());
        params.not_before = params.not_after - Duration::from_secs(86_400);
    }
    let issued = params.signed_by(&key, &Issuer::new(authority, signer)).unwrap();
    fs::write(folder.join(own.file()), issued.pem()).unwrap();
}

fn key_of(folder: &Path, own: OwnCertificate) -> Vec<u8> {
    let der = CertificateDer::from_pem_file(folder.join(own.file())).unwrap();
    let key = KeyPair::from_pem(&fs::read_to_string(folder.join(own.file().replace(".pem", ".key"))).unwrap()).unwrap();
    let public = rcgen::PublicKeyData::subject_public_key_info(&key);
    assert!(der.windows(public.len()).any(|part| part == public), "{} is for another key", own.file());
    public
}

#[tokio::test]
async fn what_ends_soon_is_named_and_renewed_for_the_same_key() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("home-fleet");
    let server = fleet(&folder).await;
    signed(&folder, &server, "kitchen");
    let dir = folder.to_str().unwrap();
    let (code, said, why) = runs(&root, &["doctor", "--dir", dir]).await;
    assert!(code == 0 && !said.contains("renew ") && !said.contains("limits "), "{said}{why}");
    let now = OffsetDateTime::now_utc();
    let ending =
        |days: u64| OwnCertificate::ending(&folder, now + Duration::from_secs(days * 86_400), RENEW_BEFORE).len();
    assert_eq!((ending(2 * 365 - 121), ending(2 * 365 - 119), ending(20 * 365 - 119)), (0, 2, 3));

    // One that ended, one that ends in 100 days.
    ages(&folder, OwnCertificate::Server, 100);
    ages(&folder, OwnCertificate::Console, -1);
    let (code, said, why) = runs(&root, &["doctor", "--dir", dir]).await;
    assert!(code == 4 && said.contains("server.pem: the broker's certificate is valid until"), "{code} {said}{why}");
    assert!(
        said.contains("was valid until") && said.contains(&format!("fleet renew --dir {dir} console.pem")),
        "{said}"
    );
    let (code, _, why) = runs(&root, &["status", "--dir", dir]).await;
    assert!(code == 4 && why.contains("console.pem") && !why.contains("server.pem"), "{code} {why}");
    let mut keys = Vec::new();
    for own in OwnCertificate::ALL {
        keys.push(key_of(&folder, own));
        let (code, said, why) = runs(&root, &["renew", "--dir", dir, own.file()]).await;
        assert!(code == 0 && said.contains("valid until") && said.contains("devices  need nothing"), "{said}{why}");
        assert_eq!(said.contains("broker "), own != OwnCertificate::Console, "{said}");
        assert_eq!(key_of(&folder, own), *keys.last().unwrap());
    }
    assert!(OwnCertificate::ending(&folder, now, RENEW_BEFORE).is_empty());
    reloaded(&server);
    // The broker shows the new one to whoever connects from now on.
    soon(async {
        loop {
            if shown(server.port, &folder).await == fs::read_to_string(folder.join("server.pem")).unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    console(&folder).await.statuses().await.unwrap();

    // A device with the authority's certificate and its own of before is let in, and so is what it is told to trust.
    let (code, _, why) = runs(&root, &["renew", "--dir", dir, "--out", "x", "server.pem"]).await;
    assert!(code == 2 && why.contains("--out"), "{code} {why}");
    let (code, _, why) = runs(&root, &["renew", "--dir", dir, "nobody.pem"]).await;
    assert!(code != 0 && why.contains("nobody.pem"), "{code} {why}");
}

#[tokio::test]
async fn a_device_of_before_is_let_in_after_all_three_were_renewed() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("home-fleet");
    let mut server = fleet(&folder).await;
    signed(&folder, &server, "kitchen");
    fs::copy(folder.join("ca.pem"), folder.join("trusted.pem")).unwrap();
    for own in OwnCertificate::ALL {
        own.renew(&folder).unwrap();
    }
    assert_ne!(fs::read(folder.join("ca.pem")).unwrap(), fs::read(folder.join("trusted.pem")).unwrap());
    server.stop().await;
    let _server = crate::support::fleet::NatsServer::of(&folder).await;
    let kitchen = Broker::connect(BrokerOptions {
        servers: console(&folder).await.folder.servers.clone(),
        authority: folder.join("trusted.pem"),
        certificate: folder.join("kitchen.pem"),
        key: folder.join("kitchen.key"),
        name: "kitchen".into(),
        inbox: "_INBOX.kitchen".into(),
        persistent: false,
    });
    soon(kitchen).await.unwrap().flush().await.unwrap();
}

/// The certificate that the broker shows, in PEM.
async fn shown(port: u16, folder: &Path) -> String {
    let mut tcp = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    while tcp.read_u8().await.unwrap() != b'\n' {}
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let tls = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config)).connect(name, tcp).await.unwrap();
    let der = tls.get_ref().1.peer_certificates().unwrap()[0].clone();
    let served = fs::read_to_string(folder.join("server.pem")).unwrap();
    match CertificateDer::from_pem_slice(served.as_bytes()).unwrap() == der {
        true => served,
        false => String::new(),
    }
}
