//! `raspi-mcp.toml` on partition 1: taken whole while nobody owns the machine, refused with a line that says why, and never left lying.

use super::{Machine, has, token};
use crate::update::{a_key, a_root, a_root_file, signed};
use appliance::provisioning::Provisioning;
use contract::meta::Role;
use update::trust::Purpose;

const FILE: &str = "raspi-mcp.toml";

/// What is wrong with a text, a line each.
fn faults(text: &str) -> String {
    let faults = Provisioning::parse(text.as_bytes(), crate::update::PRODUCT, agent::approvers::check).expect_err(text);
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

/// The lines of an approver with this kind, and more lines.
fn approver(kind: &str, more: &str) -> String {
    format!("[[approver]]\nname = \"anna\"\nkind = \"{kind}\"\nkey = \"{KEY}\"\n{more}")
}

/// A public key of RFC 8410, section 10.1, as base64url.
const KEY: &str = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE";

fn everything() -> (String, String) {
    let (_, lines) = token("laptop", Role::Admin);
    let root = String::from_utf8(a_root()).unwrap();
    let text = format!(
        "# for the porch\nname = \"porch\"\n\n[wifi]\nssid = \"Café 7\"\npassphrase = \"back\\\\slash and  blanks\"\ncountry = \"DE\"\n\
         hidden = true\n\n[update]\nchannel = \"beta\"\nurl = \"https://updates.example.org/pi\"\n\
         mirrors = [\"https://mirror.example.org/pi\"]\ntrust = '''\n{root}'''\n\n{lines}"
    );
    (text, lines)
}

#[test]
fn a_good_file_is_applied_recorded_and_erased_and_with_a_token_the_machine_has_an_owner() {
    let (text, lines) = everything();
    let machine = Machine::with(&[(FILE, text.as_bytes())]);
    let done = machine.starts();
    assert_eq!(done.faults, [""; 0]);
    assert!(done.claimed && machine.standing().claimed && machine.claim().is_none());
    let identity = machine.identity();
    assert_eq!(identity.name.as_deref(), Some("porch"));
    assert_eq!(identity.erasing, None);
    assert_eq!(identity.update.trust.as_deref().map(str::as_bytes), Some(&a_root()[..]));
    for secret in ["back", "Café", "updates.example.org", "laptop"] {
        assert!(!machine.has_on_partition_1(secret), "{secret}");
    }
    assert!(machine.has_on_partition_1("[all]"));
    let hash = lines.split('"').nth(3).unwrap();
    let run = |name: &str| machine.reads(&format!("run/raspi-mcp-identity/{name}")).unwrap();
    assert!(run("conf.d/20-tokens.toml").contains(hash));
    assert_eq!(run("trust").as_bytes(), a_root());
    assert_eq!(machine.reads("proc/sys/kernel/hostname").unwrap(), "porch");
    let wifi = machine.reads("run/NetworkManager/system-connections/raspi-mcp.nmconnection").unwrap();
    let ssid: String = "Café 7".bytes().map(|byte| format!("{byte};")).collect();
    for line in [format!("ssid={ssid}"), "psk=back\\\\slash\\sand\\s\\sblanks".into(), "hidden=true".into()] {
        assert!(wifi.lines().any(|is| is == line), "{line} in {wifi}");
    }
    assert_eq!(machine.reads("run/modprobe.d/raspi-mcp.conf").unwrap(), "options cfg80211 ieee80211_regdom=DE\n");

    // At the next start everything is there again, and no file is seen.
    let before = super::files(&machine.home.path().join("run"));
    assert_eq!(machine.starts().notes, [""; 0]);
    assert_eq!(super::files(&machine.home.path().join("run")), before);
}

#[test]
fn a_file_without_a_token_is_applied_and_the_machine_stays_claimable() {
    let machine = Machine::with(&[(FILE, b"\xef\xbb\xbfname = \"attic\"\r\n[wifi]\r\nssid = \"open\"\r\n")]);
    let done = machine.starts();
    assert_eq!((done.claimed, done.faults.len()), (false, 0), "{done:?}");
    assert!(machine.claim().is_some() && !machine.has_on_partition_1("attic"));
    assert!(
        !machine.reads("run/NetworkManager/system-connections/raspi-mcp.nmconnection").unwrap().contains("security")
    );
    // Another one over it: what it does not speak of stays.
    machine.put(&[(
        FILE,
        b"[wifi]\nssid = \"better\"\npsk = \"0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef\"\n",
    )]);
    machine.starts();
    let identity = machine.identity();
    assert_eq!((identity.name.as_deref(), identity.wifi.unwrap().ssid.as_str()), (Some("attic"), "better"));
}

#[test]
fn a_bad_file_changes_nothing_stays_and_is_told_by_line_and_field() {
    let text = "name = \"porch\"\n[wifi]\nssid = \"home\"\npasphrase = \"correct horse\"\n";
    let machine = Machine::with(&[(FILE, text.as_bytes())]);
    let done = machine.starts();
    assert_eq!(done.faults, ["raspi-mcp.toml:4:1: unknown key \"wifi.pasphrase\"; did you mean \"wifi.passphrase\"?"]);
    assert_eq!(machine.standing().faults, done.faults);
    assert!(machine.claim().is_some() && !done.claimed);
    let identity = machine.identity();
    assert!(identity.name.is_none() && identity.wifi.is_none() && identity.erasing.is_none());
    assert!(has(&machine.card.content(), text));
    assert!(machine.reads("run/NetworkManager/system-connections/raspi-mcp.nmconnection").is_none());
    // Its owner mends it.
    machine.put(&[(FILE, text.replace("pasph", "passph").as_bytes())]);
    assert_eq!(machine.starts().faults, [""; 0]);
    assert_eq!(machine.identity().name.as_deref(), Some("porch"));
}

#[test]
fn on_a_machine_with_an_owner_a_file_is_not_accepted_and_erased() {
    let machine = Machine::with(&[(FILE, token("mine", Role::Admin).1.as_bytes())]);
    machine.starts();
    let before = machine.identity();
    for text in
        [format!("name = \"stolen\"\n{}", token("thief", Role::Admin).1), "name = no".into(), "x".repeat(70_000)]
    {
        let name = if text.len() > 60_000 { continue } else { text };
        machine.put(&[(FILE, name.as_bytes())]);
        let done = machine.starts();
        assert!(done.claimed && done.faults.iter().any(|fault| fault.contains("has an owner")), "{done:?}");
        assert!(!machine.has_on_partition_1(&name));
        assert_eq!(machine.identity(), before);
    }
}

#[test]
fn every_field_says_what_it_wants_and_secrets_are_never_repeated() {
    let hash = "ab".repeat(32);
    let long = "x".repeat(100);
    let cases = [
        ("name = 7", "raspi-mcp.toml:1:8: name must be a host name"),
        ("name = \"Porch\"", "not \"Porch\""),
        ("name = \"-a\"", "name must be"),
        ("name = \"a.b\"", "name must be"),
        ("name = \"\"", "name must be"),
        ("name = \"a\\u0000b\"", "name must be"),
        (&format!("name = \"{long}\""), "name must be"),
        ("name = \"a\"\nname = \"b\"", "raspi-mcp.toml:2:1: not TOML"),
        ("nam = \"a\"", "did you mean \"name\"?"),
        ("zebra = 1", "there are name, wifi.ssid"),
        ("wifi = 3", "raspi-mcp.toml:1:1: wifi is a section"),
        ("[wify]\nssid = \"a\"", "unknown key \"wify.ssid\"; did you mean \"wifi.ssid\"?"),
        ("[wifi]", "raspi-mcp.toml:1:2: wifi has no ssid"),
        ("[wifi]\npassphrase = \"12345678\"", "wifi has no ssid"),
        ("[wifi]\nssid = \"\"", "wifi.ssid must be"),
        (&format!("[wifi]\nssid = \"{}\"", &long[..33]), "wifi.ssid must be"),
        ("[wifi]\nssid = \"a\\nb\"", "wifi.ssid must be"),
        ("[wifi]\nssid = \"a\"\npassphrase = \"sEcReT!\"", "raspi-mcp.toml:3:14: wifi.passphrase must be 8 to 63"),
        ("[wifi]\nssid = \"a\"\npassphrase = \"sEcReT!\\u00e4bcdef\"", "wifi.passphrase must be"),
        ("[wifi]\nssid = \"a\"\npassphrase = 12345678", "this is a number"),
        ("[wifi]\nssid = \"a\"\npsk = \"sEcReT!\"", "wifi.psk must be the 64 hexadecimal digits"),
        (&format!("[wifi]\nssid = \"a\"\npsk = \"{hash}\"\npassphrase = \"12345678\""), "write one of them"),
        ("[wifi]\nssid = \"a\"\ncountry = \"Germany\"", "wifi.country must be two capital letters"),
        ("[wifi]\nssid = \"a\"\ncountry = \"de\"", "wifi.country must be"),
        ("[wifi]\nssid = \"a\"\nhidden = \"yes\"", "wifi.hidden must be true or false"),
        (&approver("cli", ""), "approver needs an admin token in the same file"),
        (&approver("cli", "origin = \"https://a\"\n"), "number 1: a key of kind cli has no origin"),
        (&approver("passkey", ""), "needs the origin it is used at"),
        (&approver("phone", ""), "raspi-mcp.toml:3:8: approver.kind must be \"cli\", \"passkey\" or \"browser\""),
        (&approver("cli", "").repeat(2), "number 2 has the name or the key of one before it"),
        (&approver("cli", "role = \"admin\"\n"), "unknown key \"role\" in [[approver]]"),
        ("[[approver]]\nname = \"anna\"\nkind = \"cli\"\nkey = \"AAAA\"", "base64url of a SubjectPublicKeyInfo"),
        ("[[approver]]\nname = \"anna\"", "this approver has no kind"),
        ("[approver]\nname = \"anna\"", "approver must be tables [[approver]]"),
        ("[[access.tokens]]\nname = \"a\"\nsha256 = \"sEcReT!\"\nrole = \"admin\"", "64 hexadecimal digits"),
        (&format!("[[access.tokens]]\nname = \"a\"\nsha256 = \"{hash}\"\nrole = \"ops_rw\""), "nobody would own"),
        (
            &format!(
                "[[access.tokens]]\nname = \"a\"\nsha256 = \"{hash}\"\nrole = \"admin\"\nexpires = 2027-01-01T00:00:00Z"
            ),
            "nobody would own",
        ),
        (
            &format!("[[access.tokens]]\nname = \"a\"\nsha256 = \"{hash}\"\nrole = \"admin\"\n").repeat(2),
            "names must differ",
        ),
        ("[access]\nstdio_role = \"admin\"", "unknown key \"access.stdio_role\""),
        ("[update]\nurl = \"http://updates.example.org\"", "raspi-mcp.toml:2:7: update.url must be"),
        ("[update]\nurl = \"/mnt/stick\"", "update.url must be"),
        ("[update]\nmirrors = [\"https://a.example\"]", "copies of update.url"),
        ("[update]\nchannel = \"../../etc\"", "update.channel must be"),
        ("[update]\ntrust = \"sEcReT!\"", "no signed root of trust"),
        ("[update]\nautomatic = true", "unknown key \"update.automatic\""),
        ("\u{1}", "not TOML"),
    ];
    for (text, wanted) in cases {
        let told = faults(text);
        assert!(told.contains(wanted), "{text:?} gives {told}");
        assert!(!told.contains("sEcReT!"), "{text:?} gives {told}");
    }
    let told = Provisioning::parse(b"name = \"\xff\"", "", agent::approvers::check).unwrap_err();
    assert!(told[0].to_string().contains("not UTF-8 from byte 8"), "{told:?}");
}

#[test]
fn a_root_of_trust_has_to_be_signed_and_of_this_product() {
    let other = |change: &dyn Fn(&mut update::trust::RootFile)| {
        let mut file = a_root_file(1);
        change(&mut file);
        let text = serde_json::to_vec(&file).unwrap();
        format!("[update]\ntrust = '''\n{}'''", String::from_utf8(signed(Purpose::Root, &text, &[1, 2])).unwrap())
    };
    assert!(faults(&other(&|file| file.product = "another".into())).contains("for the product \"another\""));
    let unsigned =
        String::from_utf8(signed(Purpose::Root, &serde_json::to_vec(&a_root_file(1)).unwrap(), &[1])).unwrap();
    assert!(faults(&format!("[update]\ntrust = '''\n{unsigned}'''")).contains("update.trust is no signed root"));
    // As an editor of Windows leaves it, and with a line's end before the quotes.
    let good = other(&|_| ()).replace("'''\n", "'''\r\n").replace("}'''", "}\r\n'''");
    let good = good.replace("\nsignature", "\r\nsignature").replace("\n\n", "\r\n\r\n");
    assert!(Provisioning::parse(good.as_bytes(), crate::update::PRODUCT, agent::approvers::check).is_ok(), "{good}");
    assert_eq!(a_key(1).public().id(), a_root_file(1).root.keys[0]);
}
