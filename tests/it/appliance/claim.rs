//! A machine gets its owner: by the client, on the screen, and whatever is cut short.

use super::fresh::Fresh;
use crate::support::served::soon;
use agent::{approvers::DEVICE_KEY, boot_clock, operations::claim::OWNER};
use base::{
    error::{ErrorCode, ToolError},
    os::Root,
};
use contract::meta::Role;
use raspi_mcp::claim::{client, show::Show, uri::ClaimUri};
use serde_json::json;
use std::{
    fs,
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

/// What the client is told on the screen.
pub(super) fn wanted(fresh: &Fresh, up: &super::fresh::Up) -> ClaimUri {
    ClaimUri { url: up.url("").parse().unwrap(), pin: up.pin, code: fresh.code(), device: None }
}

#[tokio::test]
async fn the_owner_brings_the_code_and_has_a_machine() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let code = fresh.code();
    // Before: a sign of life, and nothing else.
    let healthz = up.client().get(up.url("/healthz")).send().await.unwrap();
    assert_eq!((healthz.status().as_u16(), healthz.text().await.unwrap().as_str()), (200, "ok\n"));
    let (status, refusal) = up.calls(None).await;
    assert_eq!((status, &refusal["error"]["data"]["details"]["unclaimed"]), (403, &json!(true)), "{refusal}");
    assert!(refusal["error"]["data"]["hint"].as_str().unwrap().contains("raspi-mcp claim https://"), "{refusal}");

    let mut kept = None;
    let wanted = wanted(&fresh, &up);
    let claimed = client::claim(&wanted, None, |token| {
        // Not before it is kept.
        assert!(!fresh.folder().standing().unwrap().unwrap().claimed);
        kept = Some(token.to_owned());
        Ok(())
    });
    assert_eq!(soon(claimed).await.unwrap().name, None);
    let token = kept.unwrap();

    // From the next request on, without a restart.
    let (status, answer) = up.calls(Some(&token)).await;
    assert!(status == 200 && answer["result"].is_object(), "{answer}");
    assert_eq!(up.calls(None).await.0, 401);
    assert!(fresh.folder().claim().unwrap().is_none(), "the code is gone");
    let (status, refusal) = up.brings(&code).await;
    assert_eq!((status, &refusal["error"]["data"]["error_code"]), (409, &json!("failed_precondition")), "{refusal}");
    assert!(refusal["error"]["message"].as_str().unwrap().contains("claimed already"));

    // And after it, whatever is lost: the record is the truth.
    up.stops().await;
    let identity = fresh.identity();
    assert!(identity.claimed && identity.tokens.len() == 1);
    assert_eq!((identity.tokens[0].name.as_str(), identity.tokens[0].role), (OWNER, Role::Admin));
    fresh.power_on(Duration::from_secs(1 << 40));
    let up = fresh.starts().await;
    assert_eq!(up.calls(Some(&token)).await.0, 200);
    let (status, refusal) = up.brings(&code).await;
    assert!(status == 409 && refusal["error"]["message"].as_str().unwrap().contains("claimed already"), "{refusal}");
    // Neither code nor token is anywhere in what was written.
    let log = fresh.log();
    assert!(log.contains("\"claimed\"") && !log.contains(&token) && !log.contains(&code.to_string()), "{log}");
    let plain = code.to_string().replace('-', "");
    let audit = up.running.server.pipeline.services.audit.recent(Default::default(), 100, 0).await.unwrap().0;
    let audit = serde_json::to_string(&audit).unwrap();
    assert!(audit.contains("access.claim"), "{audit}");
    for secret in [&token, &code.to_string(), &plain] {
        assert!(!audit.contains(secret.as_str()), "{audit}");
    }
}

#[tokio::test]
async fn right_after_the_yes_either_copy_of_the_record_may_be_lost() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let token = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&token).await.0, 200);
    let (state, pin) = (fs::read(fresh.agent_state()).unwrap(), up.pin);
    up.stops().await;
    // What the data partition has of the device's key is lost as well.
    let device = fresh.folder().device();
    for copy in [1, 2] {
        let _ = fs::remove_file(fresh.places().agent_state_dir.join(DEVICE_KEY));
        let mut torn = state.clone();
        let at = copy * torn.len() / 4;
        torn[at..at + 4096].fill(0x5a);
        fs::write(fresh.agent_state(), torn).unwrap();
        let faults = fresh.power_on_damaged(Duration::from_secs(1 << 40));
        assert!(faults.iter().any(|fault| fault.contains("not whole")), "{faults:?}");
        let up = fresh.starts().await;
        assert_eq!((up.pin, up.calls(Some(&token)).await.0), (pin, 200), "without copy {copy}");
        assert!(device.is_some() && fresh.folder().device() == device, "without copy {copy}");
        up.stops().await;
    }
}

#[tokio::test]
async fn a_power_cut_before_the_token_is_shown_leaves_nobody_locked_out() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let code = fresh.code();
    let lost = up.offered(&code).await;
    // The answer never arrived: the same code again, which costs no try.
    let second = up.offered(&code).await;
    assert_eq!(fresh.tries_left(), 5);
    assert_eq!(up.shows(&lost).await.0, 403, "only the last one");
    assert_eq!(up.calls(Some(&second)).await.0, 403, "a token that was not shown is none");
    up.stops().await;
    assert!(!fresh.identity().claimed && fresh.identity().tokens.is_empty(), "nothing of it is recorded");

    // An agent that starts again knows what it gave out.
    let up = fresh.starts().await;
    fresh.power_on(Duration::from_secs(1 << 40));
    assert!(!fresh.code().is(&code), "another power-on, another code");
    assert_eq!(up.shows(&second).await.0, 403, "what was given out before the cut is worth nothing");
    assert_eq!(up.brings(&code).await.0, 403);
    let token = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&token).await.0, 200);
    assert_eq!(up.calls(Some(&token)).await.0, 200);
}

