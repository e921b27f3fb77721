//! `raspi-mcp tls` and `raspi-mcp call --pin`: from no certificate to a call over TLS.

use crate::support::served::{
    process::{Process, command},
    soon,
};
use std::{fs, os::unix::fs::PermissionsExt};
use tempfile::TempDir;

async fn run(root: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    let output = soon(command(root, args).output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn a_certificate_is_made_shown_and_not_lost() {
    let root = TempDir::new().unwrap();
    let (code, _, why) = run(&root, &["tls", "show"]).await;
    assert!(code == Some(4) && why.contains("raspi-mcp tls init"), "{code:?} {why}");

    let (code, made, why) = run(&root, &["tls", "init", "--name", "pi.example"]).await;
    assert_eq!(code, Some(0), "{why}");
    assert!(made.contains("localhost") && made.contains("pi.example") && made.contains("127.0.0.1"), "{made}");
    let (_, pin, _) = run(&root, &["tls", "show"]).await;
    assert!(pin.starts_with("sha256:") && made.contains(pin.trim()), "{pin} is in {made}");
    let mode =
        |name: &str| fs::metadata(root.path().join("state/tls").join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("key.pem"), mode("certificate.pem"), mode(".")), (0o600, 0o644, 0o700));

    let (code, _, why) = run(&root, &["tls", "init"]).await;
    assert!(code == Some(5) && why.contains("--replace"), "{code:?} {why}");
    assert_eq!(run(&root, &["tls", "show"]).await.1, pin, "it is still there");
    assert_eq!(run(&root, &["tls", "init", "--replace"]).await.0, Some(0));
    assert_ne!(run(&root, &["tls", "show"]).await.1, pin);
    let (code, _, why) = run(&root, &["tls", "init", "--replace", "--name", "nön ascii"]).await;
    assert!(code == Some(2) && why.contains("nön ascii"), "{code:?} {why}");
}

#[tokio::test]
async fn a_call_goes_through_the_pinned_certificate_only() {
    let root = TempDir::new().unwrap();
    assert_eq!(run(&root, &["tls", "init"]).await.0, Some(0));
    let pin = run(&root, &["tls", "show"]).await.1;
    let server = Process::http_in(root, &["--set", "tls.enabled=true"]).await;
    let (url, elsewhere) = (server.url.as_ref().unwrap().as_str(), TempDir::new().unwrap());
    let call = ["call", "system.get_clock", "--url", url];
    let (code, said, why) = run(&elsewhere, &[&call[..], &["--pin", pin.trim()]].concat()).await;
    assert!(code == Some(0) && said.contains("timezone"), "{code:?} {said} {why}");
    let other = format!("sha256:{}", "0".repeat(64));
    let (code, _, why) = run(&elsewhere, &[&call[..], &["--pin", &other]].concat()).await;
    assert!(code == Some(4) && why.contains("pinned"), "{code:?} {why}");
    let (code, _, why) = run(&elsewhere, &call).await;
    assert!(code == Some(4), "nobody vouches for it: {code:?} {why}");
    let plain = url.replace("https://", "http://");
    let (code, _, why) = run(&elsewhere, &["call", "system.get_clock", "--url", &plain]).await;
    assert!(code == Some(4) && why.contains("TLS"), "{code:?} {why}");
}

#[tokio::test]
async fn without_a_certificate_the_server_says_what_to_do() {
    let root = TempDir::new().unwrap();
    let (code, _, why) = run(&root, &["serve", "--set", "tls.enabled=true"]).await;
    assert!(code == Some(1) && why.contains("raspi-mcp tls init"), "{code:?} {why}");
}
