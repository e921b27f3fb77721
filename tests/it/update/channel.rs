//! A channel is believed by its keys and its numbers, and says who gets what.

use super::{
    LATER, LAYOUT, NOW, PRODUCT, a_bundle, a_root, a_root_file, an_image, opened,
    origin::{Authority, Conduct, Origin},
    roots, signed,
};
use ::update::{
    bundle::Digest,
    channel::{
        Accepted, AcceptedIndex, ChannelIndex, DeviceId, IndexChange, IndexCriteria, ReleaseChoice, ReleaseEntry,
        Revoked, Rollout, TargetDevice, Tree, Why, accept, choose, publish, recall, remember,
    },
    trust::Purpose,
};
use base::error::{ErrorCode, ToolError};
use std::fs;
use tempfile::TempDir;
use update_client::fetch::look;

const DAY: u64 = 86_400;

fn offer(version: &str, counter: u64) -> ReleaseEntry {
    ReleaseEntry {
        version: version.into(),
        counter,
        manifest: Digest::of(version.as_bytes()),
        url: format!("bundles/{version}.bundle"),
        size: 1_000_000,
        released: NOW,
        layout: LAYOUT.into(),
        hardware: vec!["raspberrypi,4-model-b".into()],
        rollout: Rollout { percent: 100, salt: version.into() },
        rings: vec![],
        min_counter: None,
        notes: "What is new.\nMore of it.".into(),
        notes_url: Some("https://example.org/notes".into()),
    }
}

fn index(releases: Vec<ReleaseEntry>) -> ChannelIndex {
    ChannelIndex {
        format: 1,
        product: PRODUCT.into(),
        channel: "stable".into(),
        sequence: 7,
        created: NOW,
        expires: NOW + 30 * DAY,
        paused: None,
        releases,
        revoked: vec![],
    }
}

fn device() -> TargetDevice {
    TargetDevice {
        version: "1.0.0".into(),
        counter: 10,
        counter_floor: 5,
        hardware: vec!["raspberrypi,4-model-b".into(), "brcm,bcm2711".into()],
        layout: LAYOUT.into(),
        ring: None,
        pin: None,
        id: Some(DeviceId::of("0123456789abcdef0123456789abcdef")),
        blocked: vec![],
    }
}

fn wanted(seen: Option<&AcceptedIndex>) -> IndexCriteria<'_> {
    let clock_ms = i64::try_from(NOW + DAY).unwrap() * 1000;
    IndexCriteria {
        product: PRODUCT,
        channel: "stable",
        seen,
        clock_ms,
        synchronised: true,
        time_floor: NOW - 300 * DAY,
    }
}

fn bytes(index: &ChannelIndex, keys: &[u8]) -> Vec<u8> {
    signed(Purpose::Channel, &index.encode().unwrap(), keys)
}

fn judged(index: &ChannelIndex, seen: Option<&AcceptedIndex>) -> Result<Accepted, ToolError> {
    accept(&bytes(index, &[21]), &roots(), &wanted(seen))
}

fn installs(index: &ChannelIndex, device: &TargetDevice) -> String {
    match choose(index, device) {
        ReleaseChoice::Install(offer) => offer.version,
        ReleaseChoice::UpToDate => "up to date".into(),
        ReleaseChoice::Held { why, .. } => format!("held: {why}"),
    }
}

#[test]
fn an_index_is_believed_by_its_keys() {
    let index = index(vec![offer("1.1.0", 11)]);
    let accepted = judged(&index, None).unwrap();
    assert_eq!((accepted.index, accepted.doubt), (index.clone(), None));
    assert_eq!((accepted.seen.sequence, accepted.seen.created), (7, NOW));
    // Release keys are for releases, whoever holds them; and a channel's key for nothing else.
    for (what, bytes) in [
        ("nobody", bytes(&index, &[])),
        ("release keys", bytes(&index, &[11, 12])),
        ("a stranger", bytes(&index, &[99])),
        ("another purpose", signed(Purpose::Release, &index.encode().unwrap(), &[21])),
        ("a bit", {
            let mut bytes = bytes(&index, &[21]);
            *bytes.last_mut().unwrap() ^= 1;
            bytes
        }),
        ("nothing", vec![]),
        ("a web page", b"<html>".to_vec()),
        ("half of it", bytes(&index, &[21])[..100].to_vec()),
        ("signed rubbish", signed(Purpose::Channel, b"{}", &[21])),
        (
            "a field twice",
            signed(
                Purpose::Channel,
                String::from_utf8(index.encode().unwrap())
                    .unwrap()
                    .replacen("\"format\": 1", "\"format\": 1, \"format\": 1", 1)
                    .as_bytes(),
                &[21],
            ),
        ),
    ] {
        let error = accept(&bytes, &roots(), &wanted(None)).unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed, "{what}: {error}");
        assert!(error.hint.is_some());
    }
}

