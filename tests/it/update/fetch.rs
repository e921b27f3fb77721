//! Blocks come from servers and sticks, each once, and what came stays.

use super::{
    origin::{Authority, Conduct},
    sample::{HEAD, Sample, noise},
};
use ::update::{
    FileLocation,
    bundle::Digest,
    channel::window::{Window, Windows},
};
use base::{clock::Wall, error::ErrorCode, os::Root};
use std::{
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use update_client::fetch::{
    BlockOrder, BundleSource, DownloadLimits, HttpClient, Spool, download, is_busy, small, sweep,
};

#[tokio::test]
async fn all_of_a_bundle_comes_from_a_server_into_the_spool() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(120, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    assert_eq!(source.head(HEAD as u64).await.unwrap(), sample.file[..HEAD]);
    assert_eq!(source.size(), Some(sample.file.len() as u64));
    let mut told = Vec::new();
    let spool =
        download(&source, &sample.pieces(), sample.spool(dir.path()), sample.all(), |progress| told.push(progress))
            .await
            .unwrap();
    sample.check(spool);
    let total = sample.bytes_of(&sample.all());
    assert_eq!((told[0].done, told[0].total), (0, total));
    assert_eq!(told.last().unwrap().done, total);
    assert!(told.is_sorted_by_key(|progress| progress.done) && told.iter().all(|progress| progress.waits.is_none()));
    let log = origin.log();
    assert!(log.iter().all(|request| request.headers["accept-encoding"] == "identity" && request.range.is_some()));
    // The first one learns the tag, the others insist on it.
    assert!(log[1..].iter().all(|request| request.headers["if-range"] == "\"v1\""), "{log:?}");
    assert_eq!(source.fetched(), origin.take_sent());
}

#[tokio::test]
async fn what_is_fetched_is_at_most_a_twentieth_more_than_what_changed() {
    let (authority, sample) = (Authority::new(), Sample::of(1000, 2400));
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    for (name, wanted) in [
        ("every third", (0..1000).step_by(3).collect::<Vec<u32>>()),
        ("clusters", (0..1000).filter(|n| n / 40 % 3 == 0).collect()),
        ("clusters with holes", (0..1000).filter(|n| n / 100 % 2 == 0 && n % 33 != 5).collect()),
        ("one", vec![123]),
        ("all but a few", (0..1000).filter(|n| n % 500 != 3).collect()),
    ] {
        let dir = TempDir::new().unwrap();
        let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
        origin.take_sent();
        download(&source, &sample.pieces(), sample.spool(dir.path()), wanted.clone(), |_| {}).await.unwrap();
        let (requests, sent, changed) = (origin.log().len(), origin.take_sent(), sample.bytes_of(&wanted));
        assert!(sent <= changed * 105 / 100, "{name}: {sent} bytes for {changed} that changed");
        println!("{name}: {sent} bytes for {changed} that changed, in {requests} requests");
    }
}

#[tokio::test]
async fn an_interrupted_download_fetches_no_finished_block_again() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(300, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let place = origin.place("/v2.bundle");
    let mut kept = 0;
    // Cut off at five points, each time by the end of the process: nothing is closed or synced.
    for stop_at in [1, 30, 31, 100, 200] {
        let source = BundleSource::new(authority.line(), vec![place.clone()]);
        let mut spool = sample.spool(dir.path());
        let (missing, bytes) = spool.missing(sample.all());
        assert_eq!(bytes, sample.bytes_of(&missing));
        assert_eq!(sample.all().iter().filter(|n| spool.has(**n)).count(), kept);
        let mut blocks = source.blocks(&sample.pieces(), missing, BlockOrder::Any);
        while kept < stop_at {
            let (n, stored) = blocks.next().await.unwrap().unwrap();
            assert!(!spool.has(n), "block {n} came twice");
            spool.put(n, &stored).unwrap();
            kept += 1;
        }
    }
    // Another server: the first may still be sending what was cut off.
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let spool = sample.spool(dir.path());
    let (_, missing) = spool.missing(sample.all());
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    sample.check(download(&source, &sample.pieces(), spool, sample.all(), |_| {}).await.unwrap());
    assert_eq!(origin.take_sent(), missing, "only what was missing");
}

#[tokio::test]
async fn a_stick_takes_the_same_path() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(100, 4000), TempDir::new().unwrap());
    let stick = dir.path().join("v2.bundle");
    fs::write(&stick, &sample.file).unwrap();
    let source = BundleSource::new(authority.line(), vec![FileLocation::File(stick.clone())]);
    assert_eq!(source.head(1 << 20).await.unwrap(), sample.file, "a short file is its own head");
    sample.check(sample.download(&source, &dir.path().join("spool")).await.unwrap());

    // Another file under the same name, in the middle of it.
    fs::write(&stick, noise(9, sample.file.len())).unwrap();
    let error = sample.download(&source, &dir.path().join("again")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("another file is there now"), "{error}");

    for (path, says) in [
        (dir.path().to_owned(), "it is no file"),
        (dir.path().join("none"), "no such file"),
        ("/dev/zero".into(), "it is no file"),
    ] {
        let source = BundleSource::new(authority.line(), vec![FileLocation::File(path)]);
        let error = source.head(100).await.unwrap_err();
        assert!(error.message.contains(says), "{error}");
    }
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let error = BundleSource::new(authority.line(), vec![FileLocation::File(pipe)]).head(100).await.unwrap_err();
    assert!(error.message.contains("it is no file"), "{error}");
}

