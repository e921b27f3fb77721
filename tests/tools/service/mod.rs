//! `service.*`: reads on a bus of the test's own, with a systemd on it that the test has written.

mod control;
mod list;
mod status;
mod validate;

use crate::support::{
    pi::Pi,
    private_bus::{FakeSystemd, FakeUnit, PrivateBus},
    trees::{Copied, machine},
};
use serde_json::json;

/// A Raspberry Pi whose systemd is written by the test.
struct Scene {
    pi: Pi,
    systemd: FakeSystemd,
    tree: Copied,
    bus: PrivateBus,
}

impl Scene {
    async fn new() -> Self {
        let (bus, tree) = (PrivateBus::start(), Copied::of("pi-4b"));
        let systemd = FakeSystemd::on(&bus).await;
        let pi = Pi::on_bus(machine(tree.root()), bus.bus());
        Self { pi, systemd, tree, bus }
    }

    fn bus(&self) -> base::os::bus::DBus {
        self.bus.bus()
    }

    /// With some services of every kind.
    async fn busy() -> Self {
        let scene = Self::new().await;
        let put = |name: &str, unit: FakeUnit| scene.systemd.put(name, unit);
        put("ssh.service", FakeUnit::active("OpenBSD Secure Shell server"));
        put("nginx.service", FakeUnit { active: "failed", sub: "failed", pid: 0, ..FakeUnit::active("Web server") });
        put("cron.service", FakeUnit::active("Regular background program processing daemon"));
        put("backup.service", FakeUnit { load: "unloaded", ..FakeUnit::inactive("Backup") });
        put("ghost.service", FakeUnit { load: "not-found", file_state: None, ..FakeUnit::inactive("ghost.service") });
        put("getty@.service", FakeUnit { load: "unloaded", file_state: Some("enabled"), ..FakeUnit::inactive("") });
        put("getty@tty1.service", FakeUnit { file_state: None, ..FakeUnit::active("Getty on tty1") });
        put("www.service", FakeUnit { load: "unloaded", file_state: Some("alias"), ..FakeUnit::inactive("") });
        put("network.target", FakeUnit::active("Network"));
        scene
    }
}

#[tokio::test]
async fn without_an_agent_reads_go_on_and_writes_are_unavailable() {
    let scene = Scene::busy().await;
    for (tool, args) in [
        ("service.start", json!({"service_name": "ssh"})),
        ("service.control_service", json!({"service_name": "ssh", "action": "stop", "dry_run": true})),
        ("service.set_enabled", json!({"service_name": "ssh", "enabled": false})),
    ] {
        let refusal = scene.pi.call(tool, args).await.refused();
        assert_eq!(refusal["error_code"], "unavailable", "{tool}");
        assert!(refusal["hint"].as_str().unwrap().contains("raspi-mcp-agent"), "{refusal}");
    }
    scene.pi.call("service.get_status", json!({"service_name": "ssh"})).await.ok();
}