#[test]
fn a_replay_a_fork_and_a_freeze_are_refused() {
    let now = judged(&index(vec![offer("1.1.0", 11)]), None).unwrap();
    // The same once more is fine, and so is a newer one.
    assert!(judged(&now.index, Some(&now.seen)).is_ok());
    let next = ChannelIndex { sequence: 8, created: NOW + 1, ..now.index.clone() };
    assert_eq!(judged(&next, Some(&now.seen)).unwrap().seen.sequence, 8);

    let older = ChannelIndex { sequence: 6, ..now.index.clone() };
    let error = judged(&older, Some(&now.seen)).unwrap_err();
    assert!(error.message.contains("from index 7 to 6") && error.message.contains("replayed"), "{error}");
    let backdated = ChannelIndex { sequence: 9, created: NOW - 1, ..now.index.clone() };
    assert!(judged(&backdated, Some(&now.seen)).is_err());
    let fork = ChannelIndex { releases: vec![], ..now.index.clone() };
    let error = judged(&fork, Some(&now.seen)).unwrap_err();
    assert!(error.message.contains("two different indexes with number 7"), "{error}");
    // What was seen of another channel says nothing about this one.
    let other = AcceptedIndex { channel: "beta".into(), sequence: 100, ..now.seen.clone() };
    assert!(judged(&now.index, Some(&other)).is_ok());

    let frozen = ChannelIndex { created: NOW - 30 * DAY, expires: NOW + DAY, ..now.index.clone() };
    let error = judged(&frozen, None).unwrap_err();
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
    assert!(error.message.contains("expired"), "{error}");
    let future = ChannelIndex { created: NOW + 3 * DAY, ..now.index };
    assert!(judged(&future, None).unwrap_err().message.contains("made in the future"));
}

/// A root of trust whose channel keys are these.
fn rotated(keys: &[u8]) -> update::trust::RootOfTrust {
    let mut file = a_root_file(2);
    file.keys = [1, 2, 3, 11, 12, 13].iter().chain(keys).map(|number| super::a_key(*number).public()).collect();
    file.channel.keys = super::ids(keys);
    let bytes = signed(Purpose::Root, &serde_json::to_vec(&file).unwrap(), &[1, 2]);
    roots().accept(&bytes).unwrap()
}

#[test]
fn a_channel_that_a_stolen_key_has_frozen_goes_on_with_the_next_root() {
    let last = judged(&index(vec![offer("1.1.0", 11)]), None).unwrap();
    // The highest number of all is none: there are no more indexes than seconds.
    let highest = ChannelIndex { sequence: (1 << 53) - 1, ..last.index.clone() };
    assert!(highest.encode().is_err() && ChannelIndex::parse(&serde_json::to_vec(&highest).unwrap()).is_err());
    let frozen =
        ChannelIndex { sequence: NOW + 2 * DAY, created: NOW + 2 * DAY, releases: vec![], ..last.index.clone() };
    let stolen = accept(&bytes(&frozen, &[21]), &roots(), &wanted(Some(&last.seen))).unwrap();
    let next = ChannelIndex { sequence: 8, created: NOW + DAY, ..last.index.clone() };
    let by =
        |keys: &[u8], roots: &_, index: &ChannelIndex| accept(&bytes(index, keys), roots, &wanted(Some(&stolen.seen)));
    assert!(by(&[22], &roots(), &next).is_err(), "as long as the key counts");
    // Without it, the publisher goes on where it was.
    let accepted = by(&[22], &rotated(&[22, 23]), &next).unwrap();
    assert_eq!(accepted.seen.sequence, 8);
    assert!(by(&[21], &rotated(&[22, 23]), &frozen).is_err());
    // Or from the beginning.
    assert!(by(&[23], &rotated(&[23]), &ChannelIndex { sequence: 1, ..next.clone() }).is_ok());
    // What an earlier version believed can be frozen as well, and nobody knows by whom.
    let earlier = AcceptedIndex { sequence: (1 << 53) - 1, marks: vec![], ..last.seen };
    assert!(judged(&next, Some(&earlier)).is_ok());
}