#[tokio::test]
async fn mirrors_are_tried_in_turn() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(60, 4000), TempDir::new().unwrap());
    let (first, second, third) = (authority.origin().await, authority.origin().await, authority.origin().await);
    second.put("/m/v2.bundle", sample.file.clone());
    third.put("/v2.bundle", sample.file.clone());
    // The first has nothing, the second dies after some blocks.
    second.treat(|request| if request.number < 3 { Conduct::Honest } else { Conduct::Status(500, String::new()) });
    let places = vec![first.place("/v2.bundle"), second.place("/m/v2.bundle"), third.place("/v2.bundle")];
    let source = BundleSource::new(authority.line(), places);
    source.head(100).await.unwrap();
    sample.check(sample.download(&source, dir.path()).await.unwrap());
    assert_eq!(first.log().len(), 1);
    assert!(!third.log().is_empty());

    third.treat(|_| Conduct::Status(404, String::new()));
    second.treat(|_| Conduct::Page);
    let source = BundleSource::new(
        authority.line(),
        vec![first.place("/v2.bundle"), second.place("/m/v2.bundle"), third.place("/v2.bundle")],
    );
    let error = source.head(100).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    for part in [first.url("/v2.bundle"), "web page".into(), "404".into()] {
        assert!(error.message.contains(&part), "{error}");
    }
    assert!(error.hint.as_ref().unwrap().contains("kept"));
}

#[tokio::test]
async fn a_server_that_comes_back_is_waited_for_and_one_that_does_not_is_given_up() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(60, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    origin.treat(|request| {
        if request.number % 3 == 1 { Conduct::Status(503, "retry-after: 0\r\n".into()) } else { Conduct::Honest }
    });
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    sample.check(sample.download(&source, dir.path()).await.unwrap());

    origin.take_sent();
    origin.treat(|_| Conduct::Status(503, String::new()));
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    let error = source.read(0..10).await.unwrap_err();
    assert!(error.message.contains("503"), "{error}");
    assert_eq!(origin.log().len(), 5, "patience 4: once, and four times more");
    // Whoever waits for an answer gets one sooner.
    origin.take_sent();
    BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]).head(10).await.unwrap_err();
    assert_eq!(origin.log().len(), 3);
    // Nobody there at all.
    let place = FileLocation::parse("https://localhost:1/v2.bundle").unwrap();
    let error = BundleSource::new(authority.line(), vec![place]).head(10).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
}

#[test]
fn a_server_is_named_as_dns_has_it() {
    let place = FileLocation::parse("https://xn--bcher-kva.example/ü").unwrap();
    assert_eq!(place.to_string(), "https://xn--bcher-kva.example/%C3%BC");
    let error = FileLocation::parse("https://bücher.example/v2.bundle").unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains("xn--"), "{error}");
}

