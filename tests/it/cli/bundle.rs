//! `raspi-mcp bundle`: from no key to a bundle that verifies, as two people would do it on two machines.

use crate::update::{a_boot, an_image, with_tree};
use std::{fs, os::unix::fs::PermissionsExt, process::Command};
use tempfile::TempDir;

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        desk.write("boot.img", &a_boot(4 << 20, &[("config.txt", b"x")]));
        desk.write("root.img", &an_image(256 << 10, 1));
        desk
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    /// Runs `raspi-mcp bundle WORDS`: code, and all it said.
    fn run(&self, words: &str) -> (i32, String) {
        let done = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"))
            .arg("bundle")
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .env_clear()
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code().unwrap(), String::from_utf8(said).unwrap())
    }

    #[track_caller]
    fn done(&self, words: &str) -> String {
        let (code, said) = self.run(words);
        assert_eq!(code, 0, "{words}: {said}");
        said
    }

    #[track_caller]
    fn refused(&self, words: &str, wanted: i32, what: &str) {
        let (code, said) = self.run(words);
        assert!(code == wanted && said.contains(what), "{words}: {code} {said}");
    }

    fn build(&self, more: &str) -> String {
        format!(
            "build --root root.img --boot boot.img --product p --version 1.0.0 --hardware b --expires 2027-01-01T00:00:00Z {more}"
        )
    }
}

const MADE: &str = "--created 2026-11-22T00:00:00Z";