#[test]
fn no_old_index_comes_back_with_the_next_root() {
    let index = index(vec![offer("1.1.0", 11)]);
    let mut seen: Option<AcceptedIndex> = None;
    // 22 has signed the fifth, 21 the two after it.
    for (sequence, key) in [(5, 22), (6, 21), (7, 21)] {
        let one = ChannelIndex { sequence, created: NOW - 100 + sequence, ..index.clone() };
        seen = Some(accept(&bytes(&one, &[key]), &roots(), &wanted(seen.as_ref())).unwrap().seen);
    }
    let seen = seen.unwrap();
    for roots in [roots(), rotated(&[22, 23]), rotated(&[21, 22])] {
        for (sequence, key) in [(5, 22), (6, 21)] {
            let one = ChannelIndex { sequence, created: NOW - 100 + sequence, ..index.clone() };
            let error = accept(&bytes(&one, &[key]), &roots, &wanted(Some(&seen))).unwrap_err();
            assert_eq!(error.code, ErrorCode::VerificationFailed, "{sequence} by {key}: {error}");
        }
        let next = ChannelIndex { sequence: 8, created: NOW, ..index.clone() };
        assert!(accept(&bytes(&next, &[22]), &roots, &wanted(Some(&seen))).is_ok());
    }
    // Who signed what is kept, and read again as an earlier version left it.
    let folder = TempDir::new().unwrap();
    remember(folder.path(), &seen).unwrap();
    assert_eq!(recall(folder.path(), "stable"), Some(seen.clone()));
    let earlier = AcceptedIndex { marks: vec![], ..seen };
    let old = ChannelIndex { sequence: 6, created: NOW - 94, ..index };
    assert!(accept(&bytes(&old, &[22]), &rotated(&[22, 23]), &wanted(Some(&earlier))).is_err());
}

#[test]
fn looks_that_overlap_forget_nothing() {
    let one = judged(&index(vec![]), None).unwrap().seen;
    let next = ChannelIndex { sequence: 8, created: NOW + 1, ..index(vec![]) };
    let two = accept(&bytes(&next, &[22]), &roots(), &wanted(Some(&one))).unwrap().seen;
    // The first look comes last.
    let kept = one.over(&two);
    assert!(judged(&index(vec![]), Some(&kept)).is_err());
    assert!(accept(&bytes(&next, &[22]), &roots(), &wanted(Some(&kept))).is_ok());
}

#[test]
fn an_index_from_the_future_is_believed_neither_with_a_clock_nor_without_and_holds_nothing_back() {
    let at = |created: u64| ChannelIndex { created, expires: created + DAY, ..index(vec![]) };
    let unset = IndexCriteria { synchronised: false, ..wanted(None) };
    let judged_at = |created, wanted: &IndexCriteria| accept(&bytes(&at(created), &[21]), &roots(), wanted);
    assert!(judged_at(NOW + 2 * DAY, &wanted(None)).is_ok(), "a day ahead");
    assert!(judged_at(NOW + 2 * DAY + 1, &wanted(None)).is_err());
    assert!(judged_at(4_070_908_800, &unset).unwrap_err().message.contains("in the future"));
    // Believed while nobody had set the clock, and not held against the right one later.
    let believed = judged_at(NOW + 40 * DAY, &unset).unwrap().seen;
    let next = ChannelIndex { sequence: 8, created: NOW, ..index(vec![]) };
    assert!(judged(&next, Some(&believed)).is_ok());
    assert!(judged(&ChannelIndex { sequence: 6, ..next }, Some(&believed)).is_err(), "its number counts");
}

#[test]
fn an_index_of_another_product_or_channel_is_another() {
    for other in [
        ChannelIndex { product: "other".into(), ..index(vec![]) },
        ChannelIndex { channel: "beta".into(), ..index(vec![]) },
    ] {
        let error = judged(&other, None).unwrap_err();
        assert!(error.code == ErrorCode::VerificationFailed && error.message.contains("is wanted"), "{error}");
    }
}

#[test]
fn the_clock_may_be_anything() {
    let index = index(vec![]);
    let at = |clock: i64, floor: u64| {
        let wanted = IndexCriteria { clock_ms: clock.saturating_mul(1000), time_floor: floor, ..wanted(None) };
        accept(&bytes(&index, &[21]), &roots(), &wanted)
    };
    let floor = NOW - 100 * DAY;
    // 1970, before 1970, 2099: the floor holds, and it is said that nobody can tell.
    for clock in [0, -1, i64::MIN / 2000, 4_070_908_800] {
        let accepted = at(clock, floor).unwrap();
        assert!(accepted.doubt.unwrap().contains("freshness unknown"), "{clock}");
    }
    assert_eq!(at(i64::try_from(NOW).unwrap(), floor).unwrap().doubt, None);
    // Plausible, and set by nobody.
    let adrift = IndexCriteria { clock_ms: i64::try_from(NOW).unwrap() * 1000, synchronised: false, ..wanted(None) };
    assert!(accept(&bytes(&index, &[21]), &roots(), &adrift).unwrap().doubt.is_some());
    // Whatever the clock says, an index from before the floor has expired.
    for clock in [0, i64::try_from(NOW).unwrap()] {
        assert_eq!(at(clock, NOW + 31 * DAY).unwrap_err().code, ErrorCode::FailedPrecondition, "{clock}");
    }
    // The root of trust expires as well.
    let late = ChannelIndex { created: LATER - DAY, expires: LATER + DAY, ..index.clone() };
    let wanted = IndexCriteria { clock_ms: i64::try_from(LATER).unwrap() * 1000, ..wanted(None) };
    let error = accept(&bytes(&late, &[21]), &roots(), &wanted).unwrap_err();
    assert!(error.message.contains("root of trust") && error.message.contains("expired"), "{error}");
}

