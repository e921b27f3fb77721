//! From a channel's index to the blocks of its bundle, as a device goes: real signatures, a real bundle, a real server.

use super::{
    LAYOUT, NOW, PRODUCT, a_boot, a_bundle, an_image,
    origin::{Authority, Conduct, Origin},
    roots, signed,
};
use ::update::{
    FileLocation,
    bundle::{self, Digest},
    channel::{ChannelIndex, IndexCriteria, ReleaseChoice, ReleaseEntry, Rollout, TargetDevice, choose},
    trust::{Purpose, VerifiedRelease},
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking::StopSignal,
};
use std::{collections::HashSet, fs, sync::Arc};
use tempfile::TempDir;
use update_client::fetch::{BundleSource, Front, Spool, StoredBlocks, download, look};

/// Every `step`th block is another.
fn changed(image: &[u8], step: usize) -> Vec<u8> {
    let mut image = image.to_vec();
    image.chunks_mut(super::BLOCK as usize).step_by(step).for_each(|block| block[4100] ^= 1);
    image
}

struct Fleet {
    authority: Authority,
    origin: Origin,
    v2: Vec<u8>,
    old: (Vec<u8>, Vec<u8>),
}

impl Fleet {
    async fn new() -> Self {
        let boot = |text: &[u8]| a_boot(4 << 20, &[("config.txt", text)]);
        let old = (boot(b"arm_64bit=1\n"), an_image(2 << 20, 5));
        let v2 = a_bundle("2.0.0", 20, &boot(b"arm_64bit=1\n# new\n"), &changed(&old.1, 37), &[11, 12]);
        let authority = Authority::new();
        let origin = authority.origin().await;
        origin.put("/pi/bundles/2.0.0.bundle", v2.clone());
        let offer = ReleaseEntry {
            version: "2.0.0".into(),
            counter: 20,
            manifest: Digest::of(&super::envelope(&v2).manifest),
            url: "bundles/2.0.0.bundle".into(),
            size: v2.len() as u64,
            released: NOW,
            layout: LAYOUT.into(),
            hardware: vec![super::HARDWARE.into()],
            rollout: Rollout { percent: 100, salt: "a".into() },
            rings: vec![],
            min_counter: None,
            notes: String::new(),
            notes_url: None,
        };
        let index = ChannelIndex {
            format: 1,
            product: PRODUCT.into(),
            channel: "stable".into(),
            sequence: 1,
            created: NOW,
            expires: NOW + 86_400,
            paused: None,
            releases: vec![offer],
            revoked: vec![],
        };
        origin.put("/pi/stable/index.signed", signed(Purpose::Channel, &index.encode().unwrap(), &[21]));
        Self { authority, origin, v2, old }
    }

    /// What the device takes for it.
    async fn chosen(&self) -> ReleaseEntry {
        let wanted = IndexCriteria {
            product: PRODUCT,
            channel: "stable",
            seen: None,
            clock_ms: i64::try_from(NOW).unwrap() * 1000,
            synchronised: true,
            time_floor: 0,
        };
        let found = look(&self.authority.line(), &[self.origin.url("/pi")], roots(), &wanted).await.unwrap();
        let device = TargetDevice {
            version: "1.0.0".into(),
            counter: 10,
            counter_floor: 10,
            hardware: vec![super::HARDWARE.into()],
            layout: LAYOUT.into(),
            ring: None,
            pin: None,
            id: None,
            blocked: vec![],
        };
        let ReleaseChoice::Install(offer) = choose(&found.accepted.index, &device) else {
            panic!("it is for this device")
        };
        *offer
    }

    /// Blocks that no image of the old system has.
    fn wanted(&self, index: &bundle::BlockIndex) -> Vec<u32> {
        let blocks = |image: &[u8]| image.chunks(super::BLOCK as usize).map(Digest::of).collect::<Vec<_>>();
        let have: HashSet<Digest> = blocks(&self.old.0).into_iter().chain(blocks(&self.old.1)).collect();
        index
            .blocks()
            .enumerate()
            .filter(|(_, block)| !block.zero && !have.contains(&block.sha256))
            .map(|(n, _)| n as u32)
            .collect()
    }
}

fn judge(offer: &ReleaseEntry) -> impl Fn(&Front) -> Result<VerifiedRelease, ToolError> {
    |front| {
        let release = roots().verify_release(&front.envelope)?;
        offer.is_of("stable", &release.digest, &release.manifest).map(|()| release)
    }
}

