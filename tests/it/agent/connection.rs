//! A change of the network: judged, behind a way back, confirmed or not; on the simulated network, and by a NetworkManager of
//! the test's own.

use super::*;
use crate::support::{
    network_manager::{HOME, NetworkManager, OFFICE},
    private_bus::PrivateBus,
};
use ::agent::{
    network::{Network, RealNetwork, SimulatedNetwork},
    operations::network::{ConfirmRequest, ConnectionRequest},
};
use base::error::ErrorCode;
use contract::meta::Mode;

/// A simulated machine with an agent, and a network that outlives it.
pub struct Net {
    pub pi: Pi,
    network: Arc<dyn Network>,
}

impl Net {
    pub fn on(network: Arc<dyn Network>) -> Self {
        Self::with(network, |_| {})
    }
    pub fn with(network: Arc<dyn Network>, change: impl FnOnce(&mut AgentSettings)) -> Self {
        let pi = Pi::with(|settings| {
            settings.policy.namespaces.insert("network".into());
            change(settings);
        });
        let mut net = Self { pi, network };
        net.restart_agent();
        net
    }
    /// The agent's process ends and begins again.
    pub fn restart_agent(&mut self) {
        self.pi.agent = None;
        let now_ms = Arc::clone(&self.pi.now_ms);
        let clock: Clock = Arc::new(move || now_ms.load(Ordering::SeqCst));
        let mut platform = Platform::new(clock, Arc::clone(&self.pi.machine) as _);
        platform.network = Arc::clone(&self.network);
        self.pi.agent = Some(Agent::start(self.pi.settings.clone(), platform).unwrap());
    }
    pub fn server(&self) -> AgentLink {
        self.pi.server()
    }
}

fn activate(connection: &str) -> ConnectionRequest {
    ConnectionRequest {
        connection: connection.into(),
        device: None,
        confirm_seconds: 60,
        dry_run: false,
        authorization: authorization(&json!({ "connection": connection }), None),
    }
}

fn confirm(keep: bool) -> ConfirmRequest {
    ConfirmRequest { keep, authorization: authorization(&json!({ "keep": keep }), None) }
}

fn simulated() -> (Net, Arc<SimulatedNetwork>) {
    let network = Arc::new(SimulatedNetwork::default());
    (Net::on(Arc::clone(&network) as _), network)
}