#[tokio::test]
async fn a_fleet_does_not_come_back_all_at_once() {
    let authority = Authority::new();
    let origin = authority.origin().await;
    origin.put("/x", vec![0; 10]);
    origin.treat(|_| Conduct::Status(503, String::new()));
    let mut limits = authority.limits();
    (limits.pause, limits.longest_pause, limits.patience) = (Duration::from_millis(64), Duration::from_millis(64), 1);
    let line = HttpClient::new(limits).unwrap();
    let mut took = Vec::new();
    for _ in 0..12 {
        let since = Instant::now();
        BundleSource::new(Arc::clone(&line), vec![origin.place("/x")]).head(10).await.unwrap_err();
        took.push(since.elapsed().as_millis());
    }
    assert!(took.iter().all(|ms| *ms >= 32), "{took:?}");
    took.sort_unstable();
    took.dedup();
    assert!(took.len() > 3, "always the same pause: {took:?}");
}

#[tokio::test]
async fn a_caller_is_told_at_once_that_a_publisher_is_overloaded() {
    let authority = Authority::new();
    let origin = authority.origin().await;
    origin.put("/index.json", vec![0; 10]);
    let http = HttpClient::new(authority.limits()).unwrap();
    for (status, headers, busy) in [
        (503, "retry-after: 3600\r\n", true),
        (429, "retry-after: 120\r\n", true),
        (503, "", true),
        (500, "", false),
        (404, "", false),
    ] {
        origin.treat(move |_| Conduct::Status(status, headers.into()));
        let since = Instant::now();
        let error = small(&http, vec![origin.place("/index.json")], 100, Ok).await.unwrap_err();
        assert_eq!(is_busy(&error), busy, "{error}");
        assert!(error.message.contains(&status.to_string()) && since.elapsed() < Duration::from_secs(5), "{error}");
    }
}

#[tokio::test]
async fn the_cap_on_bandwidth_is_for_all_requests_together() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(40, 8000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let total = sample.bytes_of(&sample.all());
    let mut limits = authority.limits();
    limits.bandwidth = Some(total);
    // The cap makes it slower than the floor: that is our own doing, and no stall.
    (limits.stall, limits.stall_bytes) = (Duration::from_millis(50), total);
    let source = BundleSource::new(HttpClient::new(limits).unwrap(), vec![origin.place("/v2.bundle")]);
    let since = Instant::now();
    sample.check(sample.download(&source, dir.path()).await.unwrap());
    let took = since.elapsed();
    assert!((Duration::from_millis(700)..Duration::from_secs(4)).contains(&took), "{took:?} for a second's bytes");
}

#[tokio::test]
async fn outside_its_window_nothing_is_fetched() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(60, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    // 2026-11-22 01:59:59 UTC, and a window that opens at two.
    let seconds = Arc::new(AtomicI64::new(1_795_312_799));
    let clock = Arc::clone(&seconds);
    let mut limits = authority.limits();
    limits.wall = Wall::of(move || clock.load(Ordering::Relaxed) * 1000);
    limits.window = Windows(vec![Window::parse("02:00-03:00").unwrap()]);
    limits.deadline = Duration::from_millis(900);
    let source = BundleSource::new(HttpClient::new(limits.clone()).unwrap(), vec![origin.place("/v2.bundle")]);
    assert_eq!(source.shut(), Some(1), "at 01:59:59");
    let error = source.read(0..10).await.unwrap_err();
    assert_eq!((error.code, origin.log().len()), (ErrorCode::Timeout, 0));
    // Somebody who asks about a release does not have to wait until tonight.
    let source = BundleSource::new(HttpClient::new(limits.clone()).unwrap(), vec![origin.place("/v2.bundle")]);
    assert_eq!(source.head(10).await.unwrap().len(), 10);

    seconds.store(1_795_312_800, Ordering::Relaxed);
    let source = BundleSource::new(HttpClient::new(limits.clone()).unwrap(), vec![origin.place("/v2.bundle")]);
    let (pieces, mut told) = (sample.pieces(), Vec::new());
    let ended = download(&source, &pieces, sample.spool(dir.path()), sample.all(), |progress| {
        told.push(progress);
        if told.len() == 10 {
            seconds.store(1_795_316_400, Ordering::Relaxed);
        }
    });
    assert_eq!(ended.await.unwrap_err().code, ErrorCode::Timeout, "it opens tomorrow, and the deadline is before");
    // A block of each request was on its way, and some were ready.
    assert!((10..20).contains(&told.len()), "{}", told.len());
    assert_eq!(told.last().unwrap().waits, Some(23 * 3600));
    seconds.store(1_795_316_400 + 23 * 3600, Ordering::Relaxed);
    let source = BundleSource::new(HttpClient::new(limits).unwrap(), vec![origin.place("/v2.bundle")]);
    let spool = sample.spool(dir.path());
    assert!(spool.missing(sample.all()).0.len() < 54 - 8);
    sample.check(download(&source, &pieces, spool, sample.all(), |_| {}).await.unwrap());
}

