//! `raspi-mcp channel`: from keys to a channel that devices believe, and every change to it.

use crate::support::served::{process::command, soon};
use crate::update::{LATER, NOW, PRODUCT, a_boot, a_bundle, a_key, a_root, an_image, roots};
use base::base64url;
use std::{fs, path::Path};
use tempfile::TempDir;
use update::channel::{Accepted, IndexCriteria, accept};

/// The machine of a publisher: a key, a root of trust, two releases.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        // RFC 8410, as `bundle keygen` writes them.
        for number in [11u8, 21] {
            let mut der =
                vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
            der.extend_from_slice(&[number; 32]);
            let pem =
                format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", base64url::standard(&der));
            fs::write(desk.path(&format!("{number}.key")), pem).unwrap();
        }
        fs::write(desk.path("root.signed"), a_root()).unwrap();
        for (version, counter, keys) in [("1.1.0", 11, &[11, 12][..]), ("1.2.0", 12, &[11, 12]), ("9.0.0", 90, &[11])] {
            let bundle = a_bundle(version, counter, &a_boot(4 << 20, &[]), &an_image(64 << 10, counter), keys);
            fs::write(desk.path(&format!("{version}.bundle")), bundle).unwrap();
        }
        fs::write(desk.path("notes.txt"), "What is new:\n- less noise\n").unwrap();
        desk
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    async fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let args: Vec<String> =
            args.iter().map(|arg| arg.strip_prefix('@').map_or((*arg).to_owned(), |name| self.path(name))).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = soon(command(&self.0, &args).output()).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// `raspi-mcp channel VERB DIR …` with the channel's key, at second `at` after the beginning.
    async fn does(&self, at: u64, args: &[&str]) -> Accepted {
        let created = (NOW + at).to_string();
        let all = [
            &["channel", args[0], "@www"],
            &args[1..],
            &["--key", "@21.key", "--trust", "@root.signed", "--created", &created],
        ]
        .concat();
        let (code, said, why) = self.run(&all).await;
        assert!(code == Some(0) && said.contains("expires"), "{args:?}: {code:?} {said} {why}");
        self.device()
    }

    async fn refused(&self, args: &[&str], words: &str) {
        let before = fs::read(self.path("www/stable/index.signed")).ok();
        let all = [&["channel"], args].concat();
        let (code, _, why) = self.run(&all).await;
        assert!(code != Some(0) && why.contains(words), "{args:?}: {code:?} {why}");
        assert_eq!(fs::read(self.path("www/stable/index.signed")).ok(), before, "{args:?}");
    }

    fn device(&self) -> Accepted {
        let clock_ms = i64::try_from(NOW + 60).unwrap() * 1000;
        let wanted = IndexCriteria {
            product: PRODUCT,
            channel: "stable",
            seen: None,
            clock_ms,
            synchronised: true,
            time_floor: NOW,
        };
        accept(&fs::read(self.path("www/stable/index.signed")).unwrap(), &roots(), &wanted).unwrap()
    }
}

