//! The owner's word from another computer: allow, tokens, approvers and a halt, end to end with the real program.

use crate::support::served::{
    Door, Pi, Wire,
    secure::{Owner, pinned},
    soon,
};
use contract::{access::token, config::Sources};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// A device that has an owner with a token and an approver, anna, who is elsewhere.
struct Far {
    pi: Pi,
    sources: Sources,
    owner: Owner,
    home: TempDir,
    device: String,
}

impl Far {
    async fn new() -> Self {
        let owner = Owner::new();
        let tls = owner.folder().join("tls");
        let (laptop, access) = (owner.setting(), "[access]\nrequire_token = true\n");
        let tls = format!(
            "[tls]\nenabled = true\ncertificate = {:?}\nkey = {:?}\n",
            tls.join("certificate.pem"),
            tls.join("key.pem")
        );
        let site =
            [("10-tls.toml", &*tls), ("20-access.toml", access), ("30-laptop.toml", &token::lines(laptop).unwrap())];
        let (pi, sources) = Pi::of_site(&site).await;
        let mut far = Self { pi, sources, owner, home: TempDir::new().unwrap(), device: String::new() };
        let public = far.key("anna").await;
        let added = far.at_the_console(&["approver", "add", "--name", "anna", "--key", &public]).await;
        far.device = added.lines().find_map(|line| line.strip_prefix("device ")).expect(&added).to_owned();
        far
    }

    /// Makes the key of a person, and returns its public half.
    async fn key(&self, person: &str) -> String {
        let out = self.file(person);
        self.at_the_console(&["approver", "key", "--out", &out]).await.trim().to_owned()
    }

    fn file(&self, person: &str) -> String {
        self.home.path().join(format!("{person}.key")).display().to_string()
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.args(args).env_clear().env("HOME", self.home.path()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn socket(&self) -> String {
        format!("places.agent_socket={}", self.sources.places.agent_socket.display())
    }

    async fn at_the_console(&self, args: &[&str]) -> String {
        let socket = self.socket();
        said(self.program(&[&["--set", &socket], args].concat())).await.unwrap_or_else(|why| panic!("{args:?}: {why}"))
    }

    /// The same command from elsewhere, signed by `person`, through the server or another carrier.
    async fn through(&self, (url, pin): (&str, &str), person: &str, args: &[&str]) -> Result<String, String> {
        let key = self.file(person);
        let to = ["--url", url, "--pin", pin, "--key", &key, "--device", &self.device];
        said(self.program(&[args, &to].concat())).await
    }

    async fn afar(&self, person: &str, args: &[&str]) -> Result<String, String> {
        self.through((&self.url(""), &self.owner.pin.to_string()), person, args).await
    }

    async fn anna(&self, args: &[&str]) -> String {
        self.afar("anna", args).await.unwrap_or_else(|why| panic!("{args:?}: {why}"))
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.pi.address())
    }

    /// A conversation with that token.
    fn wire(&self, token: &str) -> Wire {
        let mut wire = Wire::http(Door::Api, self.url("/api/mcp"));
        wire.post().client = pinned(self.owner.pin).build().unwrap();
        wire.post().headers = vec![("authorization".into(), format!("Bearer {token}"))];
        wire
    }

    /// The status of a request with that token.
    async fn status(&self, token: &str) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let post = pinned(self.owner.pin).build().unwrap().post(self.url("/api/mcp")).bearer_auth(token).json(&body);
        soon(post.send()).await.unwrap().status().as_u16()
    }
}

