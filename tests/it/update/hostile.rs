//! A server that lies, stalls, cuts and never ends: every time it is bounded and explained, and what came before stays.

use super::{
    origin::{Authority, Conduct, Origin, Request},
    sample::{HEAD, Sample},
};
use base::error::{ErrorCode, ToolError};
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use update_client::fetch::{BundleSource, HttpClient, download};

/// A download that has come half of its way from an honest server.
struct Half {
    authority: Authority,
    origin: Origin,
    sample: Arc<Sample>,
    dir: TempDir,
    kept: usize,
}

/// Nothing here may take longer, whatever the server does.
const BOUND: Duration = Duration::from_secs(20);

impl Half {
    async fn new() -> Self {
        let (authority, sample, dir) = (Authority::new(), Sample::of(100, 3000), TempDir::new().unwrap());
        let origin = authority.origin().await;
        origin.put("/v2.bundle", sample.file.clone());
        let half: Vec<u32> = (0..50).collect();
        let source = BundleSource::new(authority.line(), vec![origin.place("/v2.bundle")]);
        drop(download(&source, &sample.pieces(), sample.spool(dir.path()), half, |_| {}).await.unwrap());
        let kept = 45;
        origin.take_sent();
        Self { authority, origin, sample, dir, kept }
    }

    fn here(&self) -> usize {
        let spool = self.sample.spool(self.dir.path());
        self.sample.all().into_iter().filter(|n| spool.has(*n)).count()
    }

    /// Goes on from such a server, as after a restart: with the head known, or not even that.
    async fn goes_on(&self, conduct: impl FnMut(&Request) -> Conduct + Send + 'static) -> Result<(), ToolError> {
        let source = BundleSource::new(self.authority.line(), vec![self.origin.place("/v2.bundle")]);
        self.origin.treat(|_| Conduct::Honest);
        source.head(HEAD as u64).await.unwrap();
        self.origin.take_sent();
        self.origin.treat(conduct);
        let since = Instant::now();
        let ended = tokio::time::timeout(BOUND, self.sample.download(&source, self.dir.path())).await.expect("bounded");
        assert!(since.elapsed() < BOUND);
        ended.map(|spool| self.sample.check(spool))
    }