#[tokio::test]
async fn a_release_goes_out_grows_is_stopped_and_withdrawn() {
    let desk = Desk::new();
    let first = desk
        .does(
            1,
            &[
                "publish",
                "--bundle",
                "@1.1.0.bundle",
                "--percent",
                "10",
                "--ring",
                "early",
                "--min-counter",
                "5",
                "--notes",
                "@notes.txt",
                "--notes-url",
                "https://example.org/1.1.0",
            ],
        )
        .await
        .index;
    let offer = &first.releases[0];
    assert_eq!((first.sequence, offer.version.as_str(), offer.counter, offer.min_counter), (1, "1.1.0", 11, Some(5)));
    assert_eq!(
        (offer.rollout.percent, offer.rings.as_slice(), offer.notes.as_str()),
        (10, &["early".to_owned()][..], "What is new:\n- less noise")
    );
    assert_eq!(first.expires, NOW + 1 + 30 * 86_400);
    assert_eq!(
        fs::read(desk.path(&format!("www/{}", offer.url))).unwrap(),
        fs::read(desk.path("1.1.0.bundle")).unwrap()
    );

    let second =
        desk.does(2, &["publish", "--bundle", "@1.2.0.bundle", "--url", "https://cdn.example.org/1.2.0"]).await.index;
    assert_eq!(
        (second.sequence, second.releases.len(), second.releases[0].url.as_str()),
        (2, 2, "https://cdn.example.org/1.2.0")
    );
    assert!(!Path::new(&desk.path("www/bundles/test-appliance-1.2.0.bundle")).exists());
    assert_eq!(desk.does(3, &["rollout", "1.1.0", "100"]).await.index.releases[1].rollout.percent, 100);
    assert_eq!(desk.does(4, &["pause", "it is too loud"]).await.index.paused.as_deref(), Some("it is too loud"));
    assert_eq!(desk.does(5, &["resume"]).await.index.paused, None);
    assert_eq!(desk.does(6, &["revoke", "1.2.0", "it is too loud"]).await.index.revoked[0].version, "1.2.0");
    let renewed = desk.does(7, &["publish", "--days", "3"]).await.index;
    assert_eq!((renewed.sequence, renewed.expires, renewed.releases.len()), (7, NOW + 7 + 3 * 86_400, 2));

    let (code, shown, why) = desk.run(&["channel", "show", "@www", "--trust", "@root.signed"]).await;
    assert_eq!(code, Some(0), "{why}");
    for part in [
        "test-appliance stable, index 7",
        "verified  yes",
        "1.2.0 (counter 12), REVOKED: it is too loud",
        "100 % of the rings early",
        "- less noise",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let (_, shown, _) = desk.run(&["channel", "show", "@www/stable/index.signed"]).await;
    assert!(shown.contains("verified  no"), "{shown}");
}

#[tokio::test]
async fn the_same_twice_is_the_same_bytes() {
    let (one, two) = (Desk::new(), Desk::new());
    for desk in [&one, &two] {
        desk.does(1, &["publish", "--bundle", "@1.1.0.bundle", "--percent", "20"]).await;
    }
    let index = |desk: &Desk| fs::read(desk.path("www/stable/index.signed")).unwrap();
    assert_eq!(index(&one), index(&two));
}

#[tokio::test]
async fn what_devices_would_not_believe_is_not_published() {
    let desk = Desk::new();
    let key = ["--key", "@21.key", "--trust", "@root.signed"];
    let with = |args: &[&'static str]| [args, &key[..]].concat();
    desk.refused(&with(&["publish", "@www"]), "publish` begins it").await;
    desk.refused(&with(&["resume", "@www"]), "publish` begins it").await;
    desk.refused(&["publish", "@www", "--bundle", "@1.1.0.bundle"], "--key").await;
    desk.refused(
        &["publish", "@www", "--bundle", "@1.1.0.bundle", "--key", "@11.key", "--trust", "@root.signed"],
        "0 of the 1 keys",
    )
    .await;
    desk.refused(&with(&["publish", "@www", "--bundle", "@9.0.0.bundle"]), "1 of the 2 keys").await;
    desk.refused(&with(&["publish", "@www", "--bundle", "@notes.txt"]), "does not start as bundles do").await;
    desk.refused(
        &with(&["publish", "@www", "--channel", "beta", "--bundle", "@1.1.0.bundle"]),
        "built for the channel stable",
    )
    .await;
    desk.refused(&with(&["publish", "@www", "--percent", "101"]), "101").await;
    desk.does(1, &["publish", "--bundle", "@1.1.0.bundle"]).await;
    desk.refused(&with(&["publish", "@www", "--bundle", "@1.1.0.bundle"]), "in the channel already").await;
    desk.refused(
        &with(&["publish", "@www", "--bundle", "@1.2.0.bundle", "--min-counter", "12"]),
        "from nothing before it",
    )
    .await;
    desk.refused(&with(&["rollout", "@www", "7.0.0", "5"]), "it has 1.1.0").await;
    desk.refused(&with(&["resume", "@www"]), "not paused").await;
    let early = (NOW - 5).to_string();
    desk.refused(&["publish", "@www", "--key", "@21.key", "--created", &early], "replay").await;
    let late = LATER.to_string();
    desk.refused(&[&with(&["publish", "@www"])[..], &["--created", &late]].concat(), "root of trust").await;
    let (code, _, why) = desk.run(&["channel", "show", "@nowhere"]).await;
    assert!(code == Some(1) && why.contains("nowhere"), "{code:?} {why}");
    assert_eq!(a_key(21).public().id(), roots_channel());
}

#[tokio::test]
async fn what_lies_in_the_future_is_neither_published_nor_good() {
    let desk = Desk::new();
    let now = crate::manage::web::now();
    // A root of trust and a release that hold long enough not to be refused for that.
    let mut root = crate::update::a_root_file(1);
    root.expires = now + 4000 * 86_400;
    let root = crate::update::signed(update::trust::Purpose::Root, &serde_json::to_vec(&root).unwrap(), &[1, 2]);
    fs::write(desk.path("long.signed"), root).unwrap();
    for (name, created) in [("today", now + 3600), ("future", now + 2 * 86_400)] {
        let mut plan = crate::update::a_plan(if name == "today" { "3.0.0" } else { "3.1.0" }, created);
        (plan.created, plan.expires) = (created, created + 86_400);
        let bundle = crate::update::a_bundle_of(&plan, &a_boot(4 << 20, &[]), &an_image(64 << 10, 3), &[12]);
        fs::write(desk.path(&format!("{name}.bundle")), bundle).unwrap();
    }
    for (name, good) in [("@today.bundle", true), ("@future.bundle", false)] {
        // Whoever signs it hears it, and no more: an offline machine's clock may be wrong.
        let (code, _, why) = desk.run(&["bundle", "sign", name, "--key", "@11.key"]).await;
        assert!(code == Some(0) && why.contains("warning") != good, "{name}: {code:?} {why}");
    }
    let key = ["--key", "@21.key", "--trust", "@long.signed"];
    let publish = |bundle: &'static str| [&["publish", "@www", "--bundle", bundle][..], &key[..]].concat();
    desk.refused(&publish("@future.bundle"), "says that it was made at").await;
    let later = (now + 3 * 86_400).to_string();
    desk.refused(&[&publish("@future.bundle")[..], &["--created", &later]].concat(), "says that it was made at").await;
    desk.refused(&[&publish("@today.bundle")[..], &["--created", &later]].concat(), "lies in the future").await;
    let (code, _, why) = desk.run(&[&["channel"], &publish("@today.bundle")[..]].concat()).await;
    assert_eq!(code, Some(0), "{why}");
    for (name, good) in [("@today.bundle", true), ("@future.bundle", false)] {
        let (code, _, why) = desk.run(&["bundle", "verify", name, "--trust", "@long.signed"]).await;
        assert!((code == Some(0)) == good && (good || why.contains("was made at")), "{name}: {code:?} {why}");
    }
    let (code, _, why) =
        desk.run(&["bundle", "verify", "@future.bundle", "--trust", "@long.signed", "--now", &later]).await;
    assert!(code == Some(5) && why.contains("expired"), "made by then, and expired: {code:?} {why}");
}

fn roots_channel() -> update::bundle::Digest {
    crate::update::a_root_file(1).channel.keys[0]
}
