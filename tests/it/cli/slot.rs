//! `raspi-mcp slot`: a person at a console, with a server that only reads.

use crate::{
    manage::web::Web,
    support::served::process::Process,
    update::origin::{Authority, Conduct},
};
use serde_json::Value;
use std::{path::Path, process::Output};
use tempfile::TempDir;

struct Console {
    pi: Process,
    config: std::path::PathBuf,
}

impl Console {
    async fn beside(web: &Web) -> Self {
        Self::told(web, "").await
    }

    /// `more`: lines of its configuration's section `update`.
    async fn told(web: &Web, more: &str) -> Self {
        let root = TempDir::new().unwrap();
        let config = root.path().join("update.toml");
        let trust = web.folder.path().join("root.signed");
        let product = crate::update::PRODUCT;
        std::fs::write(&config, format!("[update]\nproduct = \"{product}\"\ntrust = \"{}\"\n{more}", trust.display()))
            .unwrap();
        let pi = Process::http_in(root, &["--config", config.to_str().unwrap()]).await;
        Self { pi, config }
    }

    async fn slot(&self, args: &[&str]) -> Output {
        let mut call = tokio::process::Command::new(Path::new(env!("CARGO_BIN_EXE_raspi-mcp")));
        call.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.pi.path("home"));
        // A machine without certificates of authorities: a local file needs none.
        call.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nonexistent");
        call.env("RASPI_MCP__PLACES__AGENT_SOCKET", self.pi.path("run/agent.sock"));
        call.arg("--config").arg(&self.config).arg("slot").args(args).stdin(std::process::Stdio::null());
        call.output().await.unwrap()
    }

    async fn says(&self, args: &[&str]) -> String {
        let output = self.slot(args).await;
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The status, once it is as `is` says.
    async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let started = std::time::Instant::now();
        loop {
            let status: Value = serde_json::from_str(&self.says(&["status", "--json"]).await).unwrap();
            if is(&status) {
                return status;
            }
            assert!(started.elapsed().as_secs() < 90, "not {what}: {status:#}");
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test]
async fn a_console_installs_and_goes_back_without_a_word_of_the_network() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "the second system\n");
    let console = Console::beside(&web).await;
    let text = console.says(&["status"]).await;
    assert!(
        text.contains("boot flow simulated") && text.contains("slot A  good") && text.contains("starts next"),
        "{text}"
    );

    let bundle = web.folder.path().join("1.1.0.bundle");
    let bundle = bundle.to_str().unwrap();
    // Nobody at a terminal, and nobody who has said yes.
    let refused = console.slot(&["install", bundle]).await;
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    let missing = console.slot(&["install", "no-such.bundle", "--yes"]).await;
    assert!(!missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("no-such.bundle"));

    let output = console.slot(&["install", bundle, "--yes", "--reboot"]).await;
    let (text, lines) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{lines}");
    assert!(text.contains("1.1.0 is written into slot B, read back and armed"), "{text}");
    // No terminal: a line for each phase, and nothing that moves a cursor.
    assert!(lines.contains("writing: ") && !lines.contains('\x1b') && !lines.contains('\r'), "{lines:?}");
    let status = console.until("committed", |status| status["last_attempt"]["phase"] == "committed").await;
    assert_eq!(status["slots"][1]["running"], true);

    let planned = console.says(&["rollback", "--dry-run"]).await;
    assert!(planned.contains("from slot B (1.1.0) to slot A"), "{planned}");
    assert!(console.says(&["mark-good"]).await.contains("slot B (1.1.0) is good"));
    console.says(&["rollback", "--yes"]).await;
    console
        .until("back", |status| status["slots"][0]["running"] == true && status["slots"][0]["state"] == "good")
        .await;
}

#[tokio::test]
async fn a_console_whose_network_fails_goes_on_with_what_came_and_the_old_slot_stays_until_all_is_here() {
    let mut web = Web::new();
    // No compressor makes this much smaller.
    let noise: String =
        (0u32..16_000).map(|n| format!("{:08x}", n.wrapping_mul(0x9e37_79b1).rotate_left(n % 31))).collect();
    web.release("1.1.0", 11, &noise);
    let authority = Authority::new();
    let space = authority.origin().await;
    space.put_folder(web.folder.path());
    let console = Console::told(&web, &format!("ca_file = \"{}\"\n", authority.file().display())).await;
    let before = console.until("there", |_| true).await;

    // The first range of blocks is cut in the middle, and after that nothing is there any more.
    let mut cut = false;
    space.treat(move |request| match request.range {
        _ if cut => Conduct::Status(404, String::new()),
        Some((first, last)) if first > 0 && last - first > 20_000 => {
            cut = true;
            Conduct::CutAt(20_000)
        }
        _ => Conduct::Honest,
    });
    let address = space.url("/1.1.0.bundle");
    let output = console.slot(&["install", &address, "--yes"]).await;
    assert!(!output.status.success(), "{output:?}");
    let after = console.until("there", |_| true).await;
    assert_eq!(after["slots"], before["slots"], "the old slot is whole while blocks are missing");
    let all = space.take_sent();

    space.treat(|_| Conduct::Honest);
    // The first console is gone; the agent may still be letting go of the slot it wrote.
    let output = loop {
        let output = console.slot(&["install", &address, "--yes"]).await;
        if !String::from_utf8_lossy(&output.stderr).contains("is installing") {
            break output;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1.1.0 is written into slot B, read back and armed"), "{text}");
    let rest = space.take_sent();
    assert!(rest < all, "{rest} bytes after {all}: what came the first time was not asked for again");
}

#[tokio::test]
async fn what_the_machine_blocked_a_person_at_its_console_can_try_again() {
    let mut web = Web::new();
    let manifest = web.release("1.1.0", 11, "sick: its server does not start\n").to_string();
    let console = Console::told(&web, "health_deadline_seconds = 30\n").await;
    let bundle = web.folder.path().join("1.1.0.bundle");
    let bundle = bundle.to_str().unwrap();
    for bad in ["", "1.1.0", &manifest[1..], &"0".repeat(64), &manifest] {
        let refused = console.slot(&["unblock", bad]).await;
        assert!(!refused.status.success(), "{bad}: {refused:?}");
    }
    for attempt in 0..2 {
        console.says(&["install", bundle, "--yes", "--reboot"]).await;
        let status = console.until("blocked", |status| status["last_attempt"]["phase"] == "rolled_back").await;
        assert_eq!(status["slots"][0]["running"], true, "{status:#}");
        console.until("judged", |status| status["slots"][1]["state"] == "bad").await;
        let refused = console.slot(&["install", bundle, "--yes", "--reboot"]).await;
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains(&format!("raspi-mcp slot unblock {manifest}")), "{said}");
        if attempt == 0 {
            let shown = console.says(&["status"]).await;
            assert!(shown.contains("blocked: 1.1.0, ") && shown.contains(&manifest), "{shown}");
            let done = console.says(&["unblock", &manifest]).await;
            assert!(done.starts_with("1.1.0 can be installed again; it was blocked: "), "{done}");
            assert!(!console.says(&["status"]).await.contains("blocked"));
        }
    }
}
