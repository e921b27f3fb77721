//! `raspi-mcp halt` at the machine.

use super::console::Console;
use crate::agent::ask;
use agent::{AgentLink, operations as op};
use raspi_mcp::cli::halt::{Args, perform};
use serde_json::json;

impl Console {
    async fn says(&self, args: Args) -> Result<String, String> {
        said(&self.agent, args).await
    }
}

async fn said(agent: &AgentLink, args: Args) -> Result<String, String> {
    let mut screen = Vec::new();
    let done = perform(agent, args, &mut screen).await;
    done.map(|()| String::from_utf8(screen).unwrap()).map_err(|failure| failure.message)
}

fn reason(text: &str) -> Args {
    Args { reason: Some(text.into()), ..Args::default() }
}

fn status() -> Args {
    Args { status: true, ..Args::default() }
}

fn lift() -> Args {
    Args { lift: true, ..Args::default() }
}

#[tokio::test]
async fn set_told_and_lifted() {
    let console = Console::new();
    assert_eq!(console.says(status()).await.unwrap(), "not halted\n");
    assert_eq!(console.says(lift()).await.unwrap(), "this machine is not halted\n");
    console.pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let set = console.says(reason("the pump leaks")).await.unwrap();
    for part in [
        "halted since ",
        "(raspi-mcp halt): the pump leaks",
        "raspi-mcp halt --lift",
        "1 request for an approval was denied",
    ] {
        assert!(set.contains(part), "{part}: {set}");
    }
    let again = console.says(Args::default()).await.unwrap();
    assert!(again.starts_with("already halted since ") && again.contains("the pump leaks"), "{again}");
    let told = console.says(status()).await.unwrap();
    assert!(told.starts_with("halted since ") && told.ends_with(": the pump leaks\n"), "{told}");
    assert_eq!(console.says(lift()).await.unwrap(), "lifted: changes are possible again\n");
    let told = console.says(status()).await.unwrap();
    assert!(told.starts_with("not halted\nthe last halt was lifted by "), "{told}");
}

#[tokio::test]
async fn a_reason_with_control_characters_is_refused_here_already() {
    let console = Console::new();
    let error = console.says(reason("a\u{1b}[2J")).await.unwrap_err();
    assert!(error.contains("control characters"), "{error}");
    assert_eq!(console.says(status()).await.unwrap(), "not halted\n");
}

#[tokio::test]
async fn without_the_right_it_says_what_to_do() {
    let console = Console::new();
    // The link that the server has: it may neither.
    let server = console.pi.server();
    for args in [Args::default(), lift()] {
        let error = said(&server, args).await.unwrap_err();
        for part in ["needs an approver", "sudo raspi-mcp halt", "manage.halt", "ten seconds"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert_eq!(said(&server, status()).await.unwrap(), "not halted\n", "everybody may know");
}
