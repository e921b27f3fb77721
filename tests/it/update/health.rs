//! Rule 5: what worked before must work again, told in words; the network alone is no reason to block a version.

use ::update::bundle::{Renamed, ServiceChanges};
use ::update::health::{
    Baseline, Check, HealthVerdict, Missing, Observations, judge, operable,
    own::{self, ConfiguredChecks, Eyes},
};
use ::update::slots::OldSystem;
use futures::future::BoxFuture;
use std::{collections::BTreeMap, path::Path};
use tempfile::TempDir;

fn well() -> Observations {
    Observations {
        interfaces: BTreeMap::from([("eth0".into(), Ok(())), ("wlan0".into(), Err("it is down".into()))]),
        gateway: Some(Ok(())),
        channel: Some(Ok(())),
        units: BTreeMap::from([("web.service".into(), Ok(())), ("old.service".into(), Err("failed".into()))]),
        urls: BTreeMap::new(),
        server: Some(Ok(())),
    }
}

fn before() -> Baseline {
    Baseline::of(&well(), "1.1.0", 5)
}

fn told(verdict: &HealthVerdict) -> Vec<String> {
    verdict.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn what_worked_works_again() {
    assert_eq!(judge(Some(&before()), &well(), &[]), HealthVerdict::Healthy);
    // More than before is no fault, and what did not work before need not now.
    let mut more = well();
    more.interfaces.insert("usb0".into(), Err("it is down".into()));
    more.units.insert("new.service".into(), Err("failed".into()));
    assert_eq!(judge(Some(&before()), &more, &[]), HealthVerdict::Healthy);
}

#[test]
fn what_a_release_drops_renames_and_adds_is_expected_as_it_says() {
    let renamed = |from: &str, to: &str| Renamed { from: from.into(), to: to.into() };
    let with = |names: &[&str]| {
        let units = names.iter().map(|name| ((*name).to_owned(), Ok(()))).collect();
        Observations { units, ..well() }
    };
    let before = Baseline::of(&with(&["web.service", "dns.service"]), "1.1.0", 5);
    let trial = |changes: &ServiceChanges, there: &[&str]| {
        told(&judge(Some(&before.clone().changed(changes)), &with(there), &[]))
    };
    let absent = |name: &str| vec![format!("service {name}: it does not start with the machine")];
    let none = ServiceChanges::default();
    assert_eq!(trial(&none, &["dns.service"]), absent("web.service"));
    let dropped = ServiceChanges { drops: vec!["web.service".into()], ..none.clone() };
    assert_eq!(trial(&dropped, &["dns.service"]), [""; 0]);
    assert_eq!(trial(&dropped, &["web.service"]), absent("dns.service"));
    // The new name is expected where the old one was active, and nowhere else.
    let renames = vec![renamed("never.service", "ever.service"), renamed("web.service", "http.service")];
    let renames = ServiceChanges { renames, ..none.clone() };
    assert_eq!(trial(&renames, &["dns.service", "http.service"]), [""; 0]);
    assert_eq!(trial(&renames, &["dns.service", "web.service"]), absent("http.service"));
    let added = ServiceChanges { adds: vec!["new.service".into()], ..none };
    assert_eq!(trial(&added, &["dns.service", "new.service", "web.service"]), [""; 0]);
    assert_eq!(trial(&added, &["dns.service", "web.service"]), absent("new.service"));
}

#[test]
fn a_start_that_is_no_trial_is_held_against_what_operates_the_machine() {
    let mut look = well();
    look.gateway = Some(Err("it does not answer".into()));
    look.units.insert("backup.service".into(), Err("it is failed".into()));
    look.urls.insert("http://127.0.0.1/".into(), Err("it answers 500".into()));
    assert_eq!(operable(&look), HealthVerdict::Healthy);
    look.server = Some(Err("it does not answer".into()));
    assert!(matches!(operable(&look), HealthVerdict::Sick(problems) if problems.len() == 1));
}

#[test]
fn the_network_alone_is_another_verdict_than_a_sick_system() {
    type Case = (fn(&mut Observations), Check, &'static str);
    let cases: [Case; 4] = [
        (|look| drop(look.interfaces.insert("eth0".into(), Err("no address".into()))), Check::Interface, "eth0"),
        (|look| drop(look.interfaces.remove("eth0")), Check::Interface, "not there any more"),
        (|look| look.gateway = None, Check::Gateway, "no default route"),
        (|look| look.channel = Some(Err("its signature is not good".into())), Check::Channel, "signature"),
    ];
    for (change, check, word) in cases {
        let mut look = well();
        change(&mut look);
        let verdict = judge(Some(&before()), &look, &[]);
        assert!(verdict.is_offline(), "{verdict:?}");
        assert_eq!(verdict.problems()[0].check, check);
        assert!(told(&verdict)[0].contains(word), "{verdict:?}");
        // With anything else beside it the system is to blame.
        look.server = Some(Err("it does not answer".into()));
        assert!(matches!(judge(Some(&before()), &look, &[]), HealthVerdict::Sick(problems) if problems.len() == 2));
    }
}

#[test]
fn units_are_those_of_before_and_those_of_the_configuration() {
    let mut look = well();
    look.units.insert("web.service".into(), Err("it is failed".into()));
    let verdict = judge(Some(&before()), &look, &[]);
    assert!(matches!(verdict, HealthVerdict::Sick(_)));
    assert_eq!(told(&verdict), ["service web.service: it is failed"]);
    // Named twice, told once; one that is configured counts without a baseline too.
    assert_eq!(told(&judge(Some(&before()), &look, &["web.service".into()])).len(), 1);
    assert_eq!(told(&judge(None, &look, &["web.service".into()])).len(), 1);
    assert_eq!(
        told(&judge(None, &well(), &["none.service".into()])),
        ["service none.service: there is no such service"]
    );
    assert_eq!(judge(None, &look, &[]), HealthVerdict::Healthy);
}

#[test]
fn configured_addresses_count_always_and_a_channel_that_was_taken_away_does_not() {
    let mut look = well();
    look.urls.insert("http://127.0.0.1/ok".into(), Err("it answers 500".into()));
    assert_eq!(told(&judge(None, &look, &[])), ["address http://127.0.0.1/ok: it answers 500"]);
    let look = Observations { channel: None, ..well() };
    assert_eq!(judge(Some(&before()), &look, &[]), HealthVerdict::Healthy);
}

#[test]
fn a_device_that_was_offline_before_may_be_so_after() {
    let dark = Observations {
        interfaces: BTreeMap::new(),
        gateway: None,
        channel: Some(Err("no way there".into())),
        ..well()
    };
    let before = Baseline::of(&dark, "1", 0);
    assert!(before.was_offline());
    assert_eq!(judge(Some(&before), &dark, &[]), HealthVerdict::Healthy);
}

#[test]
fn a_baseline_outlives_the_restart_and_a_broken_file_is_no_baseline() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("update/baseline.json");
    assert_eq!(Baseline::load(&file).unwrap(), None);
    before().save(&file).unwrap();
    assert_eq!(Baseline::load(&file).unwrap(), Some(before()));
    // By the release in the other slot.
    let mut newer = serde_json::to_value(before()).unwrap();
    newer["clock"] = true.into();
    std::fs::write(&file, newer.to_string()).unwrap();
    assert_eq!(Baseline::load(&file).unwrap(), Some(before()));
    for bad in ["", "{}", "{\"version\":1}", "\0", "[[[["] {
        std::fs::write(&file, bad).unwrap();
        assert!(Baseline::load(&file).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn the_agent_says_what_it_sees_itself() {
    struct Half;
    impl Eyes for Half {
        fn unit<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
            let up = name == "good.service";
            Box::pin(async move { if up { Ok(()) } else { Err("it is inactive".into()) } })
        }
        fn command<'a>(&'a self, program: &'a Path) -> BoxFuture<'a, Result<(), String>> {
            let good = program.ends_with("true");
            Box::pin(async move { if good { Ok(()) } else { Err("it ended with 1".into()) } })
        }
        fn server<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(async { Err("nothing listens there".into()) })
        }
    }
    let mut wants = ConfiguredChecks {
        units: vec!["good.service".into(), "bad.service".into()],
        commands: vec!["/bin/true".into(), "/bin/false".into()],
        server: Some("/run/raspi-mcp/mcp.sock".into()),
    };
    assert_eq!(
        own::verdict(&Half, &wants).await.problems,
        [
            "service bad.service: it is inactive",
            "command /bin/false: it ended with 1",
            "the server on /run/raspi-mcp/mcp.sock: nothing listens there",
        ]
    );
    let missing = own::verdict(&Half, &wants).await.missing;
    assert_eq!(missing.names(), ["service bad.service", "command /bin/false", "the server"]);
    (wants.units, wants.commands, wants.server) = (vec!["good.service".into()], vec!["/bin/true".into()], None);
    assert!(own::verdict(&Half, &wants).await.is_healthy());
}

/// `net`, `server`, a program's path, or a service.
fn missing(names: &[&str]) -> Missing {
    let mut missing = Missing::default();
    for name in names {
        match *name {
            "net" => missing.network = true,
            "server" => missing.server = true,
            path if path.starts_with('/') => drop(missing.commands.insert(path.into())),
            service => drop(missing.services.insert(service.into())),
        }
    }
    missing
}

#[test]
fn a_release_is_to_blame_unless_the_old_system_misses_all_that_its_trial_missed() {
    use OldSystem::{FailsAlike, Offline, Online};
    for (trial, now, found) in [
        (&["web"][..], &[][..], Online),
        (&["web"], &["web"], FailsAlike),
        (&["web"], &["web", "/bin/check", "other"], FailsAlike),
        (&["web", "other"], &["web"], Online),
        (&["/bin/check"], &["/bin/check"], FailsAlike),
        (&["/bin/check", "web"], &["/bin/check"], Online),
        (&["/bin/check"], &["/bin/other"], Online),
        // No old system excuses the server, nor a trial of which nothing is known.
        (&["server"], &["server"], Online),
        (&["server", "web"], &["server", "web"], Online),
        (&[], &["web"], Online),
        (&[], &[], Online),
        // Without a network nothing is known of what needs one.
        (&["net"], &["net"], Offline),
        (&["web"], &["net"], Offline),
        (&["net", "web"], &["net", "web"], Offline),
        (&["net"], &[], Online),
        (&["net", "web"], &["web"], Online),
    ] {
        assert_eq!(OldSystem::compared(&missing(now), &missing(trial)), found, "{trial:?} beside {now:?}");
    }
}

#[test]
fn what_a_release_renames_is_compared_by_its_name_of_before() {
    let renames = vec![Renamed { from: "old".into(), to: "young".into() }];
    let changes = ServiceChanges { renames, ..ServiceChanges::default() };
    assert_eq!(missing(&["young", "web", "net"]).before(&changes), missing(&["old", "web", "net"]));
    assert_eq!(missing(&["old"]).before(&changes), missing(&["old"]));
}