#[test]
fn a_bundle_is_made_signed_twice_and_verified() {
    let desk = Desk::new();
    for key in ["r", "a", "b", "c"] {
        desk.done(&format!("keygen {key}"));
    }
    let mode = fs::metadata(desk.0.path().join("a.key")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    desk.refused("keygen a", 1, "is there already");
    desk.done(&format!(
        "trust init --product p --root-key r.pub --release-key a.pub --release-key b.pub --channel-key c.pub {MADE} \
         --expires 2036-01-01T00:00:00Z --out root"
    ));
    desk.refused("trust show root", 1, "0 of the 1 keys");
    desk.done("trust sign root --key r.key");
    assert!(desk.done("trust show root").contains("release  2 of"), "all of them, unless told");

    desk.done(&desk.build(&format!("--counter 1 {MADE} --out one.bundle")));
    desk.done(&desk.build("--counter 1 --created 1795305600 --out again.bundle"));
    assert!(desk.read("one.bundle") == desk.read("again.bundle"), "the same input makes the same bytes");
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --out one.bundle")), 1, "is there already");
    let shown = desk.done("inspect one.bundle --head one.head");
    assert!(shown.contains("nobody") && shown.contains("nothing here was verified"), "{shown}");
    let verify = "verify one.bundle --trust root --now 2026-12-01T00:00:00Z";
    desk.refused(verify, 1, "0 of the 2 keys");
    desk.done("sign one.bundle --key a.key");
    desk.refused("sign one.bundle --key a.key", 1, "signed it already");
    desk.refused(verify, 1, "1 of the 2 keys");
    // The other key is on a machine that only ever sees the head.
    desk.done("sign one.head --key b.key");
    desk.done("sign one.bundle --from one.head");
    assert!(desk.done(verify).contains("good"), "by both");
    desk.refused("verify one.bundle --trust root --now 2027-01-01T00:00:00Z", 5, "expired");
    desk.refused("verify one.bundle --trust root --now 2036-01-01T00:00:00Z", 5, "the root of trust");
    desk.refused("sign again.bundle --from boot.img", 1, "does not start as bundles do");

    // Key b is lost; the next root has key d for it.
    desk.done("keygen d");
    desk.done(&format!(
        "trust rotate root --release-key a.pub --release-key d.pub {MADE} --expires 2037-01-01T00:00:00Z --out root2"
    ));
    desk.done("trust sign root2 --key r.key");
    assert!(desk.done("trust show root root2").contains("version 2"), "they follow");
    desk.refused("trust show root2 root", 5, "version 3 is wanted");
    desk.refused(&format!("{verify} --trust root2"), 1, "1 of the 2 keys");
}

#[test]
fn what_is_bent_or_wrong_is_told() {
    let desk = Desk::new();
    desk.done("keygen a");
    desk.done("keygen c");
    let init = format!(
        "trust init --product p --root-key a.pub --release-key a.pub {MADE} --expires 2036-01-01T00:00:00Z --out bad"
    );
    desk.refused(&format!("{init} --channel-key a.pub"), 1, "a channel key is a release or root key as well");
    desk.refused(&init, 1, "threshold");
    desk.done(&format!("{init} --channel-key c.pub"));
    desk.done("trust sign bad --key a.key");
    desk.done(&desk.build(&format!("--counter 1 {MADE} --out one.bundle")));
    desk.done("sign one.bundle --key a.key");
    let verify = "verify one.bundle --trust bad --now 1795305601";
    desk.done(verify);
    let sound = desk.read("one.bundle");
    for (at, code) in [(9, 5), (40, 1), (sound.len() - 1, 1)] {
        let mut bent = sound.clone();
        bent[at] ^= 1;
        desk.write("one.bundle", &bent);
        assert_eq!(desk.run(verify).0, code, "byte {at}");
    }
    desk.write("one.bundle", &sound[..sound.len() - 1]);
    desk.refused(verify, 1, "bytes long");
    desk.write("one.bundle", &[sound.as_slice(), b"x"].concat());
    desk.refused(verify, 1, "bytes long");
    desk.write("one.bundle", &sound[..100]);
    desk.refused("inspect one.bundle", 1, "ends after 100");

    desk.refused(&desk.build("--counter 1 --out x"), 2, "SOURCE_DATE_EPOCH");
    desk.refused(&desk.build(&format!("--counter 0 {MADE} --out x")), 1, "counter");
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --block-size 5000 --out x")), 1, "block_size");
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --level 20 --out x")), 2, "20");
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --channel ../x --out x")), 1, "channel");
    desk.write("root.img", &[1; 700]);
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --out x")), 1, "sectors of 512");
    desk.write("root.img", &an_image(64 << 10, 1));
    desk.write("boot.img", &a_boot(4 << 20, &[("recovery.bin", b"x")]));
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --out x")), 1, "RECOVERY.BIN");
    assert!(!desk.0.path().join("x").exists() && !desk.0.path().join("x.spool").exists(), "nothing half done is left");
    desk.write("a.pub", b"not a key");
    desk.refused(
        &format!("trust rotate bad --release-key a.pub {MADE} --expires 2036-01-01T00:00:00Z --out y"),
        1,
        "is no public key",
    );
    desk.write("a.key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    desk.refused("sign one.bundle --key a.key", 1, "");
}

#[test]
fn what_a_release_changes_is_in_its_manifest_and_what_it_does_not_say_is_warned_of() {
    let desk = Desk::new();
    for (root, names) in [("old", &["a.service", "b.service", "c.service"][..]), ("new", &["c.service", "d.service"])] {
        for name in names {
            for folder in ["usr/lib/systemd/system", "etc/systemd/system/multi-user.target.wants"] {
                let folder = desk.0.path().join(root).join(folder);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(name), "").unwrap();
            }
        }
    }
    let trees = "--tree new --previous-tree old";
    desk.write("keys", b"board\nhttp.metrics");
    let said = desk.done(&desk.build(&format!("--counter 1 {MADE} {trees} --config-keys keys --out one.bundle")));
    for name in ["a.service", "b.service"] {
        assert!(said.contains(&format!("warning: {name} does not start with the machine any more")), "{said}");
    }
    assert!(!said.contains("c.service"), "{said}");
    let changes = r#"{"services": {"drops": ["a.service"], "renames": [{"from": "b.service", "to": "d.service"}]},
        "settings": {"renames": [{"from": "http.metrics", "to": "http.meters"}]}}"#;
    desk.write("changes", changes.as_bytes());
    desk.write("keys", b"board\nhttp.meters");
    let more = format!("--counter 2 {MADE} --config-keys keys --previous-bundle one.bundle");
    let said = desk.done(&desk.build(&format!("{more} --out silent.bundle")));
    assert!(said.contains("warning: version 1.0.0 knows http.metrics, and this one does not"), "{said}");
    let said = desk.done(&desk.build(&format!("{more} {trees} --changes changes --out two.bundle")));
    assert!(!said.contains("warning"), "{said}");
    let shown = desk.done("inspect two.bundle");
    for line in
        ["drops      a.service", "renames    b.service to d.service", "renames    setting http.metrics to http.meters"]
    {
        assert!(shown.contains(line), "{shown}");
    }
    for (text, what) in
        [("{}x", "changes"), (r#"{"units": {}}"#, "unknown field"), (r#"{"services": {"drops": ["a"]}}"#, "is no name")]
    {
        desk.write("bad", text.as_bytes());
        desk.refused(&desk.build(&format!("--counter 3 {MADE} --changes bad --out bad.bundle")), 1, what);
    }
    desk.refused(
        &desk.build(&format!("--counter 3 {MADE} --tree old --previous-tree none --out bad.bundle")),
        1,
        "none",
    );
}

#[test]
fn a_delta_is_counted_by_images_and_by_bundles() {
    let desk = Desk::new();
    let mut new = an_image(256 << 10, 1);
    // Text in the second quarter of the first block of 16 KiB.
    new[5000] ^= 1;
    desk.write("new.img", &new);
    let line = |said: String| said.lines().last().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let images = line(desk.done("delta-size root.img new.img --block-size 16384"));
    assert_eq!(images[..4], ["16384", "16", "1", "262144"], "one block of sixteen has changed");
    assert_eq!(line(desk.done("delta-size root.img root.img --block-size 4096"))[2], "0");
    for (image, bundle) in [("root.img", "old.bundle"), ("new.img", "new.bundle")] {
        let build = desk.build(&format!("--counter 1 {MADE} --block-size 16384 --out {bundle}"));
        desk.done(&build.replace("root.img", image));
    }
    let bundles = line(desk.done("delta-size old.bundle new.bundle"));
    assert_eq!(bundles[..3], ["16384", "272", "1"], "with the boot image's 256");
    // With a hash tree behind it: its data is fetched, the tree is computed. 64 KiB are 15 blocks of data and one of the tree.
    desk.write("tree.img", &with_tree(&an_image(64 << 10, 7), 64 << 10));
    assert_eq!(line(desk.done("delta-size root.img tree.img --block-size 4096"))[..3], ["4096", "16", "11"]);
    for (image, bundle) in [("root.img", "without.bundle"), ("tree.img", "with.bundle")] {
        let build = desk.build(&format!("--counter 1 {MADE} --block-size 4096 --out {bundle}"));
        desk.done(&build.replace("root.img", image));
    }
    assert_eq!(line(desk.done("delta-size without.bundle with.bundle"))[2], "11");
    desk.refused("delta-size old.bundle new.img", 2, "two bundles, or two images");
    desk.refused("delta-size root.img new.img --block-size 5000", 2, "power of two");
    desk.refused("delta-size root.img none.img", 1, "No such file");
}

#[test]
fn a_bundle_says_which_settings_its_program_knows() {
    let desk = Desk::new();
    let keys = desk.done("config-keys");
    assert!(keys.lines().any(|key| key == "http.listen") && keys.lines().any(|key| key == "policy"), "{keys}");
    desk.write("keys", keys.as_bytes());
    desk.done(&desk.build(&format!("--counter 1 {MADE} --config-keys keys --out one.bundle")));
    let count = keys.lines().count();
    assert!(desk.done("inspect one.bundle").contains(&format!("settings   {count} known")));
    for (text, what) in [
        ("", "has no names of settings"),
        ("Http.listen", "config_keys"),
        ("board\nboard", "config_keys"),
        ("../../x", "config_keys"),
        (&"a".repeat(65_537), "so it is something else"),
    ] {
        desk.write("bad", text.as_bytes());
        desk.refused(&desk.build(&format!("--counter 1 {MADE} --config-keys bad --out bad.bundle")), 1, what);
        assert!(!desk.0.path().join("bad.bundle").exists(), "{what}");
    }
    desk.write("bad", b"\xff");
    desk.refused(&desk.build(&format!("--counter 1 {MADE} --config-keys bad --out bad.bundle")), 1, "no UTF-8");
}