#[tokio::test]
async fn an_update_is_found_opened_and_only_its_changes_fetched() {
    let (fleet, dir) = (Fleet::new().await, TempDir::new().unwrap());
    let offer = fleet.chosen().await;
    let stick = dir.path().join("v2.bundle");
    fs::write(&stick, &fleet.v2).unwrap();
    for places in [offer.places(&[fleet.origin.url("/pi")]).unwrap(), vec![FileLocation::File(stick)]] {
        let source = BundleSource::new(fleet.authority.line(), places);
        let (front, release) = source.open(judge(&offer)).await.unwrap();
        assert_eq!(fleet.v2[..front.head.len()], front.head);
        let index = source.index(&front.envelope, |bytes| Ok(release.index(bytes)?)).await.unwrap();
        let (wanted, index) = (fleet.wanted(&index), Arc::new(index));
        let pieces: Arc<dyn StoredBlocks> = index.clone();
        let spool_dir = TempDir::new().unwrap();
        let all = 0..index.len();
        let spool =
            Spool::open(spool_dir.path(), &release.digest, Arc::clone(&pieces), all, 0, &StopSignal::of("test"))
                .unwrap();
        let before = source.fetched();
        let mut spool = download(&source, &pieces, spool, wanted.clone(), |_| {}).await.unwrap();
        let stored: u64 = wanted.iter().map(|n| index.block(*n).stored).map(|stored| stored.end - stored.start).sum();
        let fetched = source.fetched() - before;
        assert!(fetched <= stored * 105 / 100 && stored < fleet.v2.len() as u64 / 2, "{fetched} for {stored}");
        println!("{} blocks of {}: {fetched} bytes for {stored}", wanted.len(), index.len());
        for n in wanted {
            let mut raw = Vec::new();
            bundle::unpack(&index.block(n), &spool.take(n).unwrap(), &mut raw).unwrap();
        }
        // What the old system has was not fetched.
        assert!(!spool.has(index.range(bundle::ImageKind::Root).start + 1) || fleet.wanted(&index).contains(&1));
    }
}

#[tokio::test]
async fn a_place_with_another_bundle_is_passed_over() {
    let fleet = Fleet::new().await;
    let offer = fleet.chosen().await;
    let (boot, root) = (a_boot(4 << 20, &[]), an_image(64 << 10, 1));
    // Yesterday's release, signed and all; one that nobody signed; half of the right one; something else.
    let older = a_bundle("1.9.0", 19, &boot, &root, &[11, 12]);
    let unsigned = a_bundle("2.0.0", 20, &boot, &root, &[11]);
    let bad = [
        ("older", older, "another release"),
        ("unsigned", unsigned, "1 of the 2 keys"),
        ("half", fleet.v2[..fleet.v2.len() / 2].to_vec(), "cut short"),
        ("head", fleet.v2[..1000].to_vec(), "cut short"),
        ("page", b"<html>".to_vec(), "does not start as bundles do"),
        ("zeros", vec![0; 10_000], "does not start as bundles do"),
    ];
    for (name, bytes, words) in &bad {
        fleet.origin.put(&format!("/{name}"), bytes.clone());
        let source = BundleSource::new(fleet.authority.line(), vec![fleet.origin.place(&format!("/{name}"))]);
        let error = source.open(judge(&offer)).await.unwrap_err();
        assert!(error.message.contains(words) && error.code == ErrorCode::VerificationFailed, "{name}: {error}");
    }
    let mut places: Vec<FileLocation> = bad.iter().map(|(name, ..)| fleet.origin.place(&format!("/{name}"))).collect();
    places.extend(offer.places(&[fleet.origin.url("/pi")]).unwrap());
    let source = BundleSource::new(fleet.authority.line(), places);
    let (_, release) = source.open(judge(&offer)).await.unwrap();
    assert_eq!(release.digest, offer.manifest);
    // A head that changes while it is read.
    let mut asked = 0;
    fleet.origin.treat(move |_| {
        asked += 1;
        if asked % 2 == 0 { Conduct::CutAt(100) } else { Conduct::Honest }
    });
    let source = BundleSource::new(fleet.authority.line(), offer.places(&[fleet.origin.url("/pi")]).unwrap());
    source.open(judge(&offer)).await.unwrap();
}
