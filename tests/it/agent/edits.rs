//! Adding and changing connections, and scans: on the simulated network, and by a NetworkManager of the test's own.

use super::{connection::Net, *};
use crate::support::{
    network_manager::{HOME, NetworkManager, RADIO, edits::Scan},
    private_bus::PrivateBus,
};
use ::agent::{
    network::{RealNetwork, SimulatedNetwork},
    operations::network::{ConfirmRequest, Connected, EditRequest, ScanRequest},
};
use base::error::ErrorCode;
use contract::meta::Mode;

const SECRET: &str = "correct horse";

/// The request that a call with these arguments becomes.
fn edit(adds: bool, args: &Value) -> EditRequest {
    EditRequest {
        adds,
        change: serde_json::from_value(args.clone()).unwrap(),
        authorization: authorization(args, None),
    }
}

/// Nobody is asked, unless the test says so.
fn net_on(network: Arc<dyn ::agent::network::Network>) -> Net {
    Net::with(network, |settings| {
        for tool in ["network.add_connection", "network.update_connection"] {
            settings.policy.modes.insert(tool.into(), Mode::Allow);
        }
    })
}

async fn made(net: &Net, adds: bool, args: Value) -> Result<Connected, ToolError> {
    net.server().call::<op::network::EditConnection>(edit(adds, &args)).await
}

