//! One file at several places; parts of it are read from any place that has them.

use super::{
    DownloadLimits, FetchError, HttpClient,
    answer::Pinned,
    body::{self, ExactBody},
    fault::late,
    route::{FetchRoute, Next, Turn},
};
use base::error::ToolError;
use std::{
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::time::{Instant, sleep};
use update::FileLocation;
use update::bundle::Digest;
use update::channel::wait_for_clock;

/// Maximum bytes of one [`BundleSource::read`]: the largest index, and a head.
const MOST: u64 = (16 << 20) + (256 << 10);

/// Whether a caller waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// A caller waits: at any hour, because a head is small, and with few retries, to answer soon even if no place
    /// answers.
    Now,
    /// No caller waits: only while `update.download_window` is open, and with all retries.
    Later,
}

impl Haste {
    pub fn patience(self, limits: &DownloadLimits) -> u32 {
        match self {
            Self::Now => limits.patience.min(SOON),
            Self::Later => limits.patience,
        }
    }
}

/// Consecutive failures per place while a caller waits: with the pauses, some seconds.
const SOON: u32 = 2;

/// A bundle at its places. The deadline starts when this is created.
#[derive(Debug)]
pub struct BundleSource {
    pub(super) http: Arc<HttpClient>,
    route: Mutex<FetchRoute>,
    /// The length of the file's beginning and its SHA-256, to recognise it when its tag has changed.
    known: Mutex<Option<(u64, Digest)>>,
    pub(super) deadline: Instant,
    fetched: AtomicU64,
}

impl BundleSource {
    /// `places` are tried in this order.
    pub fn new(http: Arc<HttpClient>, places: Vec<FileLocation>) -> Arc<Self> {
        let deadline = Instant::now() + http.limits.deadline;
        let (route, known) = (Mutex::new(FetchRoute::new(places)), Mutex::default());
        Arc::new(Self { http, route, known, deadline, fetched: AtomicU64::new(0) })
    }

    /// The file's size in bytes, once a part of it was read.
    pub fn size(&self) -> Option<u64> {
        self.route().size()
    }

