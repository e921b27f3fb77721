//! `raspi-mcp fleet status`: devices that are well, that went back, and that do not answer for every reason there is.

use crate::{
    manage::web::{Web, admin, looks_at, slot, until},
    support::served::{
        Pi,
        process::command,
        secure::{Owner, Secure},
        soon, token,
    },
};
use appliance::certificate::Fingerprint;
use contract::{config::Settings, meta::Role};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// The machine of whoever looks after a fleet.
pub struct Desk(TempDir);

impl Desk {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// A file that only its owner reads.
    pub fn put(&self, name: &str, text: &str) {
        self.put_as(name, text, 0o600);
    }

    fn put_as(&self, name: &str, text: &str, mode: u32) {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    async fn status(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let inventory = self.path("fleet.toml");
        let mut status = command(&self.0, &[&["fleet", "status", "--inventory", &inventory], more].concat());
        // What `call` takes from here is for nobody of an inventory.
        status.env("RASPI_MCP_TOKEN", "rmcp_of_the_environment");
        let output = soon(status.output()).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    async fn json(&self) -> (Option<i32>, Vec<Value>) {
        let (code, text, why) = self.status(&["--json"]).await;
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{why}"));
        (code, answer["devices"].as_array().unwrap().clone())
    }

    async fn refused(&self, inventory: &str, words: &str) {
        self.put("fleet.toml", inventory);
        let (code, said, why) = self.status(&[]).await;
        assert!(code == Some(3) && said.is_empty() && why.contains(words), "{inventory}: {code:?} {said} {why}");
        assert!(!why.contains("rmcp_"), "{inventory} is repeated: {why}");
    }
}

/// A device with TLS, and the read-only token that this desk has for it.
async fn device(owner: &Owner, change: impl FnOnce(&mut Settings)) -> (Secure, String) {
    let (secret, setting) = token("fleet", Role::ReadOnly);
    let secure = owner.starts(|settings| {
        settings.access.tokens.push(setting);
        change(settings);
    });
    (secure.await, secret)
}

/// A certificate for this machine from an authority of the owner's, whose own is returned.
fn by_an_authority(owner: &Owner) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(owner.folder().join("tls/certificate.pem"), certificate.pem()).unwrap();
    fs::write(owner.folder().join("tls/key.pem"), key.serialize_pem()).unwrap();
    authority
}

/// A server that says `answer` to whatever it is asked, with what follows "Bearer " in the place of `TOKEN`; nothing at all to `None`.
async fn stranger(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(answer) = answer else {
                held.push(stream);
                continue;
            };
            let mut asked = vec![0; 8192];
            let count = stream.read(&mut asked).await.unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
            let token = asked.split("Bearer ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap_or("none");
            let answer = answer.replace("TOKEN", token);
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

fn http(kind: &str, body: &str) -> &'static str {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}");
    Box::leak(text.into_boxed_str())
}

#[tokio::test]
async fn three_devices_tell_how_their_updates_went_and_the_rest_why_they_do_not() {
    let (mut good, mut bad) = (Web::new(), Web::new());
    good.release("1.1.0", 11, "the second system\n");
    bad.release("1.2.0", 12, "sick: its server does not start\n");
    let (kitchen, shed) = (Owner::new(), Owner::new());
    let authority = by_an_authority(&shed);
    let (kitchen, kitchen_token) = device(&kitchen, |settings| looks_at(settings, good.folder.path())).await;
    let (shed, shed_token) = device(&shed, |settings| {
        looks_at(settings, bad.folder.path());
        settings.update.health_deadline_seconds = 8;
    })
    .await;
    let fresh = Pi::standard(|_| {}).await;
    let (mut one, mut two) = (admin(&kitchen.pi).await, admin(&shed.pi).await);
    one.call("manage.update_server", json!({})).await.ok();
    two.call("manage.update_server", json!({})).await.ok();
    until(&mut one, "committed", |status| status["phase"] == "committed").await;
    until(&mut two, "back", |status| status["phase"] == "rolled_back" && slot(status, "B")["state"] == "bad").await;

    let desk = Desk::new();
    desk.put("kitchen.token", &format!("{kitchen_token}\n"));
    desk.put("wrong.token", "rmcp_nobody_knows_me");
    desk.put("authority.pem", &authority);
    let silent = stranger(None).await;
    let page = stranger(Some(http("text/html", "<html>Log in to the Wi-Fi</html>"))).await;
    // Its message is what it was sent, and it would clear the screen.
    let echo = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"you sent TOKEN \u001b[2J"}}"#;
    let echo = stranger(Some(http("application/json", echo))).await;
    let (at_kitchen, at_shed, pin) = (kitchen.url(""), shed.url("/mcp"), kitchen.pin);
    let other = Fingerprint::of(b"another");
    desk.put(
        "fleet.toml",
        &format!(
            "timeout_seconds = 5\nat_once = 3\ntoken_file = \"kitchen.token\"\n\
             [[devices]]\nname = \"silent\"\nurl = \"{silent}\"\n\
             [[devices]]\nname = \"kitchen\"\nurl = \"{at_kitchen}\"\npin = \"{pin}\"\n\
             [[devices]]\nname = \"shed\"\nurl = \"{at_shed}\"\nca_file = \"authority.pem\"\ntoken = \"{shed_token}\"\n\
             [[devices]]\nname = \"fresh\"\nurl = \"http://{}\"\n\
             [[devices]]\nname = \"stranger\"\nurl = \"{at_kitchen}\"\npin = \"{pin}\"\ntoken_file = \"wrong.token\"\n\
             [[devices]]\nname = \"swapped\"\nurl = \"{at_kitchen}\"\npin = \"{other}\"\n\
             [[devices]]\nname = \"unknown\"\nurl = \"{at_kitchen}\"\nca_file = \"authority.pem\"\n\
             [[devices]]\nname = \"portal\"\nurl = \"{page}\"\n\
             [[devices]]\nname = \"echo\"\nurl = \"{echo}\"\n\
             [[devices]]\nname = \"gone\"\nurl = \"http://127.0.0.1:1\"\n",
            fresh.address()
        ),
    );

