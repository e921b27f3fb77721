//! `raspi-mcp claim`: what a person types on another computer.

use crate::{
    appliance::fresh::{Fresh, Up},
    support::served::{process::command, soon},
};
use agent::approvers::ApproverSecret;
use appliance::Code;
use contract::access::token;
use raspi_mcp::{
    claim::uri::ClaimUri,
    fleet::{
        console::FleetFolder,
        desk::{self, NewFleet},
    },
};
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
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), None);
    let (exit, said, why) = run(&home, &["-", "--json"], &format!("{line}\n")).await;
    assert_eq!(exit, Some(0), "{why}");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["fingerprint"], up.pin.to_string());
    assert_eq!(up.calls(said["token"].as_str()).await.0, 200);
}

/// Makes a key with `raspi-mcp approver key`; its file.
async fn a_key(home: &TempDir) -> String {
    let file = home.path().join("anna.key").to_str().unwrap().to_owned();
    let made = soon(command(home, &["approver", "key", "--out", &file]).output()).await.unwrap();
    assert!(made.status.success(), "{made:?}");
    file
}

#[tokio::test]
async fn an_approver_comes_with_the_claim_and_can_approve_at_once() {
    let (fresh, up, home, _) = begin().await;
    let (key, device) = (a_key(&home).await, fresh.folder().device().unwrap());
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), Some(&"0f".repeat(32)));
    let (exit, said, why) = run(&home, &[&line, "--approver", &key], "").await;
    assert!(
        exit == Some(1) && said.is_empty() && why.contains("another device took the code"),
        "{exit:?} {said} {why}"
    );
    assert!(!fresh.folder().standing().unwrap().unwrap().claimed);

    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), Some(&device));
    let (exit, _, why) = run(&home, &[&line, "--approver", &key, "--approver-name", "anna"], "").await;
    assert_eq!(exit, Some(0), "{why}");
    let now = up.approvers().await;
    assert_eq!((now.len(), now[0].name.as_str()), (1, "anna"));
    // The command that it prints works as it stands.
    let line = why.lines().find_map(|line| line.strip_prefix("raspi-mcp ")).filter(|line| line.contains(&device));
    let args: Vec<&str> = line.unwrap_or_else(|| panic!("{why}")).split(' ').chain(["--list"]).collect();
    let listed = soon(command(&home, &args).output()).await.unwrap();
    assert!(listed.status.success(), "{listed:?}");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("nothing waits"), "{listed:?}");
}

#[tokio::test]
async fn a_claimed_machine_is_in_the_fleet_in_the_same_step() {
    let (fresh, up, home, _) = begin().await;
    let (key, device) = (a_key(&home).await, fresh.folder().device().unwrap());
    let folder = home.path().join("home-fleet");
    let new = NewFleet { name: "home".into(), servers: vec!["tls://broker.test:4222".into()], hosts: Vec::new() };
    desk::init(&folder, &new).unwrap();
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), Some(&device));
    let claim = [&line, "--fleet", folder.to_str().unwrap(), "--approver"];
    // What cannot work is refused before the claim.
    let public = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap().public().text().to_owned();
    let (exit, _, why) = run(&home, &[&claim[..], &[&public, "--name", "kitchen"]].concat(), "").await;
    assert!(exit == Some(2) && why.contains("file of your secret key"), "{exit:?} {why}");
    let (exit, _, why) = run(&home, &[&claim[..], &[&key, "--name", "Kitchen"]].concat(), "").await;
    assert!(exit == Some(2) && !fresh.folder().standing().unwrap().unwrap().claimed, "{exit:?} {why}");
    let (exit, token, why) = run(&home, &[&claim[..], &[&key, "--name", "kitchen"]].concat(), "").await;
    assert!(exit == Some(0) && why.contains("kitchen belongs to the fleet home"), "{exit:?} {why}");
    assert_eq!(up.calls(Some(token.trim())).await.0, 200, "only the token is on standard output");
    let member = fresh.identity().fleet.member.clone().unwrap();
    assert!(member.settings.contains("kitchen"), "{}", member.settings);
    assert_eq!(FleetFolder::read(&folder).unwrap().device("kitchen").unwrap().device, device);
}

