//! `raspi-mcp routeros add`, `list`, `test` and `remove`, and what `[[routeros]]` may say.

use super::house::table;
use crate::{cli::terminal::Terminal, support::served::soon};
use appliance::certificate::Fingerprint;
use contract::config::{self, Places, Sources};
use routeros_simulator::{PASSWORD, Profile, Router, server::Listener};
use serde_json::Value;
use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

/// Root's folders are the machine's, and no test writes there.
const NOBODY: u32 = 65534;

/// A user's own configuration, and a router.
struct Desk {
    home: TempDir,
    listener: Listener,
}

impl Desk {
    async fn new() -> Self {
        let listener = Listener::bind(Router::new(Profile::V7_16), "127.0.0.1:0").await.unwrap();
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("word"), format!("{PASSWORD}\n")).unwrap();
        fs::write(home.path().join("wrong"), "another word\n").unwrap();
        if rustix::process::geteuid().is_root() {
            for path in ["", "word", "wrong"] {
                chown(home.path().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Self { home, listener }
    }

    fn pin(&self) -> String {
        Fingerprint::of(self.listener.certificate()).to_string()
    }

    fn site(&self) -> PathBuf {
        self.home.path().join("raspi-mcp")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.env_clear().arg("routeros").args(args).current_dir(self.home.path());
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(name, self.home.path());
        }
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    async fn run(&self, args: &[&str]) -> (i32, String) {
        let Output { status, stdout, stderr } =
            soon(tokio::process::Command::from(self.command(args)).output()).await.unwrap();
        let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(!text.contains(PASSWORD), "{text}");
        (status.code().unwrap(), text)
    }

    async fn add(&self, more: &[&str]) -> (i32, String) {
        let address = self.listener.address().to_string();
        self.run(&[&["add", "edge", "--address", &address, "--user", "raspi"], more].concat()).await
    }

    /// The files below the site's folder.
    fn files(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        walk(&self.site(), &mut all);
        all
    }
}

/// All files below a folder.
pub fn walk(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, all) } else { all.push(path) }
    }
}

#[tokio::test]
async fn a_router_is_added_listed_tested_and_removed() {
    let desk = Desk::new().await;
    let pin = desk.pin();
    let open = ["--pin", &pin, "--password-file", "word", "--environment", "lab", "--tag", "site=attic, \"north\""];
    let (code, said) = desk.add(&[&open[..], &["--allow-advanced"]].concat()).await;
    assert_eq!(code, 0, "{said}");
    for part in ["RouterOS 7.16", "written: ", "systemctl restart raspi-mcp-agent raspi-mcp-routeros raspi-mcp"] {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
    let password = desk.site().join("routeros/edge");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&password), mode(&desk.site().join("routeros"))), (0o600, 0o700));
    assert_eq!(fs::read_to_string(&password).unwrap(), format!("{PASSWORD}\n"));
    for file in desk.files().iter().filter(|file| **file != password) {
        assert!(!fs::read_to_string(file).unwrap().contains(PASSWORD), "{}", file.display());
    }
    let (_, json) = desk.run(&["list", "--json"]).await;
    let listed: Value = serde_json::from_str(&json).unwrap();
    let router = &listed["routers"][0];
    assert_eq!(
        (&router["name"], &router["environment"], &router["tags"]["site"], &router["allow_advanced"]),
        (&"edge".into(), &"lab".into(), &"attic, \"north\"".into(), &true.into()),
        "{listed}"
    );
    let (_, table) = desk.run(&["list"]).await;
    assert!(table.contains("edge") && table.contains("single changes"), "{table}");
    // Twice is refused, and leaves what is there.
    let (code, said) = desk.add(&["--pin", &pin, "--password-file", "word"]).await;
    assert!(code == 5 && said.contains("already"), "{code}: {said}");
    let (code, said) = desk.run(&["test", "edge"]).await;
    assert!(code == 0 && said.contains("no others"), "{code}: {said}");
    let (code, said) = desk.run(&["test", "edg"]).await;
    assert!(code == 1 && said.contains("did you mean edge?"), "{code}: {said}");
    let (code, said) = desk.run(&["remove", "edge"]).await;
    assert!(code == 0 && desk.files().is_empty(), "{code}: {said}");
    let (code, said) = desk.run(&["remove", "edge"]).await;
    assert!(code == 1 && said.contains("no router"), "{code}: {said}");
}

