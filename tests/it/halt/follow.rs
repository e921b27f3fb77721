//! The server half follows the agent, and starts with what it heard last.

use super::{console, halt, is_halt, known, lift, of, simulated};
use crate::support::{
    served::{Door, Pi, soon},
    settings::allow_everything,
};
use agent::{Agent, AgentSettings, Platform, bind, serve};
use base::os::Root;
use contract::config::{AgentChoice, Settings};
use hw::board::Board;
use serde_json::json;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const WRITE: &str = "gpio.write_pin";

/// An agent in a life of its own, beside servers that come and go.
struct Apart {
    home: TempDir,
    running: Option<(CancellationToken, JoinHandle<()>, std::sync::Weak<Agent>)>,
}

impl Apart {
    fn new() -> Self {
        let mut apart = Self { home: TempDir::new().unwrap(), running: None };
        apart.start();
        apart
    }

    fn settings(&self) -> Settings {
        let mut settings = simulated(&self.home);
        settings.agent = AgentChoice::Socket;
        settings
    }

    fn start(&mut self) {
        let settings = self.settings();
        let board = Board::detect(settings.board, &Root::system()).unwrap();
        let settings = AgentSettings::of(&settings, true, Root::system());
        let platform = Platform::of(&settings, &board);
        let listener_path = settings.socket.clone();
        let agent = Agent::start(settings, platform).unwrap();
        let (stop, weak) = (CancellationToken::new(), Arc::downgrade(&agent));
        let listener = bind(&listener_path, false).unwrap();
        self.running = Some((stop.clone(), tokio::spawn(serve(listener, agent, stop)), weak));
    }

    async fn stop(&mut self) {
        let (stop, task, agent) = self.running.take().unwrap();
        stop.cancel();
        task.await.unwrap();
        let gone = async {
            while agent.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        };
        soon(gone).await;
        std::fs::remove_file(self.settings().places.agent_socket).unwrap();
    }

    async fn server(&self) -> Pi {
        let places = self.settings();
        Pi::standard(|settings| {
            settings.places = places.places.clone();
            settings.socket = places.socket.clone();
            settings.agent = AgentChoice::Socket;
            allow_everything(settings);
        })
        .await
    }
}

async fn refused(pi: &Pi) -> bool {
    let answer = pi.call(WRITE, json!({"pin": 17, "value": "high"})).await;
    answer.result()["isError"] == true && is_halt(answer.error())
}

#[tokio::test]
async fn either_half_restarts_and_a_server_without_an_agent_goes_by_what_it_heard() {
    let mut apart = Apart::new();
    let person = console(&apart.settings());
    let pi = apart.server().await;
    assert!(!refused(&pi).await);
    halt(&person).await;
    known(&pi, true).await;
    assert!(refused(&pi).await);
    // The agent is away, and comes back.
    apart.stop().await;
    assert!(refused(&pi).await, "nobody has lifted it");
    apart.start();
    let person = console(&apart.settings());
    assert!(refused(&pi).await);
    // The server still follows the agent, which is another process now.
    lift(&person).await;
    known(&pi, false).await;
    assert!(!refused(&pi).await);
    halt(&person).await;
    known(&pi, true).await;
    // Another server: it knows before the first call.
    pi.stop().await.unwrap();
    let pi = apart.server().await;
    assert!(refused(&pi).await);
    pi.stop().await.unwrap();
    // One that finds no agent.
    apart.stop().await;
    let pi = apart.server().await;
    assert!(refused(&pi).await, "it has its own copy");
    // The agent was lifted meanwhile, as the server hears when it is there.
    apart.start();
    lift(&console(&apart.settings())).await;
    known(&pi, false).await;
    assert!(!refused(&pi).await);
    pi.stop().await.unwrap();
    // A copy that nobody understands is a halt, until the agent says otherwise.
    apart.stop().await;
    std::fs::write(apart.settings().places.state_dir.join("halt.json"), "{").unwrap();
    let pi = apart.server().await;
    assert!(refused(&pi).await);
    apart.start();
    known(&pi, false).await;
    assert!(!refused(&pi).await);
    pi.stop().await.unwrap();
    apart.stop().await;
}

#[tokio::test]
async fn who_subscribed_to_health_hears_of_it_and_the_log_says_why() {
    let pi = Pi::standard(allow_everything).await;
    let _logs = pi.logs();
    let mut wire = crate::resources::conversation(&pi, Door::Stdio).await;
    wire.request("resources/subscribe", json!({"uri": "raspi://health"})).await.result();
    // The notifier has had its first look.
    wire.request("resources/read", json!({"uri": "raspi://health"})).await.result();
    wire.request("logging/setLevel", json!({"level": "warning"})).await.result();
    halt(&of(&pi)).await;
    let (mut updated, mut logged) = (false, false);
    while !(updated && logged) {
        let news = soon(wire.next()).await.unwrap().message;
        updated |= news["method"] == "notifications/resources/updated" && news["params"]["uri"] == "raspi://health";
        logged |= news["params"]["data"]["message"].to_string().contains("is halted since");
    }
}