#[test]
fn what_nobody_should_publish_nobody_reads() {
    let good = index(vec![offer("1.2.0", 12), offer("1.1.0", 11)]);
    assert!(good.encode().is_ok());
    type Bend = fn(&mut ChannelIndex);
    let bends: [(&str, Bend); 26] = [
        ("format", |i| i.format = 2),
        ("product", |i| i.product = "A B".into()),
        ("channel", |i| i.channel = "../x".into()),
        ("sequence", |i| i.sequence = 0),
        ("sequence, too high", |i| i.sequence = u64::MAX),
        ("expires", |i| i.expires = i.created),
        ("pause", |i| i.paused = Some(String::new())),
        ("pause with escapes", |i| i.paused = Some("\u{1b}[2J".into())),
        ("order", |i| i.releases.reverse()),
        ("same counter", |i| i.releases[0].counter = 11),
        ("same version", |i| i.releases[0].version = "1.1.0".into()),
        ("same manifest", |i| i.releases[0].manifest = i.releases[1].manifest),
        ("too many", |i| i.releases = (0..65).rev().map(|n| offer(&format!("2.0.{n}"), n + 1)).collect()),
        ("version", |i| i.releases[0].version = "latest".into()),
        ("counter", |i| i.releases[1].counter = 0),
        ("min_counter", |i| i.releases[0].min_counter = Some(12)),
        ("hardware", |i| i.releases[0].hardware = vec![]),
        ("layout", |i| i.releases[0].layout = String::new()),
        ("percent", |i| i.releases[0].rollout.percent = 101),
        ("salt", |i| i.releases[0].rollout.salt = String::new()),
        ("ring", |i| i.releases[0].rings = vec!["A".into()]),
        ("notes", |i| i.releases[0].notes = "n".repeat(4097)),
        ("notes with escapes", |i| i.releases[0].notes = "\u{7}".into()),
        ("notes_url", |i| i.releases[0].notes_url = Some("javascript:alert(1)".into())),
        ("url", |i| i.releases[0].url = "http://example.org/x".into()),
        ("revocation", |i| {
            i.revoked = vec![Revoked { manifest: Digest::of(b""), version: "1.0.0".into(), reason: String::new() }]
        }),
    ];
    for (what, bend) in bends {
        let mut bent = good.clone();
        bend(&mut bent);
        assert!(bent.encode().is_err(), "{what}");
        let text = serde_json::to_vec(&bent).unwrap();
        assert!(ChannelIndex::parse(&text).is_err(), "{what}");
    }
    for (was, is) in [
        ("\"format\": 1,", "\"format\": 1, \"extra\": 0,"),
        ("\"percent\": 100", "\"percent\": \"100\""),
        ("\"sequence\": 7", "\"sequence\": -7"),
    ] {
        let text = String::from_utf8(good.encode().unwrap()).unwrap();
        assert!(text.contains(was) && ChannelIndex::parse(text.replacen(was, is, 1).as_bytes()).is_err(), "{is}");
    }
}