#[tokio::test]
async fn an_agent_that_starts_again_goes_on_with_the_claim() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let token = up.offered(&fresh.code()).await;
    up.stops().await;
    let up = fresh.starts().await;
    let (status, answer) = up.shows(&token).await;
    assert_eq!((status, &answer["claimed"]), (200, &json!(true)), "{answer}");
    // The answer was lost: asked again, it is the same.
    assert_eq!(up.shows(&token).await.0, 200);
    assert_eq!(up.shows("rmcp_another").await.0, 409);
}

#[tokio::test]
async fn a_cut_between_the_record_and_what_follows_from_it_ends_claimed() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let token = up.offered(&fresh.code()).await;
    // The files that follow cannot be written; the record can.
    let (folder, moved) = (fresh.folder().path().join("conf.d"), fresh.path("moved"));
    fs::rename(&folder, &moved).unwrap();
    let (status, refusal) = up.shows(&token).await;
    assert_eq!((status, &refusal["error"]["data"]["error_code"]), (503, &json!("unavailable")), "{refusal}");
    fs::rename(&moved, &folder).unwrap();
    // Nobody else gets in between.
    assert_eq!(up.shows("rmcp_another").await.0, 409);
    assert_eq!(up.shows(&token).await.0, 200, "asked again it is mended");
    assert_eq!(up.calls(Some(&token)).await.0, 200);
    up.stops().await;
    assert!(fresh.identity().claimed);
}

#[tokio::test]
async fn a_token_that_cannot_be_kept_makes_no_owner() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let full = |_: &str| Err(ToolError::precondition("the disk is full"));
    let error = soon(client::claim(&wanted(&fresh, &up), None, full)).await.unwrap_err();
    assert_eq!(error.message, "the disk is full");
    assert!(!fresh.folder().standing().unwrap().unwrap().claimed);
    soon(client::claim(&wanted(&fresh, &up), None, |_| Ok(()))).await.unwrap();
}

/// A screen that a test reads.
#[derive(Clone, Default)]
pub(super) struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Screen {
    /// What is seen now: what came after the last clearing.
    pub(super) fn seen(&self) -> String {
        let all = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        all.rsplit("\x1b[H\x1b[2J\x1b[3J").next().unwrap().to_owned()
    }
}

pub(super) fn shows(fresh: &Fresh, port: u16) -> Show {
    let root = fresh.path("screen");
    fs::create_dir_all(root.join("proc/net")).unwrap();
    fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
    fs::write(root.join("proc/net/fib_trie"), "|-- 127.0.0.1\n  /32 host LOCAL\n|-- 192.0.2.7\n  /32 host LOCAL\n")
        .unwrap();
    fs::write(root.join("proc/sys/kernel/hostname"), "raspi-mcp\n").unwrap();
    Show { folder: fresh.folder(), root: Root::at(root), port, boot: boot_clock() }
}

#[tokio::test]
async fn the_screen_shows_the_way_in_until_somebody_came() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let (screen, show) = (Screen::default(), shows(&fresh, 8443));
    let (mut output, code) = (screen.clone(), fresh.code());
    let watching = tokio::spawn(async move { show.run(&mut output, std::future::pending()).await });
    let shown = |what: &'static str| {
        let screen = screen.clone();
        async move {
            while !screen.seen().contains(what) {
                tokio::task::yield_now().await;
            }
        }
    };
    soon(shown("5 tries are left")).await;
    let seen = screen.seen();
    let command = format!("raspi-mcp claim https://192.0.2.7:8443 --fingerprint {} --code {code}", up.pin);
    assert!(seen.contains(&command) && seen.contains("https://raspi-mcp.local:8443"), "{seen}");
    let device = fresh.folder().device().unwrap();
    assert!(seen.contains(&format!("  device       {device}")), "{seen}");
    assert!(seen.contains('▀') && !seen.contains("127.0.0.1"), "{seen}");
    // A wrong code is seen at once, and nothing polls.
    assert_eq!(up.brings(&appliance::Code::mint().unwrap()).await.0, 403);
    soon(shown("4 tries are left")).await;
    let token = up.offered(&code).await;
    assert_eq!(up.shows(&token).await.0, 200);
    assert!(soon(watching).await.unwrap().unwrap());
    let seen = screen.seen();
    assert!(seen.contains("has its owner") && !seen.contains(&code.to_string()), "{seen}");
}

#[tokio::test]
async fn a_screen_that_is_told_to_stop_leaves_no_code_behind() {
    let fresh = Fresh::new();
    let mut screen = Screen::default();
    assert!(!shows(&fresh, 8443).run(&mut screen, std::future::ready(())).await.unwrap());
    assert_eq!(screen.seen(), "");
    // The time is over: it says what to do, and shows no code.
    fresh.power_on(Duration::from_millis(1));
    let told = tokio::task::yield_now();
    let mut late = Screen::default();
    let copy = late.clone();
    let seen = async {
        told.await;
        assert!(
            copy.seen().contains("The time for a claim is over") && !copy.seen().contains(&fresh.code().to_string())
        );
    };
    assert!(!shows(&fresh, 8443).run(&mut late, seen).await.unwrap());
    // And on what is no appliance there is nothing to show.
    fs::remove_dir_all(fresh.folder().path()).unwrap();
    let error = shows(&fresh, 8443).run(&mut screen, std::future::pending()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
}