    let (code, devices) = desk.json().await;
    let named = |name: &str| devices.iter().find(|device| device["name"] == name).unwrap();
    assert_eq!(devices.iter().map(|device| device["name"].as_str().unwrap()).collect::<Vec<_>>().join(" "), {
        "silent kitchen shed fresh stranger swapped unknown portal echo gone"
    });
    assert_eq!(code, Some(4), "some do not answer");
    let kitchen = named("kitchen");
    assert_eq!((&kitchen["answers"], &kitchen["version"]), (&json!(true), &json!("1.1.0")), "{kitchen:#}");
    assert_eq!(kitchen["running"], json!({"slot": "B", "state": "good", "version": "1.1.0"}));
    assert_eq!(kitchen["other"]["slot"], "A");
    assert_eq!(kitchen["last_attempt"]["phase"], "committed");
    assert_eq!((&kitchen["healthy"], &kitchen["problems"]), (&json!(true), &json!([])), "{kitchen:#}");
    assert_eq!(kitchen["simulated"], true);
    let shed = named("shed");
    assert_eq!((&shed["running"]["slot"], &shed["other"]["state"]), (&json!("A"), &json!("bad")), "{shed:#}");
    assert_eq!(shed["last_attempt"]["phase"], "rolled_back");
    assert!(shed["last_attempt"]["reason"].as_str().unwrap().contains("its server does not start"), "{shed:#}");
    // The kitchen's token is not known there, and without one this machine may read: no device of the list gets the environment's.
    let fresh = named("fresh");
    assert_eq!(fresh["error"]["error_code"], "unauthenticated", "{fresh:#}");

