//! The signed steps: what devices make of each, and what is refused.

use super::{channel, plan_in, stages};
use crate::update::{NOW, PRODUCT, a_key, roots};
use base::error::ErrorCode;
use fleet_protocol::rollout::steps::{self, Step};
use raspi_mcp::fleet::rollout::SignedSteps;
use std::fs;
use tempfile::TempDir;
use update::channel::{AcceptedIndex, IndexChange, IndexCriteria, accept, publish, sign};

const STOP: &str = "failed_percent = 50\nfailed_count = 3\nsilent_percent = 20";
const DAYS: u64 = 86_400;

fn signed(dir: &TempDir) -> SignedSteps {
    let stages = stages(&[(5, 1, 30), (100, 8, 30)]).replacen("soak", "rings = [\"early\"]\nsoak", 1);
    let plan = plan_in(dir.path(), STOP, &stages);
    SignedSteps::sign(plan, channel(), (NOW + 60, NOW + 30 * DAYS), &[a_key(21)], &roots()).unwrap()
}

#[test]
fn devices_accept_each_step_after_any_earlier_one_and_none_after_a_later_one() {
    let dir = TempDir::new().unwrap();
    let steps = signed(&dir);
    let look = |step: u32, seen: Option<&AcceptedIndex>| {
        let wanted = IndexCriteria {
            product: PRODUCT,
            channel: "stable",
            seen,
            clock_ms: (NOW as i64 + 120) * 1000,
            synchronised: true,
            time_floor: NOW,
        };
        accept(steps.bytes(step).unwrap(), &roots(), &wanted)
    };
    for first in 0..=steps::count(2) {
        let seen = look(first, None).unwrap().seen;
        for next in 0..=steps::count(2) {
            assert_eq!(look(next, Some(&seen)).is_ok(), next >= first, "{first} then {next}");
        }
    }
    for number in 1..=steps::count(2) {
        let index = look(number, None).unwrap().index;
        let step = Step::of(number).unwrap();
        assert_eq!((index.sequence, index.paused.is_some()), (7 + u64::from(number), step.paused));
        let (percent, rings) = [(5, vec!["early".to_owned()]), (100, vec![])][step.stage].clone();
        assert_eq!((index.releases[0].rollout.percent, index.releases[0].rings.clone()), (percent, rings));
        // Nothing else of the channel changed.
        assert_eq!(index.releases[1], look(0, None).unwrap().index.releases[1]);
    }
    assert!(steps.bytes(steps::count(2) + 1).is_none());
}

#[test]
fn a_folder_is_read_back_and_any_change_of_it_is_noticed() {
    let dir = TempDir::new().unwrap();
    let steps = signed(&dir);
    let folder = dir.path().join("signed");
    steps.write(&folder).unwrap();
    assert!(steps.write(&folder).unwrap_err().message.contains("there already"));
    let read = || SignedSteps::read(steps.plan.clone(), &folder, Some(&roots()));
    let again = read().unwrap();
    assert_eq!((&again.hash, &again.manifest, again.sequence), (&steps.hash, &steps.manifest, 7));
    // Another plan than the one that was signed: its limits are in the hash, which every pause has.
    let mut lenient = steps.plan.clone();
    lenient.stop.failed_count = 300;
    assert!(SignedSteps::read(lenient, &folder, None).is_err());
    // The copy of the plan counts where the owner's file is gone; one that was changed is noticed.
    let copy = folder.join("plan.json");
    let as_signed = || SignedSteps::as_signed(&folder);
    let kept = fs::read_to_string(&copy).unwrap();
    assert!(as_signed().unwrap().is_some_and(|again| again.hash == steps.hash && again.plan == steps.plan));
    for (from, to) in [("\"failed_count\": 3", "\"failed_count\": 300"), ("\"stop\"", "\"stops\"")] {
        assert!(kept.contains(from), "{kept}");
        fs::write(&copy, kept.replace(from, to)).unwrap();
        assert_eq!(as_signed().err().unwrap().code, ErrorCode::VerificationFailed, "{to}");
    }
    fs::remove_file(&copy).unwrap();
    assert!(as_signed().unwrap().is_none(), "an older version wrote the folder");
    // Two files exchanged; one by a stranger; one that is missing.
    let (one, five) = (folder.join("1.signed"), folder.join("5.signed"));
    let kept = fs::read(&one).unwrap();
    fs::copy(&five, &one).unwrap();
    assert!(read().is_err());
    let index = super::index(&kept);
    fs::write(&one, sign(&index, &[a_key(99)], None).unwrap()).unwrap();
    assert!(read().is_err());
    fs::remove_file(&one).unwrap();
    assert!(read().err().unwrap().advice().contains("rollout sign"));
    fs::write(&one, kept).unwrap();
    read().unwrap();
}

#[test]
fn what_does_not_fit_the_channel_is_not_signed() {
    let dir = TempDir::new().unwrap();
    let plan = plan_in(dir.path(), STOP, &stages(&[(5, 1, 30)]));
    let present = super::index(&channel());
    let refused = |plan: &fleet_protocol::rollout::RolloutPlan, change: Option<IndexChange>, key: u8, expires: u64| {
        let index = change.map_or(present.clone(), |change| publish(present.clone(), change, NOW, NOW + DAYS).unwrap());
        let bytes = sign(&index, &[a_key(21)], None).unwrap();
        let signed = SignedSteps::sign(plan.clone(), bytes, (NOW + 60, expires), &[a_key(key)], &roots());
        signed.err().map(|error| error.message.clone()).unwrap_or_default()
    };
    let month = NOW + 30 * DAYS;
    assert_eq!(refused(&plan, None, 21, month), "");
    let pause = IndexChange::Pause { reason: "lunch".into() };
    assert!(refused(&plan, Some(pause), 21, month).contains("paused: lunch"));
    let revoke = IndexChange::Revoke { version: "1.2.0".into(), reason: "dark".into() };
    assert!(refused(&plan, Some(revoke), 21, month).contains("revoked"));
    assert!(refused(&plan, None, 21, NOW + 60 + 1800).contains("expire"));
    assert!(!refused(&plan, None, 11, month).is_empty(), "a key of another role");
    let mut other = plan.clone();
    other.version = "1.3.0".into();
    assert!(refused(&other, None, 21, month).contains("no release 1.3.0"));
    other = plan;
    other.channel = "beta".into();
    assert!(refused(&other, None, 21, month).contains("for beta"));
}