    /// It fails, says why, and everything that was here still is; an honest server then brings only the rest.
    async fn refuses(self, conduct: Conduct, words: &str) {
        self.refuses_at_head(&conduct, words).await;
        let treated = conduct.clone();
        let error = self.goes_on(move |_| treated.clone()).await.expect_err(words);
        assert!(error.message.contains(words), "{conduct:?}: {error}");
        assert!(error.message.contains("https://localhost:"), "it names the place: {error}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("kept")), "{words}");
        assert_eq!(self.here(), self.kept, "{conduct:?}: what was here stays, and nothing bad came");
        self.mends(self.kept).await;
    }

    /// The very first request is bounded and explained too.
    async fn refuses_at_head(&self, conduct: &Conduct, words: &str) {
        let treated = conduct.clone();
        self.origin.treat(move |_| treated.clone());
        let source = BundleSource::new(self.authority.line(), vec![self.origin.place("/v2.bundle")]);
        let ended = tokio::time::timeout(BOUND, source.head(HEAD as u64)).await.expect("bounded");
        // What is rotten looks like any other beginning: that is for the signature to see.
        if !matches!(conduct, Conduct::Rotten | Conduct::Tag(_) | Conduct::Total(_)) {
            let error = ended.expect_err(words);
            assert!(error.code == ErrorCode::Unavailable && error.hint.is_some(), "{conduct:?}: {error}");
        }
    }

    /// From an honest server only the rest is fetched. Another one: what the hostile one still writes is not counted.
    async fn mends(&self, kept: usize) {
        let missing = self.sample.spool(self.dir.path()).missing(self.sample.all()).1;
        assert!(kept >= self.kept);
        let honest = self.authority.origin().await;
        honest.put("/v2.bundle", self.sample.file.clone());
        let source = BundleSource::new(self.authority.line(), vec![honest.place("/v2.bundle")]);
        self.sample.check(self.sample.download(&source, self.dir.path()).await.unwrap());
        assert_eq!(source.fetched(), missing);
    }
}

#[tokio::test]
async fn a_web_page_in_place_of_the_bundle() {
    Half::new().await.refuses(Conduct::Page, "a web page was answered").await;
}

#[tokio::test]
async fn the_whole_file_to_a_range() {
    Half::new().await.refuses(Conduct::Whole, "").await;
    // Without a tag there is no condition that the whole file could be the answer to.
    let half = Half::new().await;
    half.origin.treat(|_| Conduct::Whole);
    let error =
        BundleSource::new(half.authority.line(), vec![half.origin.place("/v2.bundle")]).head(100).await.unwrap_err();
    assert!(error.message.contains("cannot send parts of a file"), "{error}");
}

#[tokio::test]
async fn another_tag_over_another_file() {
    let half = Half::new().await;
    let other = Sample::of(120, 2800);
    half.origin.put("/v3.bundle", other.file.clone());
    // The same name, another file: its head is another one.
    let source = BundleSource::new(half.authority.line(), vec![half.origin.place("/v2.bundle")]);
    source.head(HEAD as u64).await.unwrap();
    let mut changed = half.sample.file.clone();
    changed[10] ^= 1;
    half.origin.put("/v2.bundle", changed);
    half.origin.treat(|_| Conduct::Tag("\"v2\""));
    let error = half.sample.download(&source, half.dir.path()).await.unwrap_err();
    assert!(error.message.contains("another file is there now"), "{error}");
    assert_eq!(half.here(), half.kept);
    half.origin.put("/v2.bundle", half.sample.file.clone());
    half.mends(half.kept).await;
}

#[tokio::test]
async fn another_tag_over_the_same_file() {
    let half = Half::new().await;
    // Copied anew in the middle of it: the same bytes under another tag.
    let mut seen = 0;
    half.goes_on(move |_| {
        seen += 1;
        if seen > 2 { Conduct::Tag("\"v2\"") } else { Conduct::Honest }
    })
    .await
    .unwrap();
    assert_eq!(half.here(), 90);
}

#[tokio::test]
async fn a_tag_that_changes_with_every_answer() {
    let half = Half::new().await;
    let tags = ["\"a\"", "\"b\"", "\"c\"", "W/\"d\"", "\"e\""];
    let error = half.goes_on(move |request| Conduct::Tag(tags[request.number % 5])).await.unwrap_err();
    assert!(error.message.contains("changed"), "{error}");
    half.mends(half.here()).await;
}

#[tokio::test]
async fn redirects_to_plain_http() {
    for to in ["http://localhost/v2.bundle", "http://127.0.0.1:1/", "ftp://localhost/", "file:///etc/passwd"] {
        let conduct = Conduct::Status(302, format!("location: {to}\r\n"));
        Half::new().await.refuses(conduct, "").await;
    }
    let half = Half::new().await;
    let error = half.goes_on(|_| Conduct::Status(301, "location: http://localhost/x\r\n".into())).await.unwrap_err();
    assert!(error.message.contains("can be read and changed on the way"), "{error}");
}

#[tokio::test]
async fn redirects_in_a_circle_and_without_an_end() {
    let half = Half::new().await;
    let circle = Conduct::Status(302, format!("location: {}\r\n", half.origin.url("/v2.bundle")));
    half.refuses(circle, "points in a circle").await;
    let half = Half::new().await;
    (0..40).for_each(|n| half.origin.put(&format!("/hop/{n}"), "x"));
    let error = half
        .goes_on(|request| Conduct::Status(307, format!("location: /hop/{}\r\n", request.number)))
        .await
        .unwrap_err();
    assert!(error.message.contains("points on more than 5 times"), "{error}");
    assert!(half.origin.log().len() < 8 * 5, "{} requests", half.origin.log().len());
    half.mends(half.kept).await;
}

#[tokio::test]
async fn a_redirect_to_https_is_followed() {
    let half = Half::new().await;
    half.origin.put("/moved/v2.bundle", half.sample.file.clone());
    half.goes_on(|request| match request.path.as_str() {
        "/v2.bundle" => Conduct::Status(302, "location: /moved/v2.bundle\r\n".into()),
        _ => Conduct::Honest,
    })
    .await
    .unwrap();
    // The range and its condition went along.
    assert!(
        half.origin
            .log()
            .iter()
            .filter(|request| request.path.starts_with("/moved"))
            .all(|request| request.range.is_some())
    );
}

#[tokio::test]
async fn a_slow_loris_is_given_up() {
    Half::new().await.refuses(Conduct::Drip(Duration::from_millis(30)), "in 0.4 seconds and was given up").await;
}

#[tokio::test]
async fn silence_is_given_up() {
    Half::new().await.refuses(Conduct::Silent, "brought 0 bytes").await;
}

#[tokio::test]
async fn the_deadline_is_for_all_of_it() {
    let half = Half::new().await;
    let mut limits = half.authority.limits();
    limits.deadline = Duration::from_millis(700);
    (limits.stall_bytes, limits.patience) = (1, 1_000_000);
    let source = BundleSource::new(HttpClient::new(limits).unwrap(), vec![half.origin.place("/v2.bundle")]);
    half.origin.treat(|_| Conduct::Drip(Duration::from_millis(20)));
    let since = Instant::now();
    let error = half.sample.download(&source, half.dir.path()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(since.elapsed() < Duration::from_secs(5) && error.message.contains("update.deadline_hours"), "{error}");
    half.mends(half.here()).await;
}

#[tokio::test]
async fn cut_at_every_boundary_it_still_comes_to_its_end() {
    let half = Half::new().await;
    let first = half.sample.bytes_of(&[50]) as usize;
    // In the head of the answer, before, in and after a block: once each, then honestly.
    for cut in [0, 1, first - 1, first, first + 1, 3 * first] {
        let dir = TempDir::new().unwrap();
        let source = BundleSource::new(half.authority.line(), vec![half.origin.place("/v2.bundle")]);
        half.origin.take_sent();
        half.origin.treat(move |request| if request.number % 2 == 0 { Conduct::CutAt(cut) } else { Conduct::Honest });
        let wanted = (50..100).collect::<Vec<u32>>();
        let spool = download(&source, &half.sample.pieces(), half.sample.spool(dir.path()), wanted.clone(), |_| {})
            .await
            .unwrap();
        assert_eq!(spool.missing(wanted.clone()).1, 0, "cut at {cut}");
        let requests = half.origin.log().len() as u64;
        let (sent, whole) = (half.origin.take_sent(), half.sample.bytes_of(&wanted));
        assert!(sent <= whole + requests * 3000, "cut at {cut}: {sent} bytes for {whole}: a finished block came again");
    }
    let half = Half::new().await;
    for raw in
        ["", "HTTP/1.1", "HTTP/1.1 206 Partial Content\r\n", "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 0-"]
    {
        let error = half.goes_on(move |_| Conduct::Raw(raw.into())).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "{raw}: {error}");
    }
    assert_eq!(half.here(), half.kept);
}

#[tokio::test]
async fn always_cut_before_the_first_block_is_whole() {
    Half::new().await.refuses(Conduct::CutAt(700), "").await;
}

#[tokio::test]
async fn wrong_ranges_and_wrong_lengths() {
    Half::new().await.refuses(Conduct::Shifted, "were asked for").await;
    Half::new().await.refuses(Conduct::Length(5), "another length than its range").await;
    Half::new().await.refuses(Conduct::Length(-5), "another length than its range").await;
    Half::new().await.refuses(Conduct::Total(1 << 40), "").await;
    for raw in [
        "HTTP/1.1 206 So\r\ncontent-length: 5\r\n\r\nabcde",
        "HTTP/1.1 206 So\r\ncontent-type: multipart/byteranges; boundary=x\r\ncontent-length: 5\r\n\r\nabcde",
        "HTTP/1.1 206 So\r\ncontent-range: bytes */100\r\ncontent-length: 5\r\n\r\nabcde",
        "HTTP/1.1 204 So\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n",
        "HTTP/1.1 999 What\r\n\r\n",
        "SSH-2.0-OpenSSH_10.0\r\n",
    ] {
        let half = Half::new().await;
        half.refuses(Conduct::Raw(raw.into()), "").await;
    }
}

#[tokio::test]
async fn a_body_without_an_end() {
    let half = Half::new().await;
    let error = half.goes_on(|_| Conduct::Endless).await.unwrap_err();
    assert!(
        error.message.contains("another hash") || error.message.contains("more bytes came than were promised"),
        "{error}"
    );
    assert_eq!(half.here(), half.kept);
    half.mends(half.kept).await;
}

#[tokio::test]
async fn a_head_of_an_answer_without_an_end() {
    let half = Half::new().await;
    let mut head = b"HTTP/1.1 206 Partial Content\r\n".to_vec();
    (0..20_000).for_each(|n| head.extend(format!("x-{n}: {}\r\n", "y".repeat(100)).bytes()));
    half.refuses(Conduct::Raw(head), "").await;
}

#[tokio::test]
async fn compressed_on_the_way() {
    Half::new().await.refuses(Conduct::Gzip, "compressed").await;
}

#[tokio::test]
async fn other_bytes_than_were_signed() {
    let half = Half::new().await;
    half.refuses(Conduct::Rotten, "another hash than the signed index says").await;
    let half = Half::new().await;
    let error = half.goes_on(|_| Conduct::Rotten).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed);
    // A second place that is honest has it all.
    let mirror = half.authority.origin().await;
    mirror.put("/v2.bundle", half.sample.file.clone());
    half.origin.treat(|request| if request.number % 3 == 0 { Conduct::Honest } else { Conduct::Rotten });
    let source =
        BundleSource::new(half.authority.line(), vec![half.origin.place("/v2.bundle"), mirror.place("/v2.bundle")]);
    half.sample.check(half.sample.download(&source, half.dir.path()).await.unwrap());
}

#[tokio::test]
async fn a_server_that_asks_to_wait_for_ever_is_not_waited_for() {
    let half = Half::new().await;
    let mut limits = half.authority.limits();
    limits.deadline = Duration::from_secs(3);
    let source = BundleSource::new(HttpClient::new(limits).unwrap(), vec![half.origin.place("/v2.bundle")]);
    half.origin.treat(|_| Conduct::Status(503, "retry-after: 99999999\r\n".into()));
    let since = Instant::now();
    let error = half.sample.download(&source, half.dir.path()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(since.elapsed() < Duration::from_secs(2), "it says so at once");
}

#[tokio::test]
async fn the_disk_is_full() {
    let half = Half::new().await;
    let full = std::path::Path::new("/dev/full");
    // A spool on a disk that takes nothing: the name of its file leads to /dev/full.
    if !full.exists() {
        return;
    }
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    let error = half.sample.try_spool(std::path::Path::new("/dev/full"), 0).unwrap_err();
    assert!(error.message.contains("/dev/full") && error.hint.is_some(), "{error}");
}