    /// Bytes received so far, including useless ones.
    pub fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// Reads the beginning of the file, at most `size` bytes, or fewer if the file is shorter. Does not wait for
    /// `update.download_window`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn head(&self, size: u64) -> Result<Vec<u8>, ToolError> {
        self.head_at(size).await.map(|(head, _)| head)
    }

    /// The same, with the place it came from.
    pub(super) async fn head_at(&self, size: u64) -> Result<(Vec<u8>, Turn), ToolError> {
        let (head, turn) = self.read_up_to(0..size, Haste::Now).await?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((head.len() as u64, Digest::of(&head)));
        Ok((head, turn))
    }

    /// Reads exactly the bytes of `range`, at most 16.25 MiB.
    ///
    /// # Errors
    /// `unavailable` when no place has them, with what each answered; `timeout` when the deadline has passed;
    /// `content_too_large` for a longer range; `verification_failed` when the file ends earlier.
    pub async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, ToolError> {
        let length = range.end.saturating_sub(range.start);
        let (bytes, _) = self.read_up_to(range, Haste::Later).await?;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        Err(ToolError::new(
            base::error::ErrorCode::VerificationFailed,
            format!("the file ends {} bytes before its own index says", length - bytes.len() as u64),
        )
        .hint("it was cut short when it was copied: put the whole bundle there"))
    }

    pub(super) async fn read_up_to(&self, range: Range<u64>, haste: Haste) -> Result<(Vec<u8>, Turn), ToolError> {
        body::not_empty(&range)?;
        if range.end - range.start > MOST {
            return Err(ToolError::new(
                base::error::ErrorCode::ContentTooLarge,
                format!("{} bytes are more than are read at once ({MOST})", range.end - range.start),
            ));
        }
        loop {
            self.in_time(haste).await?;
            let turn = self.route().turn()?;
            let fault = match self.once(&turn, &range, turn.pinned.as_ref()).await {
                Ok((bytes, found)) => {
                    let mut route = self.route();
                    match route.found(&turn, found) {
                        Ok(()) => {
                            route.progress();
                            return Ok((bytes, turn));
                        }
                        Err(fault) => fault,
                    }
                }
                Err(fault) => fault,
            };
            self.recover(&turn, fault, haste).await?;
        }
    }

    async fn once(
        &self,
        turn: &Turn,
        range: &Range<u64>,
        pinned: Option<&Pinned>,
    ) -> Result<(Vec<u8>, Pinned), FetchError> {
        let (mut body, found) = ExactBody::open(&self.http, &turn.place, range.clone(), pinned, self.deadline).await?;
        // At most the requested size.
        let mut bytes = Vec::with_capacity(usize::try_from(body.left()).unwrap_or(0));
        while let Some(chunk) = body.next().await? {
            self.count(chunk.len());
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, found))
    }

    /// Handles a fault, including its pause.
    pub(super) async fn recover(&self, turn: &Turn, fault: FetchError, haste: Haste) -> Result<(), ToolError> {
        self.again(turn, fault, haste)?.wait(self, turn, haste).await
    }

    fn again(&self, turn: &Turn, fault: FetchError, haste: Haste) -> Result<Next, ToolError> {
        let limits = &self.http.limits;
        self.route().after(turn, fault, limits, haste.patience(limits))
    }

    /// Checks whether the file still has the same beginning: then it is the same release, copied again.
    async fn look_again(&self, turn: &Turn) -> Result<(), FetchError> {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((length, digest)) = known else {
            return Err(FetchError::elsewhere("the file changed while it was fetched"));
        };
        let (bytes, found) = self.once(turn, &(0..length), None).await?;
        if Digest::of(&bytes) != digest {
            return Err(FetchError::elsewhere("another file is there now"));
        }
        if self.size().is_some_and(|size| size != found.size) {
            return Err(FetchError::elsewhere(format!("the file has {} bytes now", found.size)));
        }
        self.route().still(turn, found);
        Ok(())
    }

    /// Waits for the download window, but not beyond the deadline.
    ///
    /// # Errors
    /// `timeout` when the deadline has passed, also while waiting for the window.
    pub(super) async fn in_time(&self, haste: Haste) -> Result<(), ToolError> {
        let limits = &self.http.limits;
        loop {
            if Instant::now() >= self.deadline {
                return Err(late(limits.deadline));
            }
            let Some(wait) = self.shut().filter(|_| haste == Haste::Later) else { return Ok(()) };
            // The clock may be set meanwhile, so it checks again at least every hour.
            let until = Instant::now() + std::time::Duration::from_secs(wait.min(3600));
            tokio::time::sleep_until(until.min(self.deadline)).await;
        }
    }

    /// Seconds until downloads are allowed, or until that is looked at again by a clock that nobody set yet; `None`: now.
    pub fn shut(&self) -> Option<u64> {
        let limits = &self.http.limits;
        // Asked for each piece of a download: without a window neither clock nor time zone is read.
        if limits.window.is_always() {
            return None;
        }
        let now = limits.wall.now_ms().div_euclid(1000);
        let wait = wait_for_clock(&limits.window, now, &limits.root).map(|wait| wait.as_secs());
        wait.or_else(|| limits.window.wait(now, &limits.zone()))
    }

    pub fn limits(&self) -> &DownloadLimits {
        &self.http.limits
    }

    pub(super) fn count(&self, bytes: usize) {
        self.fetched.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn route(&self) -> MutexGuard<'_, FetchRoute> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Next {
    async fn wait(self, source: &BundleSource, turn: &Turn, haste: Haste) -> Result<(), ToolError> {
        let mut next = self;
        loop {
            match next {
                Self::Pause(pause) => {
                    if Instant::now() + pause >= source.deadline {
                        return Err(late(source.http.limits.deadline));
                    }
                    sleep(pause).await;
                    return Ok(());
                }
                Self::LookAgain => match source.look_again(turn).await {
                    Ok(()) => return Ok(()),
                    // It changed again during the check, so this place is given up.
                    Err(fault) if fault.then == super::fault::Then::Changed => {
                        next = source.again(turn, FetchError::elsewhere(fault.why), haste)?;
                    }
                    Err(fault) => next = source.again(turn, fault, haste)?,
                },
            }
        }
    }
}
