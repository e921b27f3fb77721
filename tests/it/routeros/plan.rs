//! Changes that take themselves back: every way to be cut off, and every moment at which this program may end.

use super::{Bench, pinned};
use crate::support::served::soon;
use base::error::{ErrorCode, ToolError};
use proptest::prelude::*;
use raspi_mcp::routeros::{
    Device,
    plan::{Action, AddedRows, Applied, Apply, Base, Change, Fields, Outcome, inverse, quoted},
};
use routeros_simulator::{
    Fault, Profile, Router,
    script::{Expression, Piece, Statement, parse},
    server::Listener,
};
use std::time::Duration;

const TIMER: Duration = Duration::from_secs(120);

fn fields(all: &[(&str, &str)]) -> Fields {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn change(menu: &str, select: &[(&str, &str)], action: Action) -> Change {
    Change { menu: menu.into(), select: fields(select), action }
}

fn set(menu: &str, select: &[(&str, &str)], to: &[(&str, &str)]) -> Change {
    change(menu, select, Action::Set(fields(to)))
}

fn add(menu: &str, select: &[(&str, &str)], more: &[(&str, &str)]) -> Change {
    change(menu, select, Action::Add(fields(more), None))
}

/// A rule before MikroTik's first one.
fn first_rule(more: &[(&str, &str)]) -> Change {
    let first = fields(&[("comment", "defconf: accept established,related,untracked"), ("chain", "input")]);
    change(
        "ip/firewall/filter",
        &[("chain", "input"), ("comment", "ours \"$x\"; [/system/reboot]")],
        Action::Add(fields(more), Some(first)),
    )
}

/// Changes that leave us in: one of each kind.
fn harmless() -> Vec<Change> {
    vec![
        set("system/identity", &[], &[("name", "attic \"$x\"")]),
        add("ip/address", &[("address", "192.0.2.1/24"), ("interface", "bridge")], &[("comment", "second; }")]),
        change("ip/firewall/address-list", &[("list", "mcp-blocked"), ("address", "198.51.100.7")], Action::Remove),
        set("ip/dns", &[], &[("servers", "192.0.2.53,192.0.2.54")]),
        first_rule(&[("action", "accept"), ("src-address", "192.168.88.10")]),
    ]
}

/// One change each that cuts us off.
fn cuts() -> Vec<Change> {
    vec![
        first_rule(&[("action", "drop"), ("src-address", "192.168.88.0/24")]),
        first_rule(&[("action", "reject"), ("protocol", "tcp"), ("dst-port", "1-1024"), ("connection-state", "new")]),
        add("ip/route", &[("dst-address", "192.168.88.10/32"), ("gateway", "203.0.113.1")], &[]),
        set("ip/address", &[("address", "192.168.88.1/24")], &[("address", "192.168.77.1/24")]),
        change("ip/address", &[("address", "192.168.88.1/24")], Action::Remove),
        set("interface/bridge/port", &[("interface", "ether2")], &[("disabled", "yes")]),
        set("interface/bridge", &[("name", "bridge")], &[("vlan-filtering", "yes"), ("pvid", "99")]),
        set("interface", &[("name", "ether2")], &[("disabled", "yes")]),
    ]
}

struct Try {
    router: Router,
    listener: Listener,
    device: Device,
    changes: Vec<Change>,
    base: String,
    /// Of before.
    export: String,
}

/// Without the lines that say when it was made.
fn export(router: &Router) -> String {
    router.export().lines().filter(|line| !line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n")
}

impl Try {
    async fn new(profile: Profile, changes: Vec<Change>) -> Self {
        let Bench { router, listener, client } = Bench::new(profile).await;
        let base = soon(Base::read(&client, &changes)).await.unwrap().hash();
        let export = export(&router);
        let device = pinned(&listener);
        Self { router, listener, device, changes, base, export }
    }

    async fn apply(&self, timer: Duration) -> Result<Applied, ToolError> {
        let keep = |export: &str| {
            assert_eq!(export, self.export);
            Ok(())
        };
        let apply = Apply {
            device: &self.device,
            plan: "p1",
            changes: &self.changes,
            base: &self.base,
            timer,
            keep: &keep,
            added: AddedRows::default(),
        };
        apply.run().await
    }

    fn entries(&self) -> usize {
        self.router.rows("system/scheduler").len()
    }

    /// The router is as it was, but for entries of the scheduler that are off.
    fn is_as_before(&self) -> bool {
        let off = self.router.rows("system/scheduler").iter().all(|row| row.is("disabled"));
        off && without_scheduler(&export(&self.router)) == without_scheduler(&self.export)
    }
}

/// An export without the section of the scheduler.
fn without_scheduler(export: &str) -> String {
    let mut is_shown = true;
    let kept = export.lines().filter(|line| {
        if line.starts_with('/') {
            is_shown = *line != "/system scheduler";
        }
        is_shown
    });
    kept.fold(String::new(), |text, line| text + line + "\n")
}

#[tokio::test]
async fn what_lets_us_in_is_confirmed() {
    for profile in Profile::ALL {
        let attempt = Try::new(profile, harmless()).await;
        let applied = soon(attempt.apply(TIMER)).await.unwrap();
        assert!(matches!(applied.outcome, Outcome::Confirmed), "{:?}", applied.outcome);
        assert_eq!((attempt.entries(), &applied.after), (0, &export(&attempt.router)));
        let rules = attempt.router.rows("ip/firewall/filter");
        assert_eq!((rules[0].get("src-address"), rules.len()), ("192.168.88.10", 9));
        assert_eq!(attempt.router.rows("ip/firewall/address-list").len(), 1);
        attempt.router.advance(TIMER * 2);
        attempt.router.reboot();
        attempt.router.advance(TIMER);
        assert_eq!(export(&attempt.router), applied.after, "and stays");
    }
}

#[tokio::test]
async fn what_cuts_us_off_is_taken_back_within_the_timer() {
    let timer = Duration::from_secs(4);
    let tries = cuts().into_iter().map(|cut| async move {
        let mut attempt = Try::new(Profile::V7_21, vec![cut]).await;
        attempt.listener.follow_the_clock();
        let applied = attempt.apply(timer).await.unwrap_or_else(|error| panic!("{:?}: {error:?}", attempt.changes));
        assert!(matches!(applied.outcome, Outcome::TakenBack(_)), "{:?}: {:?}", attempt.changes, applied.outcome);
        assert_eq!((&applied.after, attempt.entries()), (&attempt.export, 0), "{:?}", attempt.changes);
        assert!(
            attempt.router.admits(true) && attempt.router.now() < timer + Duration::from_secs(6),
            "{:?}",
            attempt.router.now()
        );
    });
    tokio::time::timeout(Duration::from_secs(60), futures::future::join_all(tries)).await.unwrap();
}

#[tokio::test]
async fn this_program_may_end_between_any_two_requests() {
    for changes in [harmless(), vec![cuts().remove(0)], vec![cuts().remove(3)]] {
        let mut at = 1;
        loop {
            let attempt = Try::new(Profile::V7_21, changes.clone()).await;
            let heard = attempt.router.requests() + at;
            let ended = soon(async {
                tokio::select! {
                    biased;
                    () = attempt.router.has_heard(heard) => false,
                    () = attempt.router.is_cut_off() => true,
                    _ = attempt.apply(TIMER) => true,
                }
            });
            let is_last = ended.await;
            // Once by the timer, once by a power cut before it.
            if at % 2 == 0 {
                attempt.router.reboot();
            }
            attempt.router.advance(TIMER + Duration::from_secs(5));
            // From the moment at which the timer is taken away, it is confirmed.
            let is_kept = attempt.entries() < 2 && !attempt.is_as_before();
            assert!(
                attempt.is_as_before() || is_kept && changes.len() > 1,
                "after {at} requests: {}",
                export(&attempt.router)
            );
            assert!(attempt.router.admits(true), "after {at} requests");
            if is_last {
                break;
            }
            at += 1;
        }
        assert!(at > 5, "only {at} requests");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_a_write_is_looked_at_and_nothing_is_done_twice() {
    let attempt = Try::new(Profile::V7_16, harmless()).await;
    let apply = attempt.apply(TIMER);
    let cuts = async {
        loop {
            attempt.router.fault(Fault::CutAfterWrite);
            attempt.router.has_heard(attempt.router.requests() + 3).await;
        }
    };
    let applied = soon(async {
        tokio::select! { applied = apply => applied, () = cuts => panic!("it never ends") }
    })
    .await;
    match applied {
        Ok(Applied { outcome: Outcome::Confirmed, .. }) => {
            assert_eq!(attempt.router.rows("ip/firewall/filter").len(), 9)
        }
        Ok(_) => assert!(attempt.is_as_before()),
        Err(error) => {
            attempt.router.mend();
            attempt.router.advance(TIMER);
            assert!(attempt.is_as_before(), "{error:?}: {}", export(&attempt.router));
        }
    }
}

#[tokio::test]
async fn a_base_that_moved_is_refused_and_nothing_is_written() {
    let attempt = Try::new(Profile::V7_21, vec![set("system/identity", &[], &[("name", "attic")])]).await;
    let other = Try { base: "0".repeat(64), ..attempt };
    let error = soon(other.apply(TIMER)).await.unwrap_err();
    assert_eq!((error.code, other.router.writes()), (ErrorCode::Conflict, 0), "{error:?}");
}

#[tokio::test]
async fn a_router_that_takes_no_way_back_gets_no_change() {
    let attempt = Try::new(Profile::V7_21, harmless()).await;
    attempt.router.fault(Fault::DiskFull);
    let error = soon(attempt.apply(TIMER)).await.unwrap_err();
    assert_eq!(
        (error.code, attempt.router.writes(), attempt.entries()),
        (ErrorCode::FailedPrecondition, 0, 0),
        "{error:?}"
    );
    let reader = Try {
        device: Device { user: "reader".into(), ..attempt.device.clone() },
        ..Try::new(Profile::V7_21, harmless()).await
    };
    let reader = Try {
        device: Device {
            address: reader.listener.address().to_string(),
            trust: pinned(&reader.listener).trust,
            ..reader.device
        },
        ..reader
    };
    let error = soon(reader.apply(TIMER)).await.unwrap_err();
    assert_eq!((error.code, reader.router.writes()), (ErrorCode::PermissionDenied, 0), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_refused() {
    let bench = Bench::new(Profile::V7_12).await;
    for (bad, code) in [
        (
            set("interface/wireless", &[("name", "wlan1")], &[("wpa2-pre-shared-key", "x")]),
            ErrorCode::FailedPrecondition,
        ),
        (add("user", &[("name", "x")], &[("group", "full")]), ErrorCode::InvalidArgument),
        (add("system/scheduler", &[("name", "x")], &[]), ErrorCode::InvalidArgument),
        (set("ip/address", &[("address]", "x")], &[("comment", "x")]), ErrorCode::InvalidArgument),
        (set("ip/address", &[("address", "192.168.88.1/24")], &[]), ErrorCode::InvalidArgument),
        (add("ip/pool", &[], &[("name", "x")]), ErrorCode::InvalidArgument),
        (change("ip/address", &[("interface", "ether1")], Action::Remove), ErrorCode::FailedPrecondition),
        (change("ip/firewall/filter", &[("chain", "input")], Action::Remove), ErrorCode::Conflict),
        (change("ip/pool", &[("name", "nowhere")], Action::Remove), ErrorCode::NotFound),
        (add("ip/pool", &[("name", "default-dhcp")], &[("ranges", "192.0.2.1")]), ErrorCode::FailedPrecondition),
    ] {
        let error = soon(Base::read(&bench.client, std::slice::from_ref(&bad))).await.unwrap_err();
        assert_eq!(error.code, code, "{bad:?}: {error:?}");
    }
}

proptest! {
    #[test]
    fn no_value_escapes_its_quotation_marks(value in ".*") {
        let script = format!("/ip/address/set *1 comment={}", quoted(&value));
        let [Statement::Command(command)] = &parse(&script).unwrap()[..] else { panic!("{script}") };
        let expected = if value.is_empty() { vec![] } else { vec![Piece::Literal(value)] };
        prop_assert_eq!(&command.arguments[1].1, &Expression::Text(expected));
    }

    #[test]
    fn rows_that_are_made_again_and_fields_that_are_taken_away_stay_in_their_commands(name in "\\PC*", value in "(\"|\\$|\\[|;|\n|\\}|\\\\|[a-z])*") {
        let changes = [
            change("ip/pool", &[("name", &name)], Action::Remove),
            change("ip/dhcp-server/network", &[("address", &name)], Action::Remove),
            set("ip/firewall/filter", &[("comment", &name)], &[("dst-port", &value), ("action", "drop")]),
        ];
        let base = Base::of([
            Some(fields(&[("name", &name), ("ranges", &value)])),
            Some(fields(&[("address", &name), ("gateway", &value)])),
            Some(fields(&[("comment", &name), ("dst-port", ""), ("action", &value)])),
        ]);
        // The field, the rest of the rule; the network and the pool get their comments back.
        let statements = parse(&inverse(&changes, &base, "p1", &[])).unwrap();
        // An action that was none is unset by a command of its own.
        prop_assert_eq!(statements.len(), if value.is_empty() { 5 } else { 4 });
        for statement in statements {
            let Statement::Do { body, on_error } = statement else { panic!("{statement:?}") };
            prop_assert!(body.len() == 1 && on_error == Some(vec![]), "{:?}", body);
        }
    }

    #[test]
    fn an_inverse_is_one_command_for_each_change(name in "\\PC*", select in "[^a-z]*", comment in "(\"|\\$|\\[|;|\n|\\}|\\\\|[a-z])*") {
        let changes = [set("ip/address", &[("address", &select)], &[("comment", &comment)]), add("ip/pool", &[("name", &name)], &[("ranges", &comment)])];
        // What the rows held before is as hostile.
        let base = Base::of([Some(fields(&[("address", &select), ("comment", &name)])), None]);
        let statements = parse(&inverse(&changes, &base, "p1", &["e"])).unwrap();
        prop_assert_eq!(statements.len(), 3);
        for statement in statements {
            let Statement::Do { body, on_error } = statement else { panic!("{statement:?}") };
            prop_assert!(body.len() == 1 && on_error == Some(vec![]), "{:?}", body);
        }
    }
}