async fn said(mut command: Command) -> Result<String, String> {
    let output = soon(command.output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[tokio::test]
async fn a_tool_is_opened_and_closed_from_elsewhere() {
    let far = Far::new().await;
    let mut wire = far.wire(&far.owner.token);
    let high = json!({"pin": 17, "value": "high"});
    wire.call("gpio.write_pin", high.clone()).await.failed("permission_denied");
    let opened = far.anna(&["allow", "gpio.write_pin", "--pin", "17", "--for", "laptop"]).await;
    assert!(opened.contains("gpio.write_pin is open for token:laptop, on GPIO 17; it counts at once"), "{opened}");
    wire.call("gpio.write_pin", high.clone()).await.ok();
    wire.call("gpio.configure_pin", json!({"pin": 17, "mode": "input"})).await.failed("permission_denied");
    let listed = far.anna(&["allow", "--list"]).await;
    assert!(listed.contains("for token:laptop  GPIO 17  by anna (signed)"), "{listed}");
    let closed = far.anna(&["revoke", "gpio.write_pin", "17"]).await;
    assert!(closed.contains("closed; it counts at once"), "{closed}");
    wire.call("gpio.write_pin", high).await.failed("permission_denied");
    // A refusal of the device is told as at its console.
    let nothing = far.afar("anna", &["revoke", "gpio.write_pin"]).await.unwrap_err();
    assert!(nothing.contains("holds nothing of that of gpio.write_pin"), "{nothing}");
    // I2C devices are told from the device's ID.
    let opened = far.anna(&["allow", "i2c.read", "--device", "1:0x48"]).await;
    assert!(opened.contains("1:0x48"), "{opened}");
    far.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_is_made_used_and_revoked_and_no_carrier_sees_it() {
    let far = Far::new().await;
    let made = far.anna(&["token", "make", "--name", "phone", "--role", "read_only"]).await;
    let secret = made.split_whitespace().find(|word| word.starts_with("rmcp_")).expect(&made);
    assert_eq!(far.status(secret).await, 200);
    let listed = far.anna(&["token", "list"]).await;
    assert!(listed.contains("phone") && listed.contains("laptop"), "{listed}");
    let all: Value = serde_json::from_str(&far.anna(&["token", "list", "--json"]).await).unwrap();
    assert!(all.as_array().unwrap().iter().any(|token| token["name"] == "phone"), "{all}");
    let log = std::fs::read_to_string(far.sources.places.agent_state_dir.join("operations.ndjson")).unwrap();
    assert!(log.contains("make_token") && !log.contains(secret), "{log}");
    let taken = far.afar("anna", &["token", "make", "--name", "phone", "--role", "admin"]).await.unwrap_err();
    assert!(taken.contains("there is a token named phone already") && !taken.contains("rmcp_"), "{taken}");
    far.anna(&["token", "revoke", "phone"]).await;
    assert_eq!(far.status(secret).await, 401);
    far.pi.stop().await.unwrap();
}

#[tokio::test]
async fn an_approver_enrols_another_and_lifts_a_halt_through_either_carrier() {
    let far = Far::new().await;
    let mut page = far.program(&["--set", &far.socket(), "approval-page", "--listen", "127.0.0.1:0"]);
    let mut page = page.arg("--folder").arg(far.home.path().join("page")).spawn().unwrap();
    let (url, pin) = address(&mut page).await;
    let page_at = (&*url, &*pin);

    let (ben, key) = (far.key("ben").await, far.file("anna"));
    let stranger = far.afar("ben", &["approver", "list"]).await.unwrap_err();
    assert!(stranger.contains("not enrolled"), "{stranger}");
    let once =
        far.program(&["approver", "add", "--name", "ben", "--key", &ben, "--url", &url, "--device", &far.device]);
    assert!(said(once).await.unwrap_err().contains("give --key twice"));
    far.through(page_at, "anna", &["approver", "add", "--name", "ben", "--key", &ben]).await.unwrap();
    let listed = far.through(page_at, "ben", &["approver", "list"]).await.unwrap();
    assert!(listed.contains(&format!("device {}", far.device)) && listed.contains("by anna"), "{listed}");

    far.anna(&["allow", "manage.halt"]).await;
    let mut wire = far.wire(&far.owner.token);
    for carrier in [page_at, (&*far.url(""), &*far.owner.pin.to_string())] {
        wire.call("manage.halt", json!({})).await.ok();
        let halts = far.through(carrier, "ben", &["halt"]).await.unwrap_err();
        assert!(halts.contains("only lifts a halt"), "{halts}");
        let lifted = far.through(carrier, "ben", &["halt", "--lift"]).await.unwrap();
        assert!(lifted.contains("lifted: changes are possible again"), "{lifted}");
    }
    far.anna(&["approver", "revoke", "ben"]).await;
    assert!(far.afar("ben", &["halt", "--lift"]).await.unwrap_err().contains("not enrolled"));
    let last = far.anna(&["approver", "revoke", "anna"]).await;
    assert!(last.contains("it was the last key"), "{last}");
    assert!(std::path::Path::new(&key).exists());
    far.pi.stop().await.unwrap();
}

/// Where the approval page listens, and its fingerprint.
async fn address(page: &mut Child) -> (String, String) {
    let mut lines = BufReader::new(page.stderr.take().unwrap()).lines();
    let line = soon(lines.next_line()).await.unwrap().expect("it says where it listens");
    let (_, rest) = line.split_once("listens on ").expect("it says where it listens");
    let (url, pin) = rest.split_once(", certificate ").expect("and its certificate");
    // Read on, so that the page never blocks.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (url.to_owned(), pin.trim().to_owned())
}

#[tokio::test]
async fn what_is_posted_as_an_order_is_bounded_and_judged() {
    let far = Far::new().await;
    let client = pinned(far.owner.pin).build().unwrap();
    let post = async |body: String, kind: &str| {
        let request = client.post(far.url("/owner")).header("content-type", kind).body(body);
        soon(request.send()).await.unwrap().status().as_u16()
    };
    let json = "application/json";
    let order = |document: &str| json!({"document": document, "key": "", "kind": "cli", "signature": ""}).to_string();
    assert_eq!(post("{}".into(), json).await, 400);
    assert_eq!(post(order("{}"), json).await, 400);
    assert_eq!(post(order("{}"), "text/plain").await, 400, "a form of another page");
    assert_eq!(post(order(&"x".repeat(8192)), json).await, 413);
    let get = soon(client.get(far.url("/owner")).send()).await.unwrap();
    assert_eq!((get.status().as_u16(), &get.headers()["allow"]), (405, &"POST".parse().unwrap()));
    let elsewhere = client.post(far.url("/owner")).header("origin", "https://evil.example").json(&json!({}));
    assert_eq!(soon(elsewhere.send()).await.unwrap().status().as_u16(), 403);
    let denied = soon(client.get(far.url("/owner/")).send()).await.unwrap();
    assert_eq!(denied.status().as_u16(), 401, "another path needs a token");
    far.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_backup_is_made_from_elsewhere_opened_by_its_passphrase_and_never_written_over() {
    let far = Far::new().await;
    far.anna(&["allow", "gpio.write_pin", "--pin", "17"]).await;
    let at = |name: &str| far.home.path().join(name).display().to_string();
    let (file, words, other) = (at("porch.backup"), at("words"), at("other"));
    fs::write(&words, "five words that nobody guesses\n").unwrap();
    fs::write(&other, "five words that somebody guesses\n").unwrap();
    let backup = ["backup", "--identity", "--out", &file, "--passphrase-file", &words];
    far.anna(&backup).await;
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"RMBACKUP") && !String::from_utf8_lossy(&bytes).contains("gpio"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let twice = far.afar("anna", &backup).await.unwrap_err();
    assert!(twice.contains("cannot write") && fs::read(&file).unwrap() == bytes, "{twice}");

    let check = |words: &str| said(far.program(&["backup", "--check", &file, "--passphrase-file", words]));
    let told = check(&words).await.unwrap();
    for part in [&*far.device, "with its identity", "/etc/raspi-mcp/50-allow-gpio.toml", "of the agent: approvers.json"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let wrong = check(&other).await.unwrap_err();
    assert!(wrong.contains("does not open this backup"), "{wrong}");

    // What fails leaves no file.
    let (none, short) = (at("none.backup"), at("short"));
    fs::write(&short, "too short\n").unwrap();
    far.key("ben").await;
    let refused = far.afar("ben", &["backup", "--out", &none, "--passphrase-file", &words]).await.unwrap_err();
    assert!(refused.contains("not enrolled"), "{refused}");
    let refused = far.afar("anna", &["backup", "--out", &none, "--passphrase-file", &short]).await.unwrap_err();
    assert!(refused.contains("12 to 256 characters"), "{refused}");
    assert!(!std::path::Path::new(&none).exists());
    let plain = at("plain.backup");
    far.at_the_console(&["backup", "--out", &plain, "--passphrase-file", &words]).await;
    let told = said(far.program(&["backup", "--check", &plain, "--passphrase-file", &words])).await.unwrap();
    assert!(told.contains("without its identity"), "{told}");
    far.pi.stop().await.unwrap();
}
