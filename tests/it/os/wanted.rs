//! A service that is up for a moment is told from one that starts with the machine.

use crate::support::private_bus::{FakeSystemd, FakeUnit, PrivateBus};
use base::{error::ErrorCode, os::systemd::wanted};

#[tokio::test]
async fn only_what_something_up_pulls_in_starts_with_the_machine() {
    let bus = PrivateBus::start();
    let systemd = FakeSystemd::on(&bus).await;
    systemd.put("multi-user.target", FakeUnit::active("Multi-User System"));
    systemd.put("graphical.target", FakeUnit::inactive("Graphical Interface"));
    systemd.put("radio.service", FakeUnit::active("Radio"));
    let of = |by: &'static str, whom: &[&str]| FakeUnit::active("service").list(by, whom);
    systemd.put("web.service", of("WantedBy", &["multi-user.target"]));
    systemd.put("tuner.service", of("RequiredBy", &["radio.service"]));
    systemd.put("log.service", of("UpheldBy", &["graphical.target", "multi-user.target"]));
    // Enabled, as NetworkManager-dispatcher is: by a second name alone, under which D-Bus starts it when it is sent something.
    systemd.put("dispatcher.service", FakeUnit::active("Dispatcher"));
    // Started by a message, on a machine that does not get as far as what wants it.
    systemd.put("disks.service", of("WantedBy", &["graphical.target"]));

    let names = ["web.service", "tuner.service", "log.service", "dispatcher.service", "disks.service"];
    let pulled = wanted::by_what_is_up(&bus.bus(), names.into_iter()).await.unwrap();
    assert_eq!(pulled.iter().map(String::as_str).collect::<Vec<_>>(), ["log.service", "tuner.service", "web.service"]);
}

#[tokio::test]
async fn without_systemd_nothing_is_said_to_be_pulled_in() {
    let bus = PrivateBus::start();
    let refused = wanted::by_what_is_up(&bus.bus(), ["web.service"].into_iter()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::CapabilityMissing, "{refused}");
}