#[tokio::test]
async fn by_a_clock_that_nobody_set_no_download_window_is_open() {
    let (authority, sample, machine) = (Authority::new(), Sample::of(4, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let mut limits = authority.limits();
    // 2026-11-22 02:30 UTC, as the last shutdown may have been.
    limits.wall = Wall::of(|| 1_795_314_600_000);
    limits.window = Windows(vec![Window::parse("02:00-03:00").unwrap()]);
    limits.deadline = Duration::from_millis(300);
    limits.root = Root::at(machine.path());
    let source = |limits: &DownloadLimits| {
        BundleSource::new(HttpClient::new(limits.clone()).unwrap(), vec![origin.place("/v2.bundle")])
    };
    assert_eq!(source(&limits).shut(), None, "without systemd-timesyncd the clock counts as set");
    std::fs::create_dir_all(machine.path().join("run/systemd/timesync")).unwrap();
    assert_eq!(source(&limits).shut(), Some(600));
    let error = source(&limits).read(0..10).await.unwrap_err();
    assert_eq!((error.code, origin.log().len()), (ErrorCode::Timeout, 0));
    let always = DownloadLimits { window: Windows::default(), ..limits.clone() };
    assert_eq!(source(&always).shut(), None, "at any hour no clock is needed");
    std::fs::write(machine.path().join("run/systemd/timesync/synchronized"), "").unwrap();
    assert_eq!(source(&limits).shut(), None);
    assert_eq!(source(&limits).read(0..10).await.unwrap().len(), 10);
}

#[tokio::test]
async fn without_room_for_a_spool_blocks_come_in_the_order_of_their_numbers() {
    let (authority, sample) = (Authority::new(), Sample::of(200, 4000));
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    let wanted = [3, 199, 100, 7, 8, 6, 50];
    let mut blocks = source.blocks(&sample.pieces(), wanted, BlockOrder::Index);
    let mut came = Vec::new();
    while let Some(block) = blocks.next().await {
        let (n, stored) = block.unwrap();
        assert_eq!(stored, sample.block(n));
        came.push(n);
    }
    assert_eq!(came, [3, 6, 7, 8, 50, 100], "199 is a block of zeros, which nobody sends");
}

#[tokio::test]
async fn a_proxy_is_asked_to_connect_and_sees_nothing() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
    let (authority, sample, dir) = (Authority::new(), Sample::of(30, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, port) = (Arc::clone(&asked), origin.port);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                seen.lock().unwrap().push(String::from_utf8(head).unwrap());
                let mut there = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    let mut limits = authority.limits();
    limits.proxy = Some(format!("http://me:word@{proxy}"));
    let source = BundleSource::new(HttpClient::new(limits).unwrap(), vec![origin.place("/v2.bundle")]);
    sample.check(sample.download(&source, dir.path()).await.unwrap());
    let asked = asked.lock().unwrap();
    assert!(
        asked.iter().all(|head| head.starts_with(&format!("CONNECT localhost:{port} ")) && !head.contains("v2.bundle")),
        "{asked:?}"
    );
    assert!(asked[0].to_ascii_lowercase().contains("proxy-authorization: basic"));
}

#[tokio::test]
async fn only_the_named_authority_is_believed_and_the_clock_need_not_be_set() {
    let (mine, other) = (Authority::new(), Authority::new());
    let stranger = other.origin().await;
    stranger.put("/x", vec![0; 10]);
    let error = BundleSource::new(mine.line(), vec![stranger.place("/x")]).head(10).await.unwrap_err();
    assert!(error.message.contains("invalid peer certificate"), "{error}");

    let origin = mine.origin_of(2025..2027).await;
    origin.put("/x", vec![0; 10]);
    // The floor is in October 2025. A clock before it, or a lifetime after it, is not believed.
    for (clock, good) in [(0, true), (-5, true), (1_795_305_600, true), (4_070_908_800, true), (1_830_297_600, false)] {
        let mut limits = mine.limits();
        limits.wall = Wall::of(move || clock * 1000);
        let head = BundleSource::new(HttpClient::new(limits).unwrap(), vec![origin.place("/x")]).head(10).await;
        assert_eq!(head.is_ok(), good, "{clock}: {head:?}");
    }

    for (text, says) in
        [("", "no certificate"), ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "update.ca_file")]
    {
        let mut limits = mine.limits();
        let file = TempDir::new().unwrap();
        limits.ca_file = Some(file.path().join("ca.pem"));
        fs::write(file.path().join("ca.pem"), text).unwrap();
        let error = HttpClient::new(limits).unwrap_err();
        assert!(error.message.contains(says) && error.code == ErrorCode::FailedPrecondition, "{error}");
    }
    let mut limits = mine.limits();
    limits.ca_file = Some("/nowhere/ca.pem".into());
    assert!(HttpClient::new(limits).unwrap_err().message.contains("/nowhere/ca.pem"));
}

#[tokio::test]
async fn a_certificate_younger_than_everything_that_is_known_is_believed_while_nobody_has_set_the_clock() {
    let mine = Authority::new();
    let head = async |years, clock: i64, synchronised| {
        let origin = mine.origin_of(years).await;
        origin.put("/x", vec![0; 10]);
        let limits = DownloadLimits { wall: Wall::of(move || clock * 1000), synchronised, ..mine.limits() };
        BundleSource::new(HttpClient::new(limits).unwrap(), vec![origin.place("/x")]).head(10).await
    };
    // The floor is in October 2025.
    for (clock, synchronised) in [(0, false), (0, true), (1_795_305_600, false)] {
        head(2028..2030, clock, synchronised).await.unwrap();
        // Longer than anything lies in a drawer.
        assert!(head(2040..2050, clock, synchronised).await.is_err());
    }
    let error = head(2028..2030, 1_795_305_600, true).await.unwrap_err();
    assert!(error.message.contains("not valid yet"), "{error}");
    assert!(head(2020..2024, 0, false).await.is_err(), "expired is expired");
    // By another authority, younger or not.
    let stranger = Authority::new().origin_of(2028..2030).await;
    stranger.put("/x", vec![0; 10]);
    let limits = DownloadLimits { synchronised: false, ..mine.limits() };
    assert!(BundleSource::new(HttpClient::new(limits).unwrap(), vec![stranger.place("/x")]).head(10).await.is_err());
}

#[tokio::test]
async fn a_block_that_is_damaged_on_its_way_is_asked_for_again_and_not_for_ever() {
    for (damaged, good) in [(1, true), (2, true), (usize::MAX, false)] {
        let (authority, sample, dir) = (Authority::new(), Sample::of(60, 4000), TempDir::new().unwrap());
        let origin = authority.origin().await;
        origin.put("/v2.bundle", sample.file.clone());
        let mut left = damaged;
        origin.treat(move |request| {
            // The head is well; then a request or two is not.
            if request.number == 0 || left == 0 {
                return Conduct::Honest;
            }
            left = left.saturating_sub(1);
            Conduct::Rotten
        });
        let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
        source.head(100).await.unwrap();
        let spool = sample.spool(dir.path());
        let done = download(&source, &sample.pieces(), spool, sample.all(), |_| {}).await;
        match done {
            Ok(spool) => sample.check(spool),
            Err(error) => {
                assert!(!good, "{error}");
                assert_eq!(error.code, ErrorCode::VerificationFailed);
                assert!(error.message.contains("another hash") && error.hint.is_some(), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn what_rots_in_the_spool_is_fetched_again_and_nothing_else() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(100, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    drop(sample.download(&source, dir.path()).await.unwrap());
    let file = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    let at = sample.file.len() / 2;
    bytes[at] ^= 4;
    fs::write(&file, bytes).unwrap();
    let spool = sample.spool(dir.path());
    let (missing, _) = spool.missing(sample.all());
    assert_eq!(missing.len(), 1);
    origin.take_sent();
    sample.check(download(&source, &sample.pieces(), spool, sample.all(), |_| {}).await.unwrap());
    assert_eq!(origin.take_sent(), sample.length(missing[0]));

    // Under an open one, it is noticed when it is taken.
    let mut spool = sample.spool(dir.path());
    let mut bytes = fs::read(&file).unwrap();
    bytes[at] ^= 4;
    fs::write(&file, bytes).unwrap();
    let error = spool.take(missing[0]).unwrap_err();
    assert_eq!((error.code, spool.has(missing[0])), (ErrorCode::VerificationFailed, false));
}

#[tokio::test]
async fn a_spool_is_bounded_by_the_room_there_is() {
    let (authority, sample, dir) = (Authority::new(), Sample::of(60, 4000), TempDir::new().unwrap());
    let origin = authority.origin().await;
    origin.put("/v2.bundle", sample.file.clone());
    let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
    let spool = sample.try_spool(dir.path(), u64::MAX / 2).unwrap();
    let error = download(&source, &sample.pieces(), spool, sample.all(), |_| {}).await.unwrap_err();
    assert_eq!((error.code, origin.log().len()), (ErrorCode::ResourceExhausted, 0));
    assert_eq!(error.details["needed_bytes"], sample.bytes_of(&sample.all()));
    assert!(error.hint.as_ref().unwrap().contains("update.spool_dir"));

    let error = sample.try_spool(std::path::Path::new("/proc/nowhere"), 0).unwrap_err();
    assert!(error.message.contains("/proc/nowhere"), "{error}");
}

#[test]
fn a_folder_holds_one_spool_and_one_process_has_it() {
    let (sample, other, dir) = (Sample::of(10, 400), Sample::of(11, 400), TempDir::new().unwrap());
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let names = || {
        let mut names: Vec<String> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let first = sample.spool(dir.path());
    let error = sample.try_spool(dir.path(), 0).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    // Another bundle's leaves one alone that is in use.
    let second: Spool = other.spool(dir.path());
    assert_eq!(names().len(), 3);
    drop((first, second));
    let second = other.spool(dir.path());
    assert_eq!(names(), [format!("{}.blocks", Digest::of(&other.file)), "notes.txt".into()]);
    second.remove().unwrap();
    assert_eq!(names(), ["notes.txt"]);
    drop(sample.spool(dir.path()));
    sweep(dir.path(), None);
    assert_eq!(names(), ["notes.txt"]);
    // A link in its place leads nowhere.
    std::os::unix::fs::symlink(
        dir.path().join("notes.txt"),
        dir.path().join(format!("{}.blocks", Digest::of(&sample.file))),
    )
    .unwrap();
    sample.try_spool(dir.path(), 0).unwrap_err();
    assert_eq!(fs::read(dir.path().join("notes.txt")).unwrap(), b"mine");
}

#[tokio::test]
async fn a_small_file_comes_whole_from_whoever_has_a_good_one() {
    let authority = Authority::new();
    let (first, second) = (authority.origin().await, authority.origin().await);
    first.put("/stable/index", "old");
    second.put("/stable/index", "good");
    let line = authority.line();
    let places = || vec![first.place("/stable/index"), second.place("/stable/index")];
    let judge = |bytes: Vec<u8>| {
        if bytes == b"good" { Ok(bytes) } else { Err(base::error::ToolError::invalid("it is not good")) }
    };
    assert_eq!(small(&line, places(), 100, judge).await.unwrap(), b"good");
    let error = small(&line, places(), 3, judge).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed);
    assert!(error.message.contains("it is not good") && error.message.contains("at most 3 are read"), "{error}");
    first.treat(|_| Conduct::Page);
    second.treat(|_| Conduct::Endless);
    let error = small(&line, places(), 10_000, judge).await.unwrap_err();
    assert!(error.message.contains("web page") && error.message.contains("does not end within 10000"), "{error}");
}