#[test]
fn the_newest_release_that_fits_is_for_this_device() {
    let fleet = index(vec![offer("1.3.0", 13), offer("1.2.0", 12), offer("1.0.0", 10)]);
    assert_eq!(installs(&fleet, &device()), "1.3.0");
    assert_eq!(installs(&fleet, &TargetDevice { counter: 13, ..device() }), "up to date");
    assert_eq!(installs(&fleet, &TargetDevice { counter: 99, ..device() }), "up to date", "a channel never leads back");
    assert_eq!(installs(&index(vec![]), &device()), "up to date");
    let held = |index: &ChannelIndex, device: &TargetDevice, words: &str| {
        let said = installs(index, device);
        assert!(said.starts_with("held: ") && said.contains(words), "{said}");
    };
    held(
        &fleet,
        &TargetDevice { hardware: vec!["raspberrypi,5-model-b".into()], ..device() },
        "not made for this board",
    );
    held(&fleet, &TargetDevice { layout: "gpt-ab-2".into(), ..device() }, "partition layout mbr-ab-1");
    held(&fleet, &TargetDevice { counter_floor: 20, ..device() }, "older than what may still be installed");
    held(
        &ChannelIndex { paused: Some("it eats cards".into()), ..fleet.clone() },
        &device(),
        "paused by its publisher: it eats cards",
    );

    // One that is withdrawn, or failed here, leaves the one before it.
    let revoked =
        Revoked { manifest: fleet.releases[0].manifest, version: "1.3.0".into(), reason: "no network".into() };
    let withdrawn = ChannelIndex { revoked: vec![revoked], ..fleet.clone() };
    assert_eq!(installs(&withdrawn, &device()), "1.2.0");
    held(&withdrawn, &TargetDevice { counter: 12, ..device() }, "withdrawn by its publisher: no network");
    let blocked = TargetDevice {
        counter: 12,
        blocked: vec![(fleet.releases[0].manifest, "the server crashed".into())],
        ..device()
    };
    held(&fleet, &blocked, "failed on this device and is not tried again: the server crashed");
}

#[test]
fn an_old_device_takes_the_steps_in_between() {
    let step = |from| ReleaseEntry { min_counter: Some(from), ..offer("3.0.0", 30) };
    let fleet = |from| index(vec![step(from), offer("2.0.0", 20)]);
    assert_eq!(installs(&fleet(20), &device()), "2.0.0");
    assert_eq!(installs(&fleet(20), &TargetDevice { counter: 20, ..device() }), "3.0.0");
    assert_eq!(installs(&index(vec![step(10)]), &device()), "3.0.0");
    assert!(installs(&index(vec![step(20)]), &device()).contains("no step in between"));
}

#[test]
fn rings_come_before_shares_and_a_pin_before_both() {
    let early = ReleaseEntry { rings: vec!["early".into(), "lab".into()], ..offer("1.3.0", 13) };
    let fleet = index(vec![early, offer("1.2.0", 12)]);
    let ring = |ring: Option<&str>| TargetDevice { ring: ring.map(str::to_owned), ..device() };
    assert_eq!(installs(&fleet, &ring(Some("early"))), "1.3.0");
    assert_eq!(installs(&fleet, &ring(Some("late"))), "1.2.0");
    assert_eq!(installs(&fleet, &ring(None)), "1.2.0");
    let at_12 = TargetDevice { counter: 12, ..ring(None) };
    assert!(installs(&fleet, &at_12).contains("rings early, lab"));

    let pin = |pin: &str, counter| TargetDevice { pin: Some(pin.into()), counter, ..device() };
    assert_eq!(installs(&fleet, &pin("1.2.0", 10)), "1.2.0");
    assert_eq!(installs(&fleet, &pin("1.3.0", 10)), "1.3.0");
    assert_eq!(installs(&fleet, &pin("1.2.0", 12)), "up to date");
    assert!(installs(&fleet, &pin("1.2.0", 13)).contains("never leads back"));
    assert!(installs(&fleet, &pin("9.9.9", 10)).contains("does not have"));
    assert_eq!(installs(&fleet, &pin("1.0.0", 10)), "up to date", "what runs, though the channel has forgotten it");
    assert!(installs(&ChannelIndex { paused: Some("stop".into()), ..fleet }, &pin("1.2.0", 10)).contains("paused"));
}

#[test]
fn a_rollout_reaches_its_share_grows_and_is_another_for_each_release() {
    let ids: Vec<DeviceId> = (0..5000u32).map(|n| DeviceId::of(&format!("{n:032x}"))).collect();
    let reached = |salt: &str, percent| {
        let rolled = ReleaseEntry { rollout: Rollout { percent, salt: salt.into() }, ..offer("1.1.0", 11) };
        let fleet = index(vec![rolled]);
        ids.iter()
            .map(|id| installs(&fleet, &TargetDevice { id: Some(*id), ..device() }) == "1.1.0")
            .collect::<Vec<bool>>()
    };
    let share = |reached: &[bool]| reached.iter().filter(|one| **one).count() * 100 / ids.len();
    assert_eq!((share(&reached("a", 0)), share(&reached("a", 100))), (0, 100));
    let (five, twenty, other) = (reached("a", 5), reached("a", 20), reached("b", 20));
    assert!(
        (4..=6).contains(&share(&five)) && (18..=22).contains(&share(&twenty)),
        "{} {}",
        share(&five),
        share(&twenty)
    );
    assert!(five.iter().zip(&twenty).all(|(before, after)| !before || *after), "who has it keeps it");
    let both = twenty.iter().zip(&other).filter(|(one, two)| **one && **two).count() * 100 / ids.len();
    assert!((2..=6).contains(&both), "the same devices are always first: {both} %");
    // Without an id it is the last.
    let fleet =
        |percent| index(vec![ReleaseEntry { rollout: Rollout { percent, salt: "a".into() }, ..offer("1.1.0", 11) }]);
    let nobody = TargetDevice { id: None, ..device() };
    assert!(installs(&fleet(99), &nobody).contains("99 %") && installs(&fleet(100), &nobody) == "1.1.0");
}