#[tokio::test(start_paused = true)]
async fn a_change_nobody_confirms_goes_back_by_itself() {
    let (net, network) = simulated();
    let done = net.server().call::<op::network::ActivateConnection>(activate("simulated-static")).await.unwrap();
    assert_eq!(
        (done.profile.name.as_str(), done.profile.interfaces.as_slice()),
        ("simulated-static", &["eth0".to_owned()][..])
    );
    assert_eq!(
        (done.before[0].name.as_str(), done.confirm_by_ms, done.simulated),
        ("simulated-wired", Some(NOON + 60_000), true)
    );
    assert_eq!(network.active(), ["simulated-static"]);
    let waits = net.server().get::<op::status::GetStatus>().await.unwrap().network_change.unwrap();
    assert_eq!((waits.profile, waits.principal.as_str()), (done.profile, "token:fleet"));

    net.pi.pass(59).await;
    assert_eq!(network.active(), ["simulated-static"]);
    net.pi.pass(2).await;
    assert_eq!(network.active(), ["simulated-wired"]);
    assert_eq!(net.server().get::<op::status::GetStatus>().await.unwrap().network_change, None);
    let late = net.server().call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::FailedPrecondition);
    assert!(late.message.contains("taken back"), "{late}");
    let again = net.server().call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap_err();
    assert!(again.message.contains("waits to be confirmed"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn what_is_confirmed_stays_and_what_is_not_wanted_goes_at_once() {
    let (net, network) = simulated();
    let server = net.server();
    server.call::<op::network::ActivateConnection>(activate("simulated-static")).await.unwrap();
    let other = server.call::<op::network::ActivateConnection>(activate("simulated-wifi")).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::Conflict, "one at a time");
    let kept = server.call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap().change.unwrap();
    assert_eq!(kept.profile.name, "simulated-static");
    net.pi.pass(1000).await;
    assert_eq!(network.active(), ["simulated-static"]);

    server.call::<op::network::ActivateConnection>(activate("simulated-wired")).await.unwrap();
    let back = server.call::<op::network::ConfirmConnection>(confirm(false)).await.unwrap().change.unwrap();
    assert_eq!(back.before[0].name, "simulated-static");
    assert_eq!(network.active(), ["simulated-static"]);
    assert_eq!(
        server.call::<op::network::ConfirmConnection>(confirm(false)).await.unwrap().change,
        None,
        "nothing is left to take back"
    );
    let log = net.pi.log();
    assert!(log.contains("\"activate_connection\"") && log.contains("\"confirm_connection\""), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_starts_later_can_still_confirm() {
    let (mut net, network) = simulated();
    net.server().call::<op::network::ActivateConnection>(activate("simulated-static")).await.unwrap();
    net.restart_agent();
    assert!(net.server().get::<op::status::GetStatus>().await.unwrap().network_change.is_some());
    let other = net.server().call::<op::network::ActivateConnection>(activate("simulated-wifi")).await.unwrap_err();
    assert_eq!(other.code, ErrorCode::Conflict);
    net.server().call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap();
    net.pi.pass(1000).await;
    assert_eq!(network.active(), ["simulated-static"]);

    // And one that never starts again is not needed to go back.
    net.server().call::<op::network::ActivateConnection>(activate("simulated-wired")).await.unwrap();
    net.pi.agent = None;
    net.pi.pass(61).await;
    assert_eq!(network.active(), ["simulated-static"]);
    net.restart_agent();
    net.server()
        .call::<op::network::ActivateConnection>(activate("simulated-wired"))
        .await
        .expect("what has gone back is in nobody's way");
}

#[tokio::test(start_paused = true)]
async fn an_agent_of_the_other_slot_confirms_what_a_newer_one_activated() {
    let (mut net, network) = simulated();
    net.server().call::<op::network::ActivateConnection>(activate("simulated-static")).await.unwrap();
    let file = net.pi.dir.path().join("agent/connection.json");
    let mut note: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for place in ["", "/checkpoint", "/profile", "/before/0"] {
        note.pointer_mut(place).unwrap()["why"] = json!("a newer release's");
    }
    std::fs::write(&file, note.to_string()).unwrap();
    net.restart_agent();
    let status = net.server().get::<op::status::GetStatus>().await.unwrap();
    assert!(status.faults.is_empty() && status.network_change.is_some(), "{status:?}");
    net.server().call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap();
    net.pi.pass(1000).await;
    assert_eq!(network.active(), ["simulated-static"]);
}

#[tokio::test]
async fn a_dry_run_and_bad_input_change_nothing() {
    let (net, network) = simulated();
    let server = net.server();
    let tried = server
        .call::<op::network::ActivateConnection>(ConnectionRequest { dry_run: true, ..activate("simulated-wifi") })
        .await
        .unwrap();
    assert_eq!((tried.profile.name.as_str(), tried.confirm_by_ms), ("simulated-wifi", None));
    let good = activate("simulated-wifi");
    for (bad, code) in [
        (activate(""), ErrorCode::InvalidArgument),
        (activate("a\0b"), ErrorCode::InvalidArgument),
        (activate("a\nb"), ErrorCode::InvalidArgument),
        (activate(&"x".repeat(256)), ErrorCode::InvalidArgument),
        (activate("../../etc/passwd"), ErrorCode::NotFound),
        (activate("simulated-wifi' OR '1'='1"), ErrorCode::NotFound),
        (activate("no-such"), ErrorCode::NotFound),
        (ConnectionRequest { device: Some("eth0/../x".into()), ..good.clone() }, ErrorCode::InvalidArgument),
        (ConnectionRequest { device: Some(String::new()), ..good.clone() }, ErrorCode::InvalidArgument),
        (ConnectionRequest { device: Some("eth0".into()), ..good.clone() }, ErrorCode::InvalidArgument),
        (ConnectionRequest { confirm_seconds: 9, ..good.clone() }, ErrorCode::InvalidArgument),
        (ConnectionRequest { confirm_seconds: 601, ..good.clone() }, ErrorCode::InvalidArgument),
    ] {
        let error = server.call::<op::network::ActivateConnection>(bad.clone()).await.expect_err(&format!("{bad:?}"));
        assert_eq!(error.code, code, "{bad:?}");
    }
    assert_eq!(network.active(), ["simulated-wired"]);
    assert_eq!(net.server().get::<op::status::GetStatus>().await.unwrap().network_change, None);
}

#[tokio::test]
async fn the_agent_judges_by_its_own_policy() {
    let off = Net::with(Arc::new(SimulatedNetwork::default()), |settings| settings.policy.namespaces.clear());
    let error = off.server().call::<op::network::ActivateConnection>(activate("simulated-wifi")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);

    let network = Arc::new(SimulatedNetwork::default());
    let net = Net::with(Arc::clone(&network) as _, |settings| {
        settings.policy.modes.insert("network.activate_connection".into(), Mode::Ask);
    });
    let server = net.server();
    assert_eq!(
        server.call::<op::network::ActivateConnection>(activate("simulated-wifi")).await.unwrap_err().code,
        ErrorCode::PermissionDenied
    );
    let args = json!({"connection": "simulated-wifi", "confirm_seconds": 30});
    let opened = server.call::<op::asks::OpenAsk>(ask("network.activate_connection", args.clone())).await.unwrap();
    net.pi.says(&opened, true).await.unwrap();
    let approved = ConnectionRequest {
        confirm_seconds: 30,
        authorization: authorization(&args, Some(&opened.id)),
        ..activate("simulated-wifi")
    };
    for lie in [
        ConnectionRequest { connection: "simulated-static".into(), ..approved.clone() },
        ConnectionRequest { confirm_seconds: 600, ..approved.clone() },
        ConnectionRequest { device: Some("wlan0".into()), ..approved.clone() },
    ] {
        assert_eq!(
            server.call::<op::network::ActivateConnection>(lie).await.unwrap_err().details["differs"],
            "arguments"
        );
    }
    assert_eq!(network.active(), ["simulated-wired"]);
    server.call::<op::network::ActivateConnection>(approved).await.unwrap();
    assert_eq!(network.active(), ["simulated-wired", "simulated-wifi"]);
    server.call::<op::network::ConfirmConnection>(confirm(true)).await.expect("confirming asks nobody");
}

#[tokio::test]
async fn what_cannot_be_activated_is_taken_back_at_once() {
    let (net, network) = simulated();
    network.fail_next(ToolError::precondition("no cable"));
    let error = net.server().call::<op::network::ActivateConnection>(activate("simulated-static")).await.unwrap_err();
    assert_eq!((error.code, &error.details["reverted"]), (ErrorCode::FailedPrecondition, &json!(true)));
    assert_eq!(network.active(), ["simulated-wired"]);
    assert_eq!(net.server().get::<op::status::GetStatus>().await.unwrap().network_change, None);
}

/// NetworkManager's own part, by its own words on the bus.
mod networkmanager {
    use super::*;

    async fn start() -> (PrivateBus, NetworkManager, Net) {
        let daemon = PrivateBus::start();
        let nm = NetworkManager::on(&daemon).await;
        let net = Net::on(Arc::new(RealNetwork { bus: daemon.bus() }));
        (daemon, nm, net)
    }

    #[tokio::test]
    async fn a_checkpoint_stands_behind_the_change_until_it_is_confirmed() {
        let (_daemon, nm, net) = start().await;
        let server = net.server();
        let tried = server
            .call::<op::network::ActivateConnection>(ConnectionRequest { dry_run: true, ..activate("office") })
            .await
            .unwrap();
        assert_eq!((tried.profile.uuid.as_str(), tried.before[0].name.as_str()), (OFFICE.0, HOME.1));
        assert_eq!(nm.calls(), Vec::<String>::new(), "a dry run only reads");

        let done = server.call::<op::network::ActivateConnection>(activate(OFFICE.0)).await.unwrap();
        assert_eq!(
            (done.profile.name.as_str(), done.profile.interfaces.as_slice()),
            ("office", &["eth0".to_owned()][..])
        );
        assert_eq!(nm.calls(), ["CheckpointCreate", "ActivateConnection", "CheckpointAdjustRollbackTimeout"]);
        assert_eq!((nm.active(), nm.checkpoints(), nm.rollback_in()), (Some("office"), 1, Some(60)));
        server.call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap();
        assert_eq!((nm.active(), nm.checkpoints()), (Some("office"), 0));
        assert_eq!(nm.calls().last().unwrap(), "CheckpointDestroy");
    }

    #[tokio::test]
    async fn without_a_word_it_has_gone_back_and_the_agent_finds_out() {
        let (_daemon, nm, mut net) = start().await;
        net.server()
            .call::<op::network::ActivateConnection>(ConnectionRequest {
                device: Some("eth0".into()),
                ..activate("office")
            })
            .await
            .unwrap();
        net.restart_agent();
        nm.roll_back_now();
        assert_eq!(nm.active(), Some("home"));
        let late = net.server().call::<op::network::ConfirmConnection>(confirm(true)).await.unwrap_err();
        assert_eq!(late.code, ErrorCode::FailedPrecondition);
        net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap();
        let back = net.server().call::<op::network::ConfirmConnection>(confirm(false)).await.unwrap().change.unwrap();
        assert_eq!((back.before[0].name.as_str(), nm.active()), ("home", Some("home")));
    }

    #[tokio::test]
    async fn another_ones_checkpoint_of_the_same_number_is_left_alone() {
        let (_daemon, nm, net) = start().await;
        net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap();
        nm.restart_and_checkpoint_elsewhere();
        for keep in [true, false] {
            let error = net.server().call::<op::network::ConfirmConnection>(confirm(keep)).await;
            assert!(error.is_err() || error.unwrap().change.is_none(), "it is not ours");
        }
        assert_eq!(nm.checkpoints(), 1);
        let taken = net.server().call::<op::network::ActivateConnection>(activate("home")).await.unwrap_err();
        assert_eq!(taken.code, ErrorCode::Conflict, "{taken}");
    }

    #[tokio::test]
    async fn a_refusal_says_why_and_the_old_connection_is_back() {
        let (_daemon, nm, net) = start().await;
        nm.refuse_next();
        let error = net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition);
        assert!(error.details["reverted"] == json!(true) && error.message.contains("logging in failed"), "{error:?}");
        assert_eq!((nm.active(), nm.checkpoints()), (Some("home"), 0));
    }

    #[tokio::test]
    async fn a_server_that_hangs_up_leaves_the_way_back_behind() {
        let (_daemon, nm, net) = start().await;
        nm.hang_next();
        let server = net.server();
        let call = server.call::<op::network::ActivateConnection>(activate("office"));
        // The connection of a server that dies takes its request with it, wherever it is.
        let hung = async {
            while nm.calls().last().is_none_or(|call| call != "ActivateConnection") {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = call => panic!("it hangs"), () = hung => {} }
        assert_eq!((nm.active(), nm.checkpoints()), (Some("office"), 1));
        assert!(nm.rollback_in().is_some_and(|seconds| (100..=120).contains(&seconds)));
        let back = net.server().call::<op::network::ConfirmConnection>(confirm(false)).await.unwrap().change.unwrap();
        assert_eq!((back.profile.name.as_str(), nm.active()), ("office", Some("home")));
    }

    #[tokio::test]
    async fn without_checkpoints_or_networkmanager_nothing_is_tried() {
        let (daemon, nm, net) = start().await;
        nm.before_checkpoints();
        let error = net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap_err();
        assert_eq!((error.code, nm.active()), (ErrorCode::CapabilityMissing, Some("home")), "{error:?}");
        let elsewhere = ConnectionRequest { device: Some("eth9".into()), ..activate("office") };
        let error = net.server().call::<op::network::ActivateConnection>(elsewhere).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound);
        nm.stop().await;
        let error = net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::CapabilityMissing);
        drop(daemon);
        let error = net.server().call::<op::network::ActivateConnection>(activate("office")).await.unwrap_err();
        assert!(matches!(error.code, ErrorCode::CapabilityMissing | ErrorCode::Unavailable), "{error:?}");
    }
}
