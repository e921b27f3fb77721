//! Roots of trust: what is one, and what may follow it.

use crate::update::{LATER, NOW, a_root, a_root_file, ids, roots, signed};
use ::update::{
    bundle::BundleError,
    trust::{Purpose, RootFile, RootOfTrust},
};
use serde_json::{Value, json};

fn encoded(file: &RootFile, keys: &[u8]) -> Vec<u8> {
    signed(Purpose::Root, &serde_json::to_vec(file).unwrap(), keys)
}

/// The second root: root key 3 was lost and key 4 takes its place; key 14 does so for release key 13.
fn second() -> RootFile {
    let mut file = a_root_file(2);
    for (old, new) in [(3, 4), (13, 14)] {
        let (old, new) = (ids(&[old])[0], crate::update::a_key(new).public());
        file.keys.retain(|key| key.id() != old);
        file.keys.push(new);
        for role in [&mut file.root, &mut file.release] {
            role.keys.iter_mut().filter(|id| **id == old).for_each(|id| *id = new.id());
        }
    }
    file
}

#[test]
fn the_first_is_signed_by_its_own_root_keys() {
    assert_eq!(roots().version(), 1);
    let file = a_root_file(1);
    for keys in [&[1, 2][..], &[2, 3], &[1, 2, 3], &[11, 1, 2]] {
        RootOfTrust::parse(&encoded(&file, keys)).unwrap();
    }
    for keys in [&[][..], &[1], &[11, 12], &[21, 22], &[1, 99]] {
        let said = RootOfTrust::parse(&encoded(&file, keys)).unwrap_err();
        assert!(matches!(said, BundleError::Threshold { need: 2, .. }), "{keys:?}: {said}");
    }
}

#[test]
fn the_next_is_signed_by_enough_keys_of_both() {
    let held = roots();
    let next = held.accept(&encoded(&second(), &[1, 2])).unwrap();
    assert_eq!(next.version(), 2);
    // Old 1 and 3, new 1 and 4.
    held.accept(&encoded(&second(), &[1, 3, 4])).unwrap();
    for (keys, whose) in
        [(&[1, 3][..], "its own keys"), (&[1, 4], "the keys of the one held"), (&[4], "one held"), (&[], "one held")]
    {
        let said = held.accept(&encoded(&second(), keys)).unwrap_err();
        assert!(matches!(said, BundleError::Threshold { .. }) && said.to_string().contains(whose), "{keys:?}: {said}");
    }
}

#[test]
fn versions_go_up_by_one() {
    let held = roots();
    for version in [1, 3, 99] {
        let said = held.accept(&encoded(&a_root_file(version), &[1, 2])).unwrap_err();
        assert!(matches!(said, BundleError::Version { want: 2, .. }), "{said}");
    }
    let mut held = held;
    for version in 2..6 {
        held = held.accept(&encoded(&a_root_file(version), &[2, 3])).unwrap();
    }
    assert_eq!(held.version(), 5);
    assert!(matches!(held.accept(&a_root()), Err(BundleError::Version { version: 1, want: 6, .. })), "no way back");
}

#[test]
fn another_products_root_does_not_follow() {
    let other = RootFile { product: "other".into(), ..a_root_file(2) };
    assert!(roots().accept(&encoded(&other, &[1, 2])).unwrap_err().to_string().contains("product other"));
}

#[test]
fn a_rotated_out_key_signs_no_release_any_more() {
    use crate::update::{a_boot, a_bundle, an_image, envelope};
    let bundle = a_bundle("1.0.0", 1, &a_boot(4 << 20, &[]), &an_image(64 << 10, 1), &[12, 13]);
    let held = roots();
    held.verify_release(&envelope(&bundle)).unwrap();
    let next = held.accept(&encoded(&second(), &[1, 2])).unwrap();
    assert!(matches!(next.verify_release(&envelope(&bundle)), Err(BundleError::Threshold { have: 1, .. })));
}

#[test]
fn an_old_root_can_be_walked_through_but_not_relied_on() {
    let old = RootFile { created: 1, expires: 2, ..a_root_file(1) };
    let held = RootOfTrust::parse(&encoded(&old, &[1, 2])).unwrap();
    assert!(matches!(held.fresh(NOW), Err(BundleError::Expired { expired: 2, .. })));
    let next = held.accept(&encoded(&a_root_file(2), &[1, 2])).unwrap();
    next.fresh(LATER - 1).unwrap();
    assert!(matches!(next.fresh(LATER), Err(BundleError::Expired { .. })));
}

#[test]
fn every_field_has_its_bounds() {
    let sound = serde_json::to_value(a_root_file(1)).unwrap();
    let [one, eleven, other] = [1, 11, 99].map(|key| ids(&[key])[0].to_string());
    let key = &sound["keys"][0];
    let bad: &[(&str, Vec<Value>)] = &[
        ("/format", vec![json!(0), json!(2), json!(null)]),
        ("/product", vec![json!(""), json!("A B"), json!(1)]),
        ("/version", vec![json!(0), json!(-1), json!(4_294_967_296u64)]),
        ("/created", vec![json!(LATER), json!(-1)]),
        ("/expires", vec![json!(0), json!(253_402_300_800u64)]),
        ("/keys", vec![json!({}), json!([]), json!([key, key]), json!(["x"]), json!(vec![key; 33]), json!([key])]),
        ("/root/keys", vec![json!([]), json!([one, one]), json!([other]), json!([1])]),
        ("/root/threshold", vec![json!(0), json!(4), json!(-1)]),
        ("/release/threshold", vec![json!(0), json!(4)]),
        ("/channel/threshold", vec![json!(0), json!(3)]),
        ("/channel/keys", vec![json!([eleven]), json!([one])]),
        ("/extra", vec![json!(1)]),
    ];
    for (pointer, values) in bad {
        for value in values {
            let mut file = sound.clone();
            match file.pointer_mut(pointer) {
                Some(field) => *field = value.clone(),
                None => file[&pointer[1..]] = value.clone(),
            }
            let said = RootOfTrust::parse(&signed(Purpose::Root, file.to_string().as_bytes(), &[1, 2])).unwrap_err();
            assert!(
                matches!(said, BundleError::Malformed { .. } | BundleError::Format { .. }),
                "{pointer} = {value}: {said}"
            );
        }
    }
    let twice = sound.to_string().replacen("\"version\":1", "\"version\":1,\"version\":1", 1);
    assert!(RootOfTrust::parse(&signed(Purpose::Root, twice.as_bytes(), &[1, 2])).is_err());
}