#[test]
fn the_machines_id_does_not_leave_the_machine() {
    let machine = "0123456789abcdef0123456789abcdef";
    let (one, same, other) = (
        DeviceId::of(machine),
        DeviceId::of(&format!("{machine}\n")),
        DeviceId::of("0123456789abcdef0123456789abcdee"),
    );
    assert!(one == same && one != other);
    assert!(!format!("{one:?}").contains("01234567"));
}

#[test]
fn a_bundle_that_is_not_the_indexs_is_refused() {
    let (boot, root) = (super::a_boot(4 << 20, &[("config.txt", b"arm_64bit=1\n")]), an_image(100 << 10, 3));
    let (release, _) = opened(&a_bundle("1.1.0", 11, &boot, &root, &[11, 12]));
    let offer = ReleaseEntry { manifest: release.digest, ..offer("1.1.0", 11) };
    offer.is_of("stable", &release.digest, &release.manifest).unwrap();
    let mixed = [
        ReleaseEntry { manifest: Digest::of(b"yesterday's"), ..offer.clone() },
        ReleaseEntry { version: "1.1.1".into(), ..offer.clone() },
        ReleaseEntry { counter: 12, ..offer.clone() },
        ReleaseEntry { layout: "gpt".into(), ..offer.clone() },
    ];
    for other in mixed {
        let error = other.is_of("stable", &release.digest, &release.manifest).unwrap_err();
        assert!(error.code == ErrorCode::VerificationFailed && error.message.contains("another release"), "{error}");
    }
    assert!(offer.is_of("beta", &release.digest, &release.manifest).is_err());
}

#[test]
fn each_change_makes_the_next_index() {
    let first = index(vec![offer("1.1.0", 11)]);
    let after = |change: IndexChange| publish(first.clone(), change, NOW + 5, NOW + 9 * DAY);
    let renewed = after(IndexChange::Renew).unwrap();
    assert_eq!((renewed.sequence, renewed.created, renewed.expires), (8, NOW + 5, NOW + 9 * DAY));
    let more = after(IndexChange::Add(Box::new(offer("1.2.0", 12)))).unwrap();
    assert_eq!(more.releases.iter().map(|offer| offer.counter).collect::<Vec<_>>(), [12, 11]);
    let between = publish(more.clone(), IndexChange::Add(Box::new(offer("1.0.9", 9))), NOW + 6, NOW + DAY).unwrap();
    assert_eq!(between.releases.len(), 3);
    assert_eq!(
        after(IndexChange::Rollout { version: "1.1.0".into(), percent: 5 }).unwrap().releases[0].rollout.percent,
        5
    );
    let paused = after(IndexChange::Pause { reason: "a bad day".into() }).unwrap();
    assert_eq!(publish(paused, IndexChange::Resume, NOW + 6, NOW + DAY).unwrap().paused, None);
    let revoked = after(IndexChange::Revoke { version: "1.1.0".into(), reason: "it is bad".into() }).unwrap();
    assert_eq!(revoked.revocation(&first.releases[0].manifest), Some("it is bad"));
    for (change, words) in [
        (IndexChange::Resume, "not paused"),
        (IndexChange::Rollout { version: "7.0.0".into(), percent: 5 }, "it has 1.1.0"),
        (IndexChange::Rollout { version: "1.1.0".into(), percent: 101 }, "100 percent"),
        (IndexChange::Revoke { version: "7.0.0".into(), reason: "x".into() }, "no release 7.0.0"),
        (IndexChange::Pause { reason: String::new() }, "no reason"),
        (IndexChange::Add(Box::new(offer("1.1.0", 13))), "in the channel already"),
        (IndexChange::Add(Box::new(offer("1.3.0", 11))), "in the channel already"),
    ] {
        let error = after(change).unwrap_err();
        assert!(error.message.contains(words), "{error}");
    }
    assert!(publish(first, IndexChange::Renew, NOW - 1, NOW + DAY).unwrap_err().message.contains("replay"));
}

