//! `raspi-mcp claim`: what a person types on another computer.

use crate::{
    appliance::fresh::{Fresh, Up},
    support::served::{process::command, soon},
};
use appliance::Code;
use contract::access::token;
use raspi_mcp::claim::uri::ClaimUri;
use std::{fs, os::unix::fs::PermissionsExt};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

/// The program with this on its standard input: exit code, what it said, and why.
async fn run(home: &TempDir, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = command(home, &[&["claim"], args].concat()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may be done without reading.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = soon(child.wait_with_output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn begin() -> (Fresh, Up, TempDir, String) {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let pin = up.pin.to_string();
    (fresh, up, TempDir::new().unwrap(), pin)
}

#[tokio::test]
async fn the_token_goes_into_a_file_and_nowhere_else() {
    let (fresh, up, home, pin) = begin().await;
    let (url, code) = (up.url(""), fresh.code().to_string());
    let file = home.path().join("token");
    let named = file.to_str().unwrap();
    // A wrong code leaves no file; one that is there is never written over.
    let wrong = Code::mint().unwrap().to_string();
    let (exit, said, why) = run(&home, &[&url, "--fingerprint", &pin, "--out", named, "--code", &wrong], "").await;
    assert!(exit == Some(5) && said.is_empty() && why.contains("4 tries are left"), "{exit:?} {said} {why}");
    assert!(!file.exists());
    fs::write(&file, "mine").unwrap();
    let (exit, _, why) = run(&home, &[&url, "--fingerprint", &pin, "--out", named, "--code", &code], "").await;
    assert!(exit == Some(5) && why.contains("not there yet"), "{exit:?} {why}");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), fresh.tries_left()), ("mine", 4));
    fs::remove_file(&file).unwrap();

    // The code from standard input, as a person would type it.
    let typed = code.to_lowercase().replace('-', " ");
    let (exit, said, why) = run(&home, &[&url, "--fingerprint", &pin, "--out", named], &typed).await;
    assert_eq!((exit, said.as_str()), (Some(0), ""), "{why}");
    let token = fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(token.starts_with(token::PREFIX) && !why.contains(&token) && why.contains(named), "{why}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(up.calls(Some(&token)).await.0, 200);

    let (exit, _, why) = run(&home, &[&url, "--fingerprint", &pin], &code).await;
    assert!(exit == Some(5) && why.contains("claimed already"), "{exit:?} {why}");
}

#[tokio::test]
async fn the_line_of_the_qr_code_is_enough() {
    let (fresh, up, home, _) = begin().await;
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code());
    let (exit, said, why) = run(&home, &["-", "--json"], &format!("{line}\n")).await;
    assert_eq!(exit, Some(0), "{why}");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["fingerprint"], up.pin.to_string());
    assert_eq!(up.calls(said["token"].as_str()).await.0, 200);
}

#[tokio::test]
async fn what_cannot_be_right_is_not_sent() {
    let (fresh, up, home, pin) = begin().await;
    let (url, code) = (up.url(""), fresh.code().to_string());
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code());
    let plain = url.replace("https", "http");
    for (args, why) in [
        (&[url.as_str(), "--code", &code][..], "--fingerprint is missing"),
        (&[&plain, "--fingerprint", &pin, "--code", &code], "through TLS only"),
        (&[&url, "--fingerprint", &pin, "--code", &code[1..]], "28 letters and digits"),
        (&[&url, "--fingerprint", "sha256:00", "--code", &code], "64 hexadecimal digits"),
        (&[&line, "--code", &code], "leave --fingerprint and --code out"),
        (&[&line[..60]], "raspi-mcp://"),
        (&["pi.local", "--fingerprint", &pin, "--code", &code], "https://"),
        (&["--show", &url], "cannot be used with"),
        (&[], "ADDRESS"),
    ] {
        let (exit, said, told) = run(&home, args, "").await;
        assert!(exit == Some(2) && said.is_empty() && told.contains(why), "{args:?}: {exit:?} {said} {told}");
    }
    // Another machine's fingerprint: refused before the code is sent.
    let other = format!("sha256:{}", "0".repeat(64));
    let (exit, _, why) = run(&home, &[&url, "--fingerprint", &other, "--code", &code], "").await;
    assert!(exit == Some(1) && why.contains("nothing was sent to it"), "{exit:?} {why}");
    assert_eq!(fresh.tries_left(), 5);
    // And a machine that is none of these has nothing to show.
    let (exit, _, why) = run(&home, &["--show"], "").await;
    assert!(exit == Some(5) && why.contains("no appliance"), "{exit:?} {why}");
}