/// Two routers with one password: each gets a file of its own, so that either is removed without the other.
#[tokio::test]
async fn two_routers_are_added_from_one_password_file() {
    let desk = Desk::new().await;
    let (address, pin) = (desk.listener.address().to_string(), desk.pin());
    for name in ["edge", "core"] {
        let args = ["add", name, "--address", &address, "--user", "raspi", "--pin", &pin, "--password-file", "word"];
        let (code, said) = desk.run(&[&args[..], &["--allow-advanced"]].concat()).await;
        assert_eq!(code, 0, "{said}");
    }
    let own = |name: &str| desk.site().join("routeros").join(name);
    let (code, said) = desk.run(&["remove", "edge"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(!own("edge").exists());
    assert_eq!(fs::read_to_string(own("core")).unwrap(), format!("{PASSWORD}\n"));
    assert!(desk.home.path().join("word").exists(), "the file that was read is the user's");
    let (code, said) = desk.run(&["test", "core"]).await;
    assert_eq!(code, 0, "{said}");
    // One file for both, which somebody wrote by hand, is refused with the reason.
    let file =
        fs::read_dir(desk.site()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file.with_file_name("61-router-attic.toml"), text.replace("\"core\"", "\"attic\"")).unwrap();
    let (code, said) = desk.run(&["list"]).await;
    assert!(code != 0 && said.contains("core") && said.contains("attic") && said.contains("password files"), "{said}");
}

#[tokio::test]
async fn what_does_not_work_is_not_added() {
    let desk = Desk::new().await;
    let (pin, other) = (desk.pin(), Fingerprint::of(b"another certificate").to_string());
    for (more, code, part) in [
        // Without a terminal nobody can compare the certificate.
        (vec!["--password-file", "word"], 5, &*pin),
        (vec!["--pin", &other, "--password-file", "word"], 1, "certificate"),
        (vec!["--pin", &pin, "--password-file", "wrong"], 5, "does not accept its user or password"),
        (vec!["--pin", &pin, "--password-file", "missing"], 5, "missing"),
        (vec!["--pin", &pin], 2, "--password-file"),
        (vec!["--pin", &pin, "--password-file", "word", "--tag", "Site=a"], 3, "tags"),
        (vec!["--pin", &pin, "--password-file", "word", "--environment", "home"], 2, "lab, staging or prod"),
    ] {
        let (got, said) = desk.add(&more).await;
        assert!(got == code && said.contains(part), "{more:?}: {got}: {said}");
        assert!(desk.files().is_empty(), "{more:?} left {:?}", desk.files());
    }
    let before = desk.listener.credentials_seen();
    desk.add(&["--pin", &other, "--password-file", "word"]).await;
    assert_eq!(desk.listener.credentials_seen(), before, "a wrong pin gets no credential");
    for name in ["Edge", "-edge", "../edge", ""] {
        let (code, said) = desk.run(&["add", "--address", "127.0.0.1:1", "--", name]).await;
        assert!(code == 2 && said.contains("name"), "{name:?}: {code}: {said}");
    }
    let (code, said) = desk.run(&["add", "edge", "--address", "127.0.0.1:1"]).await;
    assert!(code == 4 && said.contains("www-ssl"), "{code}: {said}");
}

#[tokio::test]
async fn a_person_compares_the_certificate_and_types_a_password_that_is_not_shown() {
    let desk = Desk::new().await;
    let address = desk.listener.address().to_string();
    let add = || desk.command(&["add", "edge", "--address", &address, "--user", "raspi"]);
    // What was typed before the question is no answer to it.
    let mut terminal = Terminal::with(add(), "yes\n");
    terminal.shows("Type yes", 1).await;
    terminal.shows("/certificate print", 1).await;
    terminal.listens().await;
    terminal.types("yes\n");
    terminal.shows("password of raspi", 1).await;
    terminal.listens().await;
    terminal.types(&format!("{PASSWORD}\n"));
    terminal.shows("written: ", 1).await;
    let screen = terminal.ends().await;
    assert!(screen.contains(&desk.pin()[..20]) && !screen.contains(PASSWORD), "{screen}");
    assert_eq!(fs::read_to_string(desk.site().join("routeros/edge")).unwrap(), format!("{PASSWORD}\n"));
}

#[tokio::test]
async fn a_user_with_more_rights_than_it_needs_is_told_of() {
    let desk = Desk::new().await;
    let (address, pin) = (desk.listener.address().to_string(), desk.pin());
    for (user, part) in [("admin", "more rights than this machine needs: local,telnet"), ("raspi", "may write")] {
        let args = ["add", user, "--address", &address, "--user", user, "--pin", &pin, "--password-file", "word"];
        let (code, said) = desk.run(&args).await;
        assert_eq!(code, 0, "{said}");
        let (code, said) = desk.run(&["test", user]).await;
        assert!(code == 1 && said.contains(part) && said.contains("docs/routeros.md"), "{code}: {said}");
    }
}

/// The faults of a configuration with this table.
fn faults(text: &str) -> String {
    let root = TempDir::new().unwrap();
    let sources = Sources::new(Places::below(root.path()), Vec::new());
    fs::create_dir_all(&sources.places.site_dir).unwrap();
    fs::write(sources.places.site_dir.join("10-site.toml"), text).unwrap();
    config::load(&sources).map(|_| String::new()).unwrap_or_else(|faults| faults.to_string())
}

#[tokio::test]
async fn what_a_table_says_is_checked() {
    let desk = Desk::new().await;
    let good = table(&desk.listener, Path::new("/etc/raspi-mcp/routeros/edge"));
    assert_eq!(faults(&good), "");
    let pin = format!("pin = \"{}\"\n", desk.pin());
    for (from, to, part) in [
        ("name = \"edge\"", "name = \"Edge\"", "routeros.name"),
        (&pin, "", "needs one of pin and ca"),
        (&pin, &format!("{pin}ca = \"/etc/ca.pem\"\n"), "needs one of pin and ca"),
        (&pin, "pin = \"sha256:12\"\n", "routeros.pin"),
        ("environment = \"lab\"", "environment = \"home\"", "routeros.environment"),
        ("user = \"raspi\"", "user = \"a:b\"", "routeros.user"),
        ("password_file = \"/etc", "password_file = \"etc", "routeros.password_file"),
        ("user = \"raspi\"", "password = \"correct horse\"", "unknown key \"password\""),
    ] {
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from}");
        let said = faults(&text);
        assert!(said.contains(part), "{to}: {said}");
    }
    assert!(faults(&format!("{good}{good}")).contains("already"), "two of one name");
    let second = good.replace("name = \"edge\"", "name = \"core\"");
    assert!(faults(&format!("{good}{second}")).contains("password files of one name"));
    for (tags, is_good) in [
        ("{ site = \"attic\" }", true),
        ("{ \"Site A\" = \"attic\" }", false),
        ("{ site = 7 }", false),
        ("{ site = \"\" }", false),
        ("\"attic\"", false),
    ] {
        assert_eq!(!faults(&format!("{good}tags = {tags}\n")).contains("routeros.tags"), is_good, "{tags}");
    }
}