#[tokio::test]
async fn a_machine_that_was_claimed_and_not_enrolled_goes_on_by_the_commands_that_are_told() {
    let (fresh, up, home, _) = begin().await;
    let (key, device) = (a_key(&home).await, fresh.folder().device().unwrap());
    let folder = home.path().join("home-fleet");
    let new = NewFleet { name: "home".into(), servers: vec!["tls://broker.test:4222".into()], hosts: Vec::new() };
    desk::init(&folder, &new).unwrap();
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), Some(&device));
    // The registry cannot be written: known only after the claim.
    fs::remove_dir(folder.join("devices")).unwrap();
    let args = [&line, "--fleet", folder.to_str().unwrap(), "--approver", &key, "--name", "kitchen"];
    let (exit, token, why) = run(&home, &args, "").await;
    assert!(exit != Some(0) && why.contains("claimed and yours, but not in the fleet"), "{exit:?} {why}");
    assert_eq!(up.calls(Some(token.trim())).await.0, 200);
    fs::create_dir(folder.join("devices")).unwrap();
    let commands: Vec<&str> = why.lines().filter_map(|line| line.strip_prefix("raspi-mcp fleet ")).collect();
    assert_eq!(commands.len(), 3, "{why}");
    for line in commands {
        let args: Vec<&str> = ["fleet"].into_iter().chain(line.split(' ')).collect();
        let done = soon(command(&home, &args).current_dir(home.path()).output()).await.unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    assert!(fresh.identity().fleet.member.is_some());
}

#[tokio::test]
async fn an_owner_enrols_the_first_approver_with_a_code_from_the_screen() {
    let (fresh, up, home, pin) = begin().await;
    let token = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&token).await.0, 200);
    let (key, device) = (a_key(&home).await, fresh.folder().device().unwrap());
    let file = home.path().join("owner.token");
    fs::write(&file, &token).unwrap();
    let url = up.url("");
    let args =
        ["approver", "enroll", "--url", &url, "--pin", &pin, "--token-file", file.to_str().unwrap(), "--key", &key];
    let mut child = command(&home, &[&args[..], &["--device", &device]].concat()).spawn().unwrap();
    let code = async {
        loop {
            if let Some(claim) = fresh.folder().claim().unwrap() {
                return claim.code;
            }
            tokio::task::yield_now().await;
        }
    };
    let code = soon(code).await;
    child.stdin.take().unwrap().write_all(format!("{code}\n").as_bytes()).await.unwrap();
    let output = soon(child.wait_with_output()).await.unwrap();
    let (said, why) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && said.contains(&format!("device {device}")), "{said} {why}");
    assert!(why.contains(&format!("--key {key} --device {device}")), "{why}");
    assert_eq!(up.approvers().await[0].name, "owner");
}

#[tokio::test]
async fn what_cannot_be_right_is_not_sent() {
    let (fresh, up, home, pin) = begin().await;
    let (url, code) = (up.url(""), fresh.code().to_string());
    let line = ClaimUri::line(&up.address().to_string(), up.pin, &fresh.code(), None);
    let plain = url.replace("https", "http");
    for (args, why) in [
        (&[url.as_str(), "--code", &code][..], "--fingerprint is missing"),
        (&[&plain, "--fingerprint", &pin, "--code", &code], "through TLS only"),
        (&[&url, "--fingerprint", &pin, "--code", &code[1..]], "28 letters and digits"),
        (&[&url, "--fingerprint", "sha256:00", "--code", &code], "64 hexadecimal digits"),
        (&[&url, "--fingerprint", &pin, "--code", &code, "--device", "0f"], "device's ID has 64 hexadecimal"),
        (&[&url, "--fingerprint", &pin, "--code", &code, "--approver-name", "anna"], "--approver"),
        (&[&line, "--code", &code], "leave --fingerprint, --code and --device out"),
        (&[&line[..60]], "raspi-mcp://"),
        (&["pi.local", "--fingerprint", &pin, "--code", &code], "https://"),
        (&["--show", &url], "cannot be used with"),
        (&[], "ADDRESS"),
    ] {
        let (exit, said, told) = run(&home, args, "").await;
        assert!(exit == Some(2) && said.is_empty() && told.contains(why), "{args:?}: {exit:?} {said} {told}");
    }
    // A key that is none: neither a file nor a public key.
    let (exit, _, why) = run(&home, &[&url, "--fingerprint", &pin, "--code", &code, "--approver", "nokey"], "").await;
    assert!(exit == Some(1) && why.contains("cannot read nokey"), "{exit:?} {why}");
    // Another machine's fingerprint: refused before the code is sent.
    let other = format!("sha256:{}", "0".repeat(64));
    let (exit, _, why) = run(&home, &[&url, "--fingerprint", &other, "--code", &code], "").await;
    assert!(exit == Some(1) && why.contains("nothing was sent to it"), "{exit:?} {why}");
    assert_eq!(fresh.tries_left(), 5);
    // And a machine that is none of these has nothing to show.
    let (exit, _, why) = run(&home, &["--show"], "").await;
    assert!(exit == Some(5) && why.contains("no appliance"), "{exit:?} {why}");
}