async fn confirm(net: &Net, keep: bool) {
    let request = ConfirmRequest { keep, authorization: authorization(&json!({ "keep": keep }), None) };
    net.server().call::<op::network::ConfirmConnection>(request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_that_nobody_confirms_is_gone_again() {
    let network = Arc::new(SimulatedNetwork::default());
    let net = net_on(Arc::clone(&network) as _);
    let args = json!({"connection": "attic", "ssid": "simulated", "passphrase": SECRET});
    let tried = made(&net, true, json!({"connection": "attic", "ssid": "simulated", "dry_run": true})).await.unwrap();
    assert_eq!((tried.confirm_by_ms, network.profiles().len()), (None, 3), "a dry run adds nothing");
    let done = made(&net, true, args.clone()).await.unwrap();
    assert_eq!((done.profile.interfaces, done.confirm_by_ms), (vec!["wlan0".to_owned()], Some(NOON + 60_000)));
    assert_eq!(network.active(), ["simulated-wired", "attic"]);
    net.pi.pass(61).await;
    assert_eq!((network.active(), network.profiles().len()), (vec!["simulated-wired".to_owned()], 3));

    made(&net, true, args.clone()).await.unwrap();
    confirm(&net, true).await;
    net.pi.pass(1000).await;
    assert_eq!(network.profiles().last().unwrap(), "attic");
    let again = made(&net, true, args).await.unwrap_err();
    assert_eq!((again.code, &again.details["parameter"]), (ErrorCode::Conflict, &json!("connection")));

    let saved =
        made(&net, true, json!({"connection": "cellar", "ipv4": "192.0.2.7/24", "activate": false})).await.unwrap();
    assert_eq!((saved.confirm_by_ms, network.active().len()), (None, 2), "it is only saved");
    assert_eq!(network.profiles().last().unwrap(), "cellar");
    assert!(!net.pi.log().contains(SECRET), "{}", net.pi.log());
    assert!(net.pi.log().contains("[redacted]"), "{}", net.pi.log());
}

#[tokio::test]
async fn a_person_approves_all_but_the_passphrase() {
    let network = Arc::new(SimulatedNetwork::default());
    let net = Net::on(Arc::clone(&network) as _);
    let args = json!({"connection": "attic", "ssid": "simulated", "passphrase": SECRET});
    let unasked = made(&net, true, args.clone()).await.unwrap_err();
    assert_eq!(unasked.code, ErrorCode::PermissionDenied, "it asks by default");
    // The server hides what the schema calls secret.
    let shown = json!({"connection": "attic", "ssid": "simulated", "passphrase": null});
    let mut opening = ask("network.add_connection", shown);
    opening.args_sha256 = authorization(&args, None).args_sha256;
    let opened = net.server().call::<op::asks::OpenAsk>(opening).await.unwrap();
    net.pi.says(&opened, true).await.unwrap();
    let approved = |args: &Value| EditRequest {
        authorization: authorization(
            &json!({"connection": "attic", "ssid": "simulated", "passphrase": SECRET}),
            Some(&opened.id),
        ),
        ..edit(true, args)
    };
    for lie in [
        json!({"connection": "attic", "ssid": "simulated"}),
        json!({"connection": "attic", "ssid": "neighbour", "passphrase": SECRET}),
        json!({"connection": "attic", "ssid": "simulated", "passphrase": SECRET, "confirm_seconds": 600}),
        json!({"connection": "attic", "ssid": "simulated", "passphrase": SECRET, "hidden": true}),
    ] {
        let error = net.server().call::<op::network::EditConnection>(approved(&lie)).await.unwrap_err();
        assert_eq!(error.details["differs"], "arguments", "{lie}");
    }
    assert_eq!(network.profiles().len(), 3);
    net.server().call::<op::network::EditConnection>(approved(&args)).await.unwrap();
    assert_eq!(network.active(), ["simulated-wired", "attic"]);
}

#[tokio::test]
async fn bad_input_changes_nothing_and_repeats_no_secret() {
    let network = Arc::new(SimulatedNetwork::default());
    let net = net_on(Arc::clone(&network) as _);
    for (adds, args, code) in [
        (true, json!({"connection": "a", "ssid": "\u{e9}".repeat(17)}), ErrorCode::InvalidArgument),
        (
            true,
            json!({"connection": "a", "ssid": "x", "passphrase": SECRET, "security": "open"}),
            ErrorCode::InvalidArgument,
        ),
        (true, json!({"connection": "a", "ipv4": "192.0.2.300/24"}), ErrorCode::InvalidArgument),
        (true, json!({"connection": "a", "ipv4": "dhcp", "gateway": "192.0.2.1"}), ErrorCode::InvalidArgument),
        (false, json!({"connection": "nobody's"}), ErrorCode::NotFound),
        (false, json!({"connection": "simulated-wired", "activate": false}), ErrorCode::FailedPrecondition),
    ] {
        let error = made(&net, adds, args.clone()).await.expect_err(&args.to_string());
        assert_eq!(error.code, code, "{args}");
        let said = format!("{error:?} {}", net.pi.log());
        assert!(!said.contains(SECRET) && !said.contains("hunter2"), "{said}");
    }
    assert_eq!((network.active(), network.profiles().len()), (vec!["simulated-wired".to_owned()], 3));
}

/// NetworkManager's own part, by its own words on the bus.
mod networkmanager {
    use super::*;

    const SECURITY: &str = "802-11-wireless-security";

    async fn start() -> (PrivateBus, NetworkManager, Net) {
        let daemon = PrivateBus::start();
        let nm = NetworkManager::on(&daemon).await;
        let net = net_on(Arc::new(RealNetwork { bus: daemon.bus() }));
        (daemon, nm, net)
    }

    /// The profile of the Wi-Fi network is in use.
    async fn on_the_radio(net: &Net) {
        let args = json!({"connection": RADIO.0});
        let request = op::network::ConnectionRequest {
            connection: RADIO.0.into(),
            device: None,
            confirm_seconds: 60,
            dry_run: false,
            authorization: authorization(&args, None),
        };
        net.server().call::<op::network::ActivateConnection>(request).await.unwrap();
        confirm(net, true).await;
    }

    #[tokio::test]
    async fn what_is_added_is_in_memory_until_it_is_confirmed() {
        let (_daemon, nm, net) = start().await;
        let args = json!({"connection": "attic", "ssid": "caf\u{e9}", "passphrase": SECRET, "ipv4": "192.0.2.7/24", "dns": ["192.0.2.1"]});
        made(&net, true, args.clone()).await.unwrap();
        assert_eq!(
            nm.calls(),
            ["CheckpointCreate", "AddConnection2", "ActivateConnection", "CheckpointAdjustRollbackTimeout"]
        );
        assert_eq!((nm.active(), nm.checkpoints()), (Some("attic"), 1));
        assert_eq!(nm.has("attic", false, SECURITY, "psk").as_deref(), Some(SECRET));
        assert_eq!(nm.has("attic", true, SECURITY, "psk"), None, "not on the card yet");
        nm.roll_back_now();
        assert_eq!((nm.active(), nm.has("attic", false, "connection", "id")), (Some(HOME.1), None));

        made(&net, true, args).await.unwrap();
        confirm(&net, true).await;
        assert_eq!((nm.active(), nm.checkpoints()), (Some("attic"), 0));
        assert_eq!(nm.has("attic", true, SECURITY, "psk").as_deref(), Some(SECRET));
        assert_eq!(nm.has("attic", true, SECURITY, "key-mgmt").as_deref(), Some("wpa-psk"));
        assert_eq!(nm.has("attic", true, "ipv4", "method").as_deref(), Some("manual"));
    }

    #[tokio::test]
    async fn a_passphrase_of_the_network_in_use_is_tried_before_it_is_kept() {
        let (_daemon, nm, mut net) = start().await;
        on_the_radio(&net).await;
        nm.refuse_next();
        let wrong = json!({"connection": "radio", "passphrase": "wrong-wrong"});
        let error = made(&net, false, wrong).await.unwrap_err();
        assert_eq!((error.code, &error.details["reverted"]), (ErrorCode::FailedPrecondition, &json!(true)));
        assert_eq!(
            (nm.active(), nm.has("radio", false, SECURITY, "psk").as_deref()),
            (Some("radio"), Some("hunter2-hunter2"))
        );

        made(&net, false, json!({"connection": "radio", "passphrase": SECRET})).await.unwrap();
        assert_eq!(nm.has("radio", true, SECURITY, "psk").as_deref(), Some("hunter2-hunter2"), "not on the card yet");
        // Another agent confirms it.
        net.restart_agent();
        confirm(&net, true).await;
        assert_eq!(nm.has("radio", true, SECURITY, "psk").as_deref(), Some(SECRET));

        // Without a word about the passphrase it stays.
        made(&net, false, json!({"connection": "radio", "hidden": true})).await.unwrap();
        confirm(&net, true).await;
        assert_eq!(nm.has("radio", true, SECURITY, "psk").as_deref(), Some(SECRET));
        assert!(!net.pi.log().contains(SECRET) && !net.pi.log().contains("hunter2"), "{}", net.pi.log());
    }

    #[tokio::test]
    async fn a_connection_that_is_not_in_use_is_saved_at_once() {
        let (_daemon, nm, net) = start().await;
        let done = made(&net, false, json!({"connection": "radio", "passphrase": SECRET})).await.unwrap();
        assert_eq!((done.confirm_by_ms, nm.active(), nm.checkpoints()), (None, Some(HOME.1), 0));
        assert_eq!(nm.has("radio", true, SECURITY, "psk").as_deref(), Some(SECRET));
        let wired = made(&net, false, json!({"connection": "office", "passphrase": SECRET})).await.unwrap_err();
        assert_eq!(wired.code, ErrorCode::FailedPrecondition, "a cable has no passphrase");
        made(&net, false, json!({"connection": "office", "ipv4": "192.0.2.9/24", "gateway": "192.0.2.1"}))
            .await
            .unwrap();
        assert_eq!(nm.has("office", true, "ipv4", "gateway").as_deref(), Some("192.0.2.1"));
        made(&net, false, json!({"connection": "office", "ipv4": "dhcp"})).await.unwrap();
        assert_eq!(nm.has("office", true, "ipv4", "method").as_deref(), Some("auto"));
        assert_eq!(nm.has("office", true, "ipv4", "gateway"), None);
        made(&net, false, json!({"connection": "radio", "security": "open"})).await.unwrap();
        assert_eq!(nm.has("radio", true, SECURITY, "psk"), None);
    }

    /// Otherwise the machine has no network after its next start: NetworkManager generates no profile for Ethernet where there is one.
    #[tokio::test]
    async fn a_generated_connection_is_kept_before_another_for_ethernet() {
        let (_daemon, nm, net) = start().await;
        nm.generates_home();
        let home = || nm.has("home", true, "connection", "id");
        made(&net, true, json!({"connection": "attic", "ssid": "x", "activate": false})).await.unwrap();
        assert_eq!(home(), None, "Wi-Fi takes no cable's place");
        made(&net, true, json!({"connection": "tried", "device": "eth0", "ipv4": "dhcp"})).await.unwrap();
        assert_eq!(home(), None, "nothing is on the card yet");
        confirm(&net, true).await;
        assert_eq!(home().as_deref(), Some("home"));

        nm.generates_home();
        made(
            &net,
            true,
            json!({"connection": "spare", "ipv4": "192.0.2.7/24", "autoconnect": false, "activate": false}),
        )
        .await
        .unwrap();
        assert_eq!(home().as_deref(), Some("home"));
        assert_eq!(nm.has("spare", true, "ipv4", "method").as_deref(), Some("manual"));
    }

    #[tokio::test]
    async fn a_scan_waits_for_its_end_and_says_when_there_was_none() {
        let (_daemon, nm, net) = start().await;
        let scan = async |device: Option<&str>, rescan| {
            let request = ScanRequest { device: device.map(str::to_owned), rescan };
            net.server().call::<op::network::ScanWifi>(request).await
        };
        let off = scan(None, true).await.unwrap_err();
        assert_eq!(off.code, ErrorCode::FailedPrecondition, "{off}");
        nm.radio_on(Scan::Ends);
        let found = scan(None, true).await.unwrap();
        let names: Vec<Option<&str>> = found.access_points.iter().map(|point| point.ssid.as_deref()).collect();
        assert_eq!(names, [Some("caf\\xe9\\x1b[2J"), Some("caf\u{e9}"), None], "the strongest first");
        assert_eq!((found.fresh, found.interfaces.as_slice()), (true, &["wlan0".to_owned()][..]));
        let point = &found.access_points[1];
        assert_eq!((point.in_use, point.channel, point.security.join(" ").as_str()), (true, Some(6), "wpa2"));
        assert_eq!(found.access_points[2].security, ["open"]);
        nm.radio_on(Scan::Refused);
        assert!(!scan(Some("wlan0"), true).await.unwrap().fresh);
        nm.radio_on(Scan::Waits);
        let asked = async {
            while nm.calls().len() < 3 {
                tokio::task::yield_now().await;
            }
            nm.end_scan().await;
        };
        let (found, ()) = tokio::join!(scan(Some("wlan0"), true), asked);
        assert!(found.unwrap().fresh, "it waits for the signal");
        assert_eq!(scan(Some("eth0"), true).await.unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(nm.calls(), ["RequestScan"; 3]);
        assert!(!scan(None, false).await.unwrap().fresh);
        assert_eq!(nm.calls().len(), 3, "it only reads");
    }
}