#[test]
fn what_was_seen_outlives_a_restart() {
    let dir = TempDir::new().unwrap();
    let seen = judged(&index(vec![]), None).unwrap().seen;
    let folder = dir.path().join("update");
    assert_eq!(recall(&folder, "stable"), None);
    remember(&folder, &seen).unwrap();
    remember(&folder, &seen).unwrap();
    assert_eq!(recall(&folder, "stable"), Some(seen));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!((recall(&folder, "beta"), recall(&folder, "../update/channel-stable")), (None, None));
    for rubbish in ["", "{}", "[1]", "\0\0\0"] {
        fs::write(folder.join("channel-stable.json"), rubbish).unwrap();
        assert_eq!(recall(&folder, "stable"), None);
    }
    assert_eq!(
        remember(std::path::Path::new("/proc/nowhere"), &judged(&index(vec![]), None).unwrap().seen).unwrap_err().code,
        ErrorCode::Unavailable
    );
}

async fn published(authority: &Authority, index: &ChannelIndex) -> Origin {
    let origin = authority.origin().await;
    origin.put("/pi/stable/index.signed", bytes(index, &[21]));
    origin
}

#[tokio::test]
async fn a_channel_is_looked_at_over_the_network_newer_roots_first() {
    let authority = Authority::new();
    let fleet = index(vec![offer("1.1.0", 11)]);
    let origin = published(&authority, &fleet).await;
    let bases = [origin.url("/pi")];
    let found = look(&authority.line(), &bases, roots(), &wanted(None)).await.unwrap();
    assert_eq!((found.accepted.index, found.newer.len(), found.roots.version()), (fleet.clone(), 0, 1));
    let paths: Vec<String> = origin.log().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/pi/roots/2.signed", "/pi/stable/index.signed"]);

    // The channel's key was lost, and a new root says so: what the old one signs is nobody's any more.
    let mut second = a_root_file(2);
    second.channel.keys = super::ids(&[22]);
    let second = signed(Purpose::Root, &serde_json::to_vec(&second).unwrap(), &[1, 2]);
    origin.put("/pi/roots/2.signed", second.clone());
    let error = look(&authority.line(), &bases, roots(), &wanted(None)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed);
    origin.put("/pi/stable/index.signed", bytes(&fleet, &[22]));
    let found = look(&authority.line(), &bases, roots(), &wanted(None)).await.unwrap();
    assert_eq!((found.newer, found.roots.version()), (vec![second], 2));
    // A root that does not follow is none.
    origin.put("/pi/roots/2.signed", a_root());
    let found = look(&authority.line(), &bases, roots(), &wanted(None)).await.unwrap();
    assert_eq!((found.newer.len(), found.roots.version()), (0, 1));
}

#[tokio::test]
async fn a_mirror_that_replays_is_passed_over() {
    let authority = Authority::new();
    let newest = ChannelIndex { sequence: 9, ..index(vec![offer("1.1.0", 11)]) };
    let seen = judged(&newest, None).unwrap().seen;
    let (old, good) = (published(&authority, &index(vec![])).await, published(&authority, &newest).await);
    let bases = [old.url("/pi"), good.url("/pi/")];
    let found = look(&authority.line(), &bases, roots(), &wanted(Some(&seen))).await.unwrap();
    assert_eq!(found.accepted.index.sequence, 9);
    let error = look(&authority.line(), &bases[..1], roots(), &wanted(Some(&seen))).await.unwrap_err();
    assert!(error.message.contains("replayed"), "{error}");
    good.treat(|_| Conduct::Page);
    let error = look(&authority.line(), &bases[1..], roots(), &wanted(Some(&seen))).await.unwrap_err();
    assert!(error.message.contains("web page") && error.code == ErrorCode::Unavailable, "{error}");
}

#[test]
fn a_bundle_may_be_anywhere() {
    let below = offer("1.1.0", 11).places(&["https://a.org/pi".into(), "https://b.org/".into()]).unwrap();
    let shown: Vec<String> = below.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["https://a.org/pi/bundles/1.1.0.bundle", "https://b.org/bundles/1.1.0.bundle"]);
    let elsewhere = ReleaseEntry { url: "https://cdn.org/x".into(), ..offer("1.1.0", 11) };
    assert_eq!(elsewhere.places(&["https://a.org".into(), "https://b.org".into()]).unwrap().len(), 1);
    assert!(matches!(choose(&index(vec![elsewhere]), &device()), ReleaseChoice::Install(_)));
    let held = ReleaseChoice::Held { release: None, why: Why::NoSuchVersion { pin: "1".into() } };
    assert_ne!(held, ReleaseChoice::UpToDate);
}