    for (name, code, why, what) in [
        ("silent", "timeout", "more than 5 s", "timeout_seconds"),
        ("stranger", "unauthenticated", "token", "raspi-mcp token new"),
        ("swapped", "verification_failed", "the pinned one", "raspi-mcp tls show"),
        ("unknown", "verification_failed", "vouches", "ca_file"),
        ("portal", "unavailable", "text/html", "portal"),
        ("echo", "unavailable", "you sent [redacted]", ""),
        ("gone", "unavailable", "refused", "doctor"),
    ] {
        let error = &named(name)["error"];
        assert_eq!((&named(name)["answers"], error["error_code"].as_str()), (&json!(false), Some(code)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        assert!(error["hint"].as_str().unwrap_or_default().contains(what), "{error}");
    }

    let (code, table, why) = desk.status(&[]).await;
    assert_eq!((code, why.as_str()), (Some(4), ""));
    let line = |name: &str| table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default();
    assert!(line("kitchen").contains("B good") && line("kitchen").contains("1.1.0 committed"), "{table}");
    assert!(line("shed").contains("B bad (1.2.0)") && line("shed").contains("1.2.0 rolled back"), "{table}");
    assert!(line("portal").ends_with("no answer") && table.contains("10 devices: 2 good"), "{table}");
    assert!(!table.contains('\x1b'), "{table:?}");
    for secret in [&kitchen_token, &shed_token, "rmcp_"] {
        assert!(!table.contains(secret) && !json!(devices).to_string().contains(secret), "{table}");
    }
}

#[tokio::test]
async fn the_exit_code_tells_the_worst_of_it() {
    let well = Pi::standard(|_| {}).await;
    let unwell = Pi::standard(|settings| settings.restricted.push("20-state.toml was set aside".into())).await;
    let (at_well, at_unwell) = (well.address(), unwell.address());
    let desk = Desk::new();
    let entry =
        |name: &str, at: &dyn std::fmt::Display| format!("[[devices]]\nname = \"{name}\"\nurl = \"http://{at}\"\n");
    desk.put_as("fleet.toml", &entry("well", &at_well), 0o644);
    let (code, table, why) = desk.status(&[]).await;
    assert!(code == Some(0) && table.contains("A good") && table.contains("1 device: 1 good"), "{table}{why}");

    let two = entry("well", &at_well) + &entry("unwell", &at_unwell);
    desk.put("fleet.toml", &two);
    let (code, table, _) = desk.status(&[]).await;
    assert!(code == Some(1) && table.contains("wrong: configuration: 20-state.toml was set aside"), "{table}");

    let mistaken = entry("mistaken", &at_well) + "token = \"rmcp_mistaken\"\n";
    desk.put("fleet.toml", &(two.clone() + &mistaken));
    assert_eq!(desk.json().await.0, Some(5));
    desk.put("fleet.toml", &(two + &mistaken + &entry("gone", &"127.0.0.1:1")));
    assert_eq!(desk.json().await.0, Some(4));
}

#[tokio::test]
async fn an_inventory_is_understood_or_refused_with_the_line() {
    let desk = Desk::new();
    desk.put("good.token", "rmcp_good");
    desk.put("empty.token", " \n");
    desk.put("empty.pem", "nothing\n");
    desk.put_as("open.token", "rmcp_open", 0o644);
    let one = "[[devices]]\nname = \"a\"\nurl = \"https://a.example\"\n";
    let with = |more: &str| format!("{one}{more}\n");
    for (inventory, words) in [
        ("", "names no device"),
        ("devices = 1", "fleet.toml:1:11: devices must be tables [[devices]]"),
        ("[devices]\nname = \"a\"", "devices must be tables [[devices]]"),
        ("[[devices]]\nname = a", "fleet.toml:2:8: not TOML"),
        ("[[devices]]\nname = \"a\"", "fleet.toml:1:1: this device has no url"),
        ("[[devices]]\nurl = \"https://a\"", "this device has no name"),
        ("[[devices]]\nname = \"A b\"\nurl = \"https://a\"", "fleet.toml:2:8: devices.name"),
        ("[[devices]]\nname = \"a\\u0000\"\nurl = \"https://a\"", "fleet.toml:2:8: devices.name"),
        ("[[devices]]\nname = 7\nurl = 8", "devices.url is no address"),
        ("[[devices]]\nname = \"a\"\nurl = \"pi.local\"", "fleet.toml:3:7: devices.url is no address"),
        ("[[devices]]\nname = \"a\"\nurl = \"ftp://a\"", "begins with ftp://"),
        ("[[devices]]\nname = \"a\"\nurl = \"https://rmcp_x@a\"", "must have no name, password"),
        ("[[devices]]\nname = \"a\"\nurl = \"https://a/?t=rmcp_x\"", "query or fragment"),
        ("[[devices]]\nname = \"a\"\nurl = \"http://pi.example\"\ntoken = \"rmcp_x\"", "unencrypted"),
        (
            &format!("[[devices]]\nname = \"a\"\nurl = \"http://127.0.0.1\"\npin = \"sha256:{}\"", "0".repeat(64)),
            "has none",
        ),
        (&with("pin = \"sha256:00\""), "fleet.toml:4:7: devices.pin"),
        (&with("tokn = \"rmcp_x\""), "fleet.toml:4:1: unknown key \"tokn\" in [[devices]]; did you mean \"token\"?"),
        (&with("token = \"rmcp_x y\""), "devices.token"),
        (&with("token = [\"rmcp_x\"]"), "devices.token"),
        (&with("token = \"rmcp_x\"\ntoken_file = \"good.token\""), "fleet.toml:5:14: a has token and token_file"),
        (&with("token_file = \"no.token\""), "no.token: cannot read this file"),
        (&with("token_file = \"open.token\""), "open.token: everybody on this machine may read this token: chmod 600"),
        (&with("token_file = \"empty.token\""), "empty.token: it holds no token"),
        (&with("token_file = \".\""), "is not a regular file"),
        (&with("ca_file = \"empty.pem\""), "empty.pem: holds no certificate"),
        (&with("ca_file = 3"), "devices.ca_file must be the path of a file"),
        (&format!("{one}{one}"), "fleet.toml:4:1: there is a device a already"),
        (
            &format!("timeout_seconds = 0\n{one}"),
            "fleet.toml:1:19: timeout_seconds must be a whole number from 1 to 120",
        ),
        (&format!("at_once = 65\n{one}"), "at_once must be a whole number from 1 to 64, not 65"),
        (&format!("at_once = \"many\"\n{one}"), "at_once must be"),
        (&format!("device = 1\n{one}"), "unknown key \"device\"; did you mean \"devices\"?"),
        (&format!("token_file = true\n{one}"), "token_file must be the path of a file"),
        (&"[[devices]]\n".repeat(1025), "devices has 1025 entries; at most 1024"),
        (&format!("#{}\n{one}", "x".repeat(1 << 20)), "larger than 1 MiB"),
    ] {
        desk.refused(inventory, words).await;
    }
    // With a token in it, it is nobody else's.
    desk.put_as("fleet.toml", &with("token = \"rmcp_x\""), 0o644);
    let (code, _, why) = desk.status(&[]).await;
    assert!(code == Some(3) && why.contains("fleet.toml:4:9: holds a token, and everybody"), "{why}");
    assert!(why.contains("chmod 600") && !why.contains("rmcp_"), "{why}");
}

#[test]
fn the_example_of_the_documentation_is_one() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md")).unwrap();
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let desk = Desk::new();
    desk.put("fleet.toml", example);
    desk.put("kitchen.token", "rmcp_kitchen");
    desk.put("shed.token", "rmcp_shed");
    let authority = rcgen::generate_simple_self_signed(vec!["authority".to_owned()]).unwrap();
    desk.put("authority.pem", &authority.cert.pem());
    let inventory = raspi_mcp::fleet::Inventory::read(Path::new(&desk.path("fleet.toml"))).unwrap();
    let names: Vec<_> = inventory.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["kitchen", "shed", "this"]);
}
