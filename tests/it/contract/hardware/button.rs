//! What holds of the approval button on every board that can be pressed: the agent has the lines, and two seconds approve when it is let go.

use super::{Bench, assertions, hand::Lines};
use agent::operations as op;
use agent::{
    Agent, AgentLink, AgentSettings, Ask, AskRequest, AskState, Platform, machine::SimulatedMachine, system_clock,
};
use base::{canonical, os::Root};
use contract::config::Approval;
use hw::gpio::header;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

assertions! {
    button: |hand| hand.lines.as_ref().is_some_and(|lines| lines.can_drive()) =>
        the_button_approves_after_two_seconds,
        a_shorter_press_and_one_from_before_approve_nothing,
        the_lines_are_the_agents_until_it_goes;
}

/// An agent for this board's lines and a simulated machine, its button let go and its LED dark.
struct Pressed<'a> {
    lines: &'a dyn Lines,
    button: u8,
    led: u8,
    link: AgentLink,
}

impl<'a> Pressed<'a> {
    fn on(bench: &'a Bench) -> Self {
        let lines = bench.hand.lines.as_deref().expect("a board with lines");
        let [button, led] = [lines.free()[0], lines.free()[1]];
        lines.drive(button, true);
        let services = &bench.server.services;
        let mut settings = AgentSettings::of(&services.settings, true, Root::system());
        settings.approval = Approval { button_pin: button, led_pin: led, ..Approval::default() };
        let gpio = header::lines(&settings.root, &services.machine.board.pins(), &settings.gpio_chip);
        let ports = Platform::new(system_clock(), Arc::new(SimulatedMachine::new("a boot")));
        let agent = Agent::start(settings, Platform { gpio: Some(gpio), ..ports }).unwrap();
        Self { lines, button, led, link: AgentLink::InProcess(agent) }
    }

    async fn ask(&self, number: u32) -> Ask {
        let args = json!({ "number": number });
        let request = AskRequest {
            marks: Default::default(),
            tool: "gpio.write_pin".into(),
            summary: "drive a pin".into(),
            args_sha256: canonical::sha256_hex(&args),
            args,
            principal: "bench".into(),
            ..Default::default()
        };
        let ask = self.link.call::<op::asks::OpenAsk>(request).await.unwrap();
        self.led_is(true).await;
        // What is shorter than 50 ms is a bounce: let there be no press so soon after the start.
        tokio::time::sleep(Duration::from_millis(60)).await;
        ask
    }

    async fn state(&self, ask: &Ask, wait: Duration) -> AskState {
        self.link.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&ask.id, wait)).await.unwrap().state
    }

    async fn led_is(&self, lit: bool) {
        let shows = async {
            while self.lines.level(self.led).is_some_and(|level| level != lit) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), shows).await.expect("the LED says so");
    }
}

async fn the_button_approves_after_two_seconds(bench: &Bench) {
    let pressed = Pressed::on(bench);
    assert_eq!(pressed.link.get::<op::status::GetStatus>().await.unwrap().faults, [""; 0]);
    let ask = pressed.ask(1).await;
    let began = Instant::now();
    pressed.lines.drive(pressed.button, false);
    assert_eq!(pressed.state(&ask, Duration::from_millis(2500)).await, AskState::Pending, "not while it is held");
    pressed.lines.drive(pressed.button, true);
    let answered = pressed
        .link
        .call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&ask.id, Duration::from_secs(20)))
        .await
        .unwrap();
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    let by = format!("the button on GPIO {}", pressed.button);
    assert_eq!((answered.state, answered.by, answered.how), (AskState::Approved, Some(by), Some("button".into())));
    pressed.led_is(false).await;
    pressed.lines.let_go(pressed.button);
}

async fn a_shorter_press_and_one_from_before_approve_nothing(bench: &Bench) {
    let pressed = Pressed::on(bench);
    let ask = pressed.ask(1).await;
    pressed.lines.drive(pressed.button, false);
    assert_eq!(pressed.state(&ask, Duration::from_millis(1500)).await, AskState::Pending);
    pressed.lines.drive(pressed.button, true);
    assert_eq!(pressed.state(&ask, Duration::from_millis(1000)).await, AskState::Pending);
    pressed.link.call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: ask.id.clone() }).await.unwrap();
    pressed.led_is(false).await;
    // Nothing is asked, and a finger lies on the button: what comes then is not meant.
    pressed.lines.drive(pressed.button, false);
    tokio::time::sleep(Duration::from_millis(60)).await;
    let ask = pressed.ask(2).await;
    assert_eq!(pressed.state(&ask, Duration::from_millis(2500)).await, AskState::Pending);
    pressed.lines.let_go(pressed.button);
    assert_eq!(pressed.state(&ask, Duration::from_millis(300)).await, AskState::Pending);
}

async fn the_lines_are_the_agents_until_it_goes(bench: &Bench) {
    let pressed = Pressed::on(bench);
    let (button, led) = (pressed.button, pressed.led);
    // This server's configuration does not name the button, so it is the kernel that refuses.
    for (pin, consumer) in [(button, "raspi-mcp approval button"), (led, "raspi-mcp approval LED")] {
        for (tool, args) in [
            ("gpio.write_pin", json!({"pin": pin, "value": "high"})),
            ("gpio.configure_pin", json!({"pin": pin, "mode": "input"})),
        ] {
            let refused: Value = bench.call(tool, args).await.refused();
            assert_eq!(refused["details"]["consumer"], consumer, "{tool} {pin}: {refused}");
        }
    }
    drop(pressed);
    bench.call("gpio.write_pin", json!({"pin": led, "value": "high"})).await.ok();
}