#[tokio::test]
async fn a_tree_is_served_as_it_is_and_never_half() {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    let folder = dir.path().join("www");
    let tree = Tree::open(&folder).unwrap();
    assert_eq!(Tree::open(&folder).unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(tree.last("stable").unwrap(), None);
    let first = index(vec![offer("1.1.0", 11)]);
    tree.write(&first, &[super::a_key(21)], Some(&roots())).unwrap();
    let next = publish(tree.last("stable").unwrap().unwrap(), IndexChange::Renew, NOW + 1, NOW + 9 * DAY).unwrap();
    // What no device would believe is not published, and what was there stays.
    for keys in [vec![], vec![super::a_key(11)]] {
        assert_eq!(tree.write(&next, &keys, Some(&roots())).unwrap_err().code, ErrorCode::VerificationFailed);
    }
    assert!(tree.write(&next, &[super::a_key(21), super::a_key(21)], None).is_err(), "one key twice");
    assert_eq!(tree.last("stable").unwrap(), Some(first));
    tree.write(&next, &[super::a_key(21)], Some(&roots())).unwrap();
    let bytes = fs::read(folder.join("stable/index.signed")).unwrap();
    tree.write(&next, &[super::a_key(21)], None).unwrap();
    assert_eq!(fs::read(folder.join("stable/index.signed")).unwrap(), bytes, "the same twice");

    let bundle = dir.path().join("made.bundle");
    fs::write(&bundle, "a bundle").unwrap();
    assert_eq!(tree.put_bundle(&bundle, "x-1.0.0.bundle", &mut |_, _| {}).unwrap(), "bundles/x-1.0.0.bundle");
    assert!(tree.put_bundle(&bundle, "x-1.0.0.bundle", &mut |_, _| {}).is_ok());
    fs::write(&bundle, "a bundlE").unwrap();
    assert_eq!(tree.put_bundle(&bundle, "x-1.0.0.bundle", &mut |_, _| {}).unwrap_err().code, ErrorCode::Conflict);
    for name in ["", "../x", "roots", "bundles", "A"] {
        assert_eq!(tree.last(name).unwrap_err().code, ErrorCode::InvalidArgument, "{name}");
    }
    let second = signed(Purpose::Root, &serde_json::to_vec(&a_root_file(2)).unwrap(), &[1, 2]);
    tree.put_root(&second).unwrap();
    tree.put_root(&signed(Purpose::Root, &serde_json::to_vec(&a_root_file(2)).unwrap(), &[1, 2, 3])).unwrap();
    let mut other = a_root_file(2);
    other.expires += 1;
    assert_eq!(
        tree.put_root(&signed(Purpose::Root, &serde_json::to_vec(&other).unwrap(), &[1])).unwrap_err().code,
        ErrorCode::Conflict
    );

    let origin = authority.origin().await;
    origin.put_folder(&folder);
    let found = look(&authority.line(), &[origin.url("")], roots(), &wanted(None)).await.unwrap();
    assert_eq!((found.accepted.index, found.roots.version()), (next, 2));
    let mut files: Vec<String> = walk(&folder);
    files.sort();
    assert_eq!(files, ["bundles/x-1.0.0.bundle", "roots/2.signed", "stable/index.signed"], "nothing half");
}

/// Whoever publishes holds a lock, which a pause passes when nothing happens for long.
#[test]
fn who_hung_while_publishing_does_not_undo_a_pause() {
    let dir = TempDir::new().unwrap();
    let tree = Tree::open(dir.path()).unwrap();
    let first = index(vec![offer("1.1.0", 11)]);
    let write = |index: &ChannelIndex| tree.write(index, &[super::a_key(21)], Some(&roots()));
    write(&first).unwrap();
    let next = |change| publish(first.clone(), change, NOW + 1, NOW + 9 * DAY).unwrap();
    let (late, pause) = (next(IndexChange::Renew), next(IndexChange::Pause { reason: "a bad day".into() }));
    write(&pause).unwrap();
    let of_another = dir.path().join("stable/.index.signed.0123");
    fs::write(&of_another, "what it had not published yet").unwrap();
    let error = write(&late).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    assert_eq!(tree.last("stable").unwrap(), Some(pause.clone()));
    assert!(!of_another.exists(), "its rename would go on");
    write(&publish(pause, IndexChange::Resume, NOW + 2, NOW + 9 * DAY).unwrap()).unwrap();
    assert_eq!(walk(dir.path()), ["stable/index.signed"]);
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let inner = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            walk(&entry.path()).iter().map(|file| format!("{name}/{file}")).collect()
        } else {
            vec![name]
        }
    };
    fs::read_dir(folder).unwrap().flat_map(|entry| inner(entry.unwrap())).collect()
}
