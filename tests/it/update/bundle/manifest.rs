//! Manifests that somebody signed: each field out of its bounds, and JSON that two readers could take in two ways.

use super::crafted::Crafted;
use crate::update::{a_key, roots};
use ::update::{
    bundle::{BundleError, Envelope, Manifest},
    trust::Purpose,
};
use serde_json::{Value, json};

fn said_of(text: &str) -> BundleError {
    let mut envelope = Envelope::new(text.as_bytes().to_vec(), 68, 0).unwrap();
    envelope.signatures = [11, 12].map(|key| a_key(key).sign(Purpose::Release, text.as_bytes())).to_vec();
    roots().verify_release(&envelope).unwrap_err()
}

#[test]
fn every_field_has_its_bounds() {
    let sound: Value = serde_json::from_slice(&Crafted::sound().text()).unwrap();
    Manifest::parse(sound.to_string().as_bytes()).unwrap();
    let long = "a".repeat(65);
    let many: Vec<String> = (0..65).map(|n| format!("board-{n}")).collect();
    let bad: &[(&str, Vec<Value>)] = &[
        ("/format", vec![json!(0), json!(2), json!("1"), json!(1.0), json!(null)]),
        (
            "/product",
            vec![
                json!(""),
                json!("A"),
                json!("a b"),
                json!("../a"),
                json!("a\u{0}"),
                json!(long),
                json!(1),
                json!(["a"]),
            ],
        ),
        (
            "/version",
            vec![
                json!(""),
                json!("1"),
                json!("1.2"),
                json!("01.0.0"),
                json!("1.0.0\n"),
                json!(format!("1.0.0-{long}")),
                json!(1),
            ],
        ),
        (
            "/counter",
            vec![json!(0), json!(-1), json!(9_007_199_254_740_992u64), json!(u64::MAX), json!(1.5), json!("7")],
        ),
        ("/channel", vec![json!(""), json!("Stable"), json!("a/b"), json!(long)]),
        ("/layout", vec![json!(""), json!("mbr ab"), json!(long)]),
        (
            "/hardware",
            vec![json!([]), json!(["A"]), json!(["a", "a"]), json!([""]), json!(many), json!("a"), json!([1])],
        ),
        ("/min_eeprom", vec![json!(null), json!(-1), json!(253_402_300_800u64), json!("x")]),
        ("/created", vec![json!(-1), json!(1_803_081_600u64), json!(u64::MAX)]),
        ("/expires", vec![json!(0), json!(253_402_300_800u64), json!("2027-01-01T00:00:00Z")]),
        ("/revoke_below", vec![json!(null), json!(0), json!(8), json!(u64::MAX)]),
        (
            "/config_keys",
            vec![
                json!([]),
                json!(null),
                json!("board"),
                json!({}),
                json!([""]),
                json!([1]),
                json!(["http.listen\n"]),
                json!(["b", "a"]),
                json!(["a", "a"]),
                json!([long]),
                json!((100..613).map(|n| format!("key-{n}")).collect::<Vec<_>>()),
            ],
        ),
        (
            "/images",
            vec![json!([]), json!({}), json!([sound["images"][0]]), json!([sound["images"][1], sound["images"][0]])],
        ),
        ("/images/0/kind", vec![json!("boot"), json!("Root"), json!("data"), json!(0)]),
        (
            "/images/0/size",
            vec![
                json!(0),
                json!(511),
                json!(163_841),
                json!(163_840u64 + 65_536),
                json!(u64::MAX),
                json!(u64::MAX - 511),
            ],
        ),
        (
            "/images/0/block_size",
            vec![json!(0), json!(2048), json!(65_535), json!(2_097_152), json!(-65_536), json!(4_294_967_296u64)],
        ),
        ("/images/0/sha256", vec![json!(""), json!("A".repeat(64)), json!("0".repeat(63)), json!(0)]),
        ("/index/size", vec![json!(0), json!(67), json!(u64::MAX), json!(-68)]),
        ("/index/sha256", vec![json!(""), json!("g".repeat(64))]),
    ];
    for (pointer, values) in bad {
        for value in values {
            let mut manifest = sound.clone();
            match manifest.pointer_mut(pointer) {
                Some(field) => *field = value.clone(),
                None => manifest[&pointer[1..]] = value.clone(),
            }
            let said = said_of(&manifest.to_string());
            assert!(
                matches!(said, BundleError::Malformed { .. } | BundleError::Format { .. }),
                "{pointer} = {value}: {said}"
            );
        }
    }
}

#[test]
fn a_release_may_say_which_settings_it_knows() {
    let mut crafted = Crafted::sound();
    let silent = crafted.release().unwrap().manifest;
    assert_eq!((silent.config_keys.len(), silent.knows_setting("board")), (0, None));
    crafted.manifest["config_keys"] = json!(["board", "http.listen", "policy"]);
    let manifest = crafted.release().unwrap().manifest;
    for (key, known) in [
        ("board", true),
        ("http.listen", true),
        ("policy.system.reboot", true),
        ("http", false),
        ("http.port", false),
        ("boar", false),
    ] {
        assert_eq!(manifest.knows_setting(key), Some(known), "{key}");
    }
    let most: Vec<String> = (100..612).map(|n| format!("key-{n}")).collect();
    crafted.manifest["config_keys"] = json!(most);
    assert_eq!(crafted.release().unwrap().manifest.config_keys, most);
}

