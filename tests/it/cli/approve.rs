//! A person at the console, looking at what callers want.

use super::console::Console;
use crate::agent::{Pi, ask};
use agent::operations as op;
use agent::{AgentLink, AskState, Client};
use raspi_mcp::{
    cli::approve::{Args, converse},
    terminal::printable,
};
use serde_json::json;
use std::time::Duration;

impl Console {
    /// What the person reads when they start `approve` so and type this.
    async fn typed(&self, args: Args, keys: &str) -> Result<String, String> {
        let mut screen = Vec::new();
        let done = converse(&self.agent, &args, &mut keys.as_bytes(), &mut screen).await;
        done.map(|()| String::from_utf8(screen).unwrap()).map_err(|failure| failure.message)
    }
}

fn id(id: &str) -> Args {
    Args { id: Some(id.into()), ..Args::default() }
}

#[tokio::test]
async fn yes_no_and_later() {
    let console = Console::new();
    let server = console.pi.server();
    let mut asks = Vec::new();
    for pin in 0..3 {
        asks.push(
            server
                .call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": pin, "value": "high"})))
                .await
                .unwrap(),
        );
    }
    for (asked, keys, state) in [
        (&asks[0], "y\n", AskState::Approved),
        (&asks[1], "no\n", AskState::Denied),
        (&asks[2], "\n", AskState::Pending),
    ] {
        let screen = console.typed(id(&asked.id.to_lowercase()), keys).await.unwrap();
        for shown in [asked.id.as_str(), "gpio.write_pin", "token:fleet", "value = \"high\"", "expires   in"] {
            assert!(screen.contains(shown), "{shown}: {screen}");
        }
        assert_eq!(
            server
                .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&asked.id, Duration::ZERO))
                .await
                .unwrap()
                .state,
            state
        );
    }
    let error = console.typed(id(&asks[0].id), "y\n").await.unwrap_err();
    assert!(error.contains("approved already"), "{error}");
}

#[tokio::test]
async fn without_an_id_each_is_shown_in_turn_and_list_only_shows() {
    let console = Console::new();
    let server = console.pi.server();
    assert_eq!(console.typed(Args::default(), "").await.unwrap(), "nothing waits for an approval\n");
    for pin in 0..2 {
        server.call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({"pin": pin}))).await.unwrap();
    }
    let screen = console.typed(Args { list: true, ..Args::default() }, "y\ny\n").await.unwrap();
    assert_eq!(screen.matches("gpio.write_pin").count(), 4, "tool and summary, twice: {screen}");
    assert_eq!(server.get::<op::asks::ListAsks>().await.unwrap().len(), 2);
    let screen = console.typed(Args::default(), "y\nn\n").await.unwrap();
    assert!(screen.contains("approved: good for one such call until") && screen.contains("denied"), "{screen}");
    assert_eq!(server.get::<op::asks::ListAsks>().await.unwrap(), []);
}

#[tokio::test]
async fn deny_asks_nothing_back() {
    let console = Console::new();
    let asked = console.pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let screen = console.typed(Args { deny: true, ..id(&asked.id) }, "").await.unwrap();
    assert!(screen.contains("arguments none") && screen.contains("denied"), "{screen}");
}

#[tokio::test]
async fn an_unknown_id_says_where_to_look() {
    let error = Console::new().typed(id("ZZZZZZ"), "y\n").await.unwrap_err();
    assert!(error.contains("no ask ZZZZZZ") && error.contains("--list"), "{error}");
}

#[tokio::test]
async fn without_an_agent_the_person_learns_how_to_start_it() {
    let pi = Pi::now();
    let agent = AgentLink::Socket(Client::new(&pi.settings.socket));
    let failure = converse(&agent, &Args::default(), &mut "".as_bytes(), &mut Vec::new()).await.unwrap_err();
    assert!(failure.message.contains("systemctl start raspi-mcp-agent"), "{}", failure.message);
}

#[tokio::test]
async fn a_caller_cannot_move_the_persons_cursor() {
    let console = Console::new();
    let mut request = ask("gpio.write_pin", json!({"note": "\u{1b}[2Jall good\u{202e}"}));
    request.summary = "harmless\r\n\u{1b}[1A approve this".into();
    console.pi.server().call::<op::asks::OpenAsk>(request).await.unwrap();
    let screen = console.typed(Args { list: true, ..Args::default() }, "").await.unwrap();
    assert!(!screen.chars().any(|c| c == '\u{1b}' || c == '\r' || c == '\u{202e}'), "{screen:?}");
    assert_eq!(printable("grün ✓"), "grün ✓");
}
