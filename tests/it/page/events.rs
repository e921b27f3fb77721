//! What is live: events come by themselves, and nothing is left of them when nobody looks.

use super::{Browser, served};
use crate::support::served::{Pi, soon, token};
use agent::{
    AgentLink, Client,
    operations::asks::{AnswerAsk, AnswerRequest},
};
use contract::{
    meta::{Mode, Role},
    values::{Level, Pin},
};
use raspi_mcp::page::events::LIVE;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The open stream, and what has come.
struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn of(browser: &Browser) -> Self {
        let response = browser.ask(Method::GET, "/page/events").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.headers()["content-type"].to_str().unwrap()),
            (200, "text/event-stream")
        );
        let mut stream = Self { response, text: String::new() };
        stream.has("event: following").await;
        stream
    }

    /// Waits until this has come.
    async fn has(&mut self, part: &str) {
        while !self.text.contains(part) {
            let chunk = soon(self.response.chunk()).await.unwrap().expect("an open stream");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    fn forget(&mut self) {
        self.text.clear();
    }
}

async fn with_gpio() -> (Pi, String, String) {
    served(|settings| settings.tools.enable.extend(["gpio".into()])).await
}

#[tokio::test]
async fn a_change_of_a_pin_is_told_within_half_a_second_whatever_else_happens() {
    let (pi, admin, _) = with_gpio().await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let mut stream = Stream::of(&browser).await;
    for uri in LIVE {
        assert!(stream.text.contains(uri), "{uri} is not followed: {}", stream.text);
    }
    for value in ["high", "low", "high", "low"] {
        stream.forget();
        // The call is in the audit too, whose events come once a second at most; the pin's do not wait for them.
        let started = Instant::now();
        let (_, done) = browser.calls("gpio.write_pin", json!({ "pin": 17, "value": value })).await;
        assert!(done["result"].is_object(), "{done}");
        stream.has("data: raspi://gpio\n").await;
        assert!(started.elapsed() < Duration::from_millis(500), "{value}: {:?}", started.elapsed());
    }
    stream.has("data: raspi://audit\n").await;
}

/// Two pages that read at each change would otherwise never rest.
#[tokio::test]
async fn what_a_page_reads_is_no_news_to_pages_and_what_others_do_is() {
    let (pi, admin, reader) = with_gpio().await;
    let lines = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().gpio.clone();
    let pin = Pin::try_from(23).unwrap();
    let (browser, other) = (Browser::signed_in(&pi, &admin).await, Browser::signed_in(&pi, &reader).await);
    let mut stream = Stream::of(&browser).await;
    soon(async {
        while lines.consumer(pin).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stream.forget();
    for browser in [&browser, &other] {
        let (_, answer) = browser.calls("system.get_clock", json!({})).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    // An edge, which no call has made: what was due before it has come before it.
    lines.drive(pin, Some(Level::High));
    stream.has("data: raspi://gpio\n").await;
    assert!(!stream.text.contains("raspi://audit"), "{}", stream.text);
    pi.call("system.get_basic_info", json!({})).await.ok();
    stream.has("data: raspi://audit\n").await;
}

/// What the server says of calls that wait, to the caller of this page.
async fn waiting(browser: &Browser) -> (Value, Value) {
    let (_, answer) = browser.calls("manage.get_server_status", json!({})).await;
    let agent = &answer["result"]["agent"];
    (agent["pending_asks"].clone(), agent["asks"].clone())
}

#[tokio::test]
async fn an_ask_is_told_when_it_opens_is_answered_and_expires() {
    let (pi, admin, reader) = served(|settings| {
        settings.tools.enable.insert("system".into());
        settings.policy.insert("system.set_hostname".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
        settings.approval.expire_seconds = 1;
    })
    .await;
    let (browser, other) = (Browser::signed_in(&pi, &admin).await, Browser::signed_in(&pi, &reader).await);
    let mut stream = Stream::of(&browser).await;
    let settled = async |stream: &mut Stream| {
        stream.forget();
        stream.has("data: raspi://server\n").await;
    };
    // Whatever was read before the server followed.
    settled(&mut stream).await;
    stream.forget();
    let started = Instant::now();
    pi.call("system.set_hostname", json!({"hostname": "kitchen"})).await.failed("failed_precondition");
    stream.has("data: raspi://server\n").await;
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    let (count, asks) = waiting(&browser).await;
    assert_eq!((&count, asks.as_array().map(Vec::len)), (&json!(1), Some(1)), "{asks:#}");
    assert_eq!((&asks[0]["tool"], &asks[0]["principal"]), (&json!("system.set_hostname"), &json!("stdio")));
    assert!(asks[0]["summary"].as_str().unwrap().starts_with("stdio asks for system.set_hostname"), "{asks:#}");
    let connected = |answer: &Value| answer["result"]["connections"].clone();
    let (_, seen) = browser.calls("manage.get_server_status", json!({})).await;
    let names: Vec<Value> = connected(&seen).as_array().unwrap().iter().map(|one| one["caller"].clone()).collect();
    assert_eq!(names, ["token:admin", "token:reader"], "{seen:#}");
    let (_, seen) = other.calls("manage.get_server_status", json!({})).await;
    assert_eq!(connected(&seen), Value::Null);
    // Below admin only one's own, as in the audit.
    assert_eq!(waiting(&other).await, (json!(1), Value::Null));
    // It expires while nobody calls anything.
    settled(&mut stream).await;
    assert_eq!(waiting(&browser).await, (json!(0), Value::Null));
    // A person at the machine answers.
    stream.forget();
    let failed =
        pi.call("system.set_hostname", json!({"hostname": "porch"})).await.failed("failed_precondition").clone();
    stream.has("data: raspi://server\n").await;
    let person = AgentLink::Socket(Client::new(&pi.server().pipeline.services.settings.places.agent_socket));
    let id = failed["details"]["ask_id"].as_str().unwrap().to_owned();
    stream.forget();
    person.call::<AnswerAsk>(AnswerRequest { id, approve: false }).await.unwrap();
    stream.has("data: raspi://server\n").await;
    assert_eq!(waiting(&browser).await.0, json!(0));
}

#[tokio::test]
async fn a_halt_and_a_new_token_are_told() {
    let (pi, sources) = Pi::of_site(&[(
        "10-site.toml",
        "[access]\nrequire_token = false\nloopback_role = \"admin\"\n[tools]\nenable = [\"manage\"]\n",
    )])
    .await;
    let mut browser = Browser::of(&pi);
    assert_eq!(browser.signs_in(None).await.status(), 200);
    let mut stream = Stream::of(&browser).await;
    stream.has("data: raspi://server\n").await;
    stream.forget();
    let (_, setting) = token("porch", Role::ReadOnly);
    let text =
        format!("[[access.tokens]]\nname = \"porch\"\nsha256 = \"{}\"\nrole = \"read_only\"\n", setting.sha256.hex());
    std::fs::write(sources.places.site_dir.join("50-porch.toml"), text).unwrap();
    stream.has("data: raspi://server\n").await;
    let (_, answer) = browser.calls("manage.get_server_status", json!({})).await;
    assert_eq!(answer["result"]["config_summary"]["access"]["tokens"][0]["name"], "porch", "{answer:#}");
    stream.forget();
    let (_, halted) = browser.calls("manage.halt", json!({"reason": "a leak"})).await;
    assert_eq!(halted["result"]["halted"]["reason"], "a leak", "{halted}");
    stream.has("data: raspi://server\n").await;
}

#[tokio::test]
async fn a_sample_that_a_job_takes_is_told() {
    let (pi, admin, _) = served(|settings| settings.tools.enable.extend(["metrics".into()])).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let mut stream = Stream::of(&browser).await;
    stream.forget();
    let (_, begun) = browser.calls("metrics.start_sampling_job", json!({ "interval_seconds": 5 })).await;
    assert!(begun["result"].is_object(), "{begun}");
    stream.has("data: raspi://sampling\n").await;
}

#[tokio::test]
async fn a_page_that_is_left_leaves_no_subscription() {
    let (pi, admin, _) = with_gpio().await;
    let browser = Browser::signed_in(&pi, &admin).await;
    assert_eq!(pi.server().subscriptions.count(), 0);
    let stream = Stream::of(&browser).await;
    assert_eq!(pi.server().subscriptions.count(), LIVE.len());
    drop(stream);
    soon(async {
        while pi.server().subscriptions.count() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn pages_are_bounded_in_what_they_follow() {
    let (pi, _, reader) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &reader).await;
    let mut open = Vec::new();
    let refused = loop {
        let answer = browser.ask(Method::GET, "/page/events").send().await.unwrap();
        if answer.status() != 200 {
            break answer;
        }
        open.push(answer);
        assert!(open.len() < 64, "it is bounded");
    };
    assert_eq!(refused.status(), 429);
    let kept = pi.server().subscriptions.count();
    assert!(kept <= 64, "{kept}");
    // What was refused has left nothing, and another caller has its place.
    drop(open);
    soon(async {
        while pi.server().subscriptions.count() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_stop_of_the_server_does_not_wait_for_an_open_page() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let mut stream = Stream::of(&browser).await;
    let started = Instant::now();
    pi.stop().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    // What was told before, and then the end.
    while let Ok(Some(_)) = soon(stream.response.chunk()).await {}
}