#[test]
fn a_release_may_say_what_it_changes() {
    let mut crafted = Crafted::sound();
    assert!(!String::from_utf8(crafted.text()).unwrap().contains("changes"), "older readers would refuse it");
    crafted.manifest["config_keys"] = json!(["board", "http.meters"]);
    crafted.manifest["changes"] = json!({
        "services": {
            "drops": ["old.service"],
            "renames": [{"from": "a@b.service", "to": "A.service"}, {"from": "b.service", "to": "c.service"}],
            "adds": ["new.service"],
        },
        "settings": {"drops": ["http.port"], "renames": [{"from": "http.metrics", "to": "http.meters"}]},
    });
    let manifest = crafted.release().unwrap().manifest;
    assert_eq!(manifest.changes.services.renames[1].to, "c.service");
    assert_eq!(manifest.knows_setting("http.metrics"), Some(false));
    assert!(manifest.became_of("http.metrics").unwrap().contains("http.metrics is called http.meters from version"));
    assert!(manifest.became_of("http.port").unwrap().contains("was dropped"));
    assert_eq!(manifest.became_of("board"), None);
    let many: Vec<String> = (100..164).map(|n| format!("{n}.service")).collect();
    crafted.manifest["changes"] = json!({"services": {"drops": many}});
    assert_eq!(crafted.release().unwrap().manifest.changes.services.drops.len(), 64);

    let more: Vec<String> = (100..165).map(|n| format!("{n}.service")).collect();
    let long = format!("{}.service", "a".repeat(248));
    for bad in [
        json!({}),
        json!(null),
        json!([]),
        json!({"services": {}}),
        json!({"units": {"drops": ["a.service"]}}),
        json!({"services": {"drops": []}}),
        json!({"services": {"drops": more}}),
        json!({"services": {"drops": [long]}}),
        json!({"services": {"drops": ["b.service", "a.service"]}}),
        json!({"services": {"drops": ["a.service", "a.service"]}}),
        json!({"services": {"drops": ["a.timer"]}}),
        json!({"services": {"drops": [".service"]}}),
        json!({"services": {"drops": ["../a.service"]}}),
        json!({"services": {"drops": ["a*.service"]}}),
        json!({"services": {"adds": ["a.service"], "drops": ["a.service"]}}),
        json!({"services": {"drops": ["a.service"], "renames": [{"from": "a.service", "to": "b.service"}]}}),
        json!({"services": {"renames": {"a.service": "b.service"}}}),
        json!({"services": {"renames": [["a.service", "b.service"]]}}),
        json!({"services": {"renames": [{"from": "a.service", "to": "a.service"}]}}),
        json!({"services": {"renames": [{"from": "a.service"}]}}),
        json!({"settings": {"adds": ["http.meters"]}}),
        json!({"settings": {"drops": ["Http"]}}),
        json!({"settings": {"drops": ["board"]}}),
        json!({"settings": {"renames": [{"from": "http.metrics", "to": "http.unknown"}]}}),
    ] {
        crafted.manifest["changes"] = bad.clone();
        assert!(matches!(said_of(&crafted.manifest.to_string()), BundleError::Malformed { .. }), "{bad}");
    }
}

#[test]
fn json_means_one_thing_only() {
    let text = String::from_utf8(Crafted::sound().text()).unwrap();
    let index = "\"index\":{";
    let array = {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["index"] = json!([value["index"]["sha256"], value["index"]["size"]]);
        value.to_string()
    };
    for (bad, what) in [
        (text.replacen("\"counter\":7", "\"counter\":7,\"counter\":8", 1), "duplicate field"),
        (text.replacen(index, &format!("{index}\"size\":1,"), 1), "duplicate field"),
        (text.replacen("{", "{\"extra\":1,", 1), "unknown field"),
        (text.replacen(index, &format!("{index}\"extra\":1,"), 1), "unknown field"),
        (format!("{text}{text}"), "trailing"),
        (format!("{text}\0"), "trailing"),
        (format!("\u{feff}{text}"), "expected value"),
        (text[..text.len() - 1].to_owned(), "EOF"),
        ("[".repeat(60_000), "invalid type"),
        (text.replacen("[", &"[".repeat(30_000), 1), "invalid type"),
        (array, "one way"),
        ("null".into(), "null"),
    ] {
        let said = said_of(&bad).to_string();
        assert!(said.contains(what), "{what}: {said}");
    }
    // White space is the signer's own business: the exact bytes are signed.
    Manifest::parse(text.replace(",\"", ",\n  \"").as_bytes()).unwrap();
    let long = text.replacen('{', &format!("{{{}", " ".repeat(65_536)), 1);
    assert!(matches!(Manifest::parse(long.as_bytes()), Err(BundleError::TooLong { limit: 65_536, .. })));
}

#[test]
fn it_is_for_its_product_and_its_time() {
    let mut crafted = Crafted::sound();
    let manifest = crafted.release().unwrap().manifest;
    manifest.fresh(manifest.expires - 1).unwrap();
    assert!(matches!(manifest.fresh(manifest.expires), Err(BundleError::Expired { .. })));
    assert!(matches!(manifest.fresh(u64::MAX), Err(BundleError::Expired { .. })));
    crafted.manifest["product"] = json!("other");
    assert!(crafted.release().unwrap_err().to_string().contains("it is for other"));
}

#[test]
fn the_head_cannot_say_another_length_of_the_index_than_the_manifest() {
    let crafted = Crafted::sound();
    let mut envelope = Envelope::new(crafted.text(), crafted.index.len() as u64 + 68, 0).unwrap();
    envelope.signatures = [11, 12].map(|key| a_key(key).sign(Purpose::Release, &envelope.manifest)).to_vec();
    let said = roots().verify_release(&envelope).unwrap_err().to_string();
    assert!(said.contains("another length of the index"), "{said}");
}
