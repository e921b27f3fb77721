//! One request and the bytes of its answer, from a server or from a file, with the same guarantees.

use super::{
    FetchError,
    answer::{Pinned, check, check_whole},
    fault::late,
    http_client::HttpClient,
    pace::Stall,
};
use base::{error::ToolError, os::blocking};
use bytes::Bytes;
use reqwest::{Response, Url, header};
use rustix::fs::OFlags;
use std::{
    fs::File,
    io::ErrorKind,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::PathBuf,
    sync::Arc,
};
use tokio::time::Instant;
use update::FileLocation;

/// Bytes read from a file at a time.
const READ: usize = 64 << 10;

/// Reads exactly the promised bytes.
pub(super) struct ExactBody<'a> {
    from: From,
    /// Offsets in the file that are still to come.
    left: Range<u64>,
    http: &'a HttpClient,
    stall: Stall,
    deadline: Instant,
}

enum From {
    Web(Response),
    File(Arc<File>),
}

impl<'a> ExactBody<'a> {
    /// Requests `range` from `place`; the range may end beyond the file. Also returns the file's identity.
    pub async fn open(
        http: &'a HttpClient,
        place: &FileLocation,
        range: Range<u64>,
        pinned: Option<&Pinned>,
        deadline: Instant,
    ) -> Result<(Self, Pinned), FetchError> {
        let mut stall = Stall::new(&http.limits);
        let (from, left, found) = match place {
            FileLocation::Web(url) => {
                let (answer, left, found) =
                    within(http, deadline, &mut stall, request(http, url, range, pinned)).await??;
                (From::Web(answer), left, found)
            }
            FileLocation::File(path) => {
                let (file, found) = open(path.clone(), pinned.cloned()).await?;
                if range.start >= found.size {
                    return Err(FetchError::elsewhere("the file is shorter than it has to be"));
                }
                (From::File(Arc::new(file)), range.start..range.end.min(found.size), found)
            }
        };
        Ok((Self { from, left, http, stall: Stall::new(&http.limits), deadline }, found))
    }

    /// Number of bytes still to come.
    pub fn left(&self) -> u64 {
        self.left.end - self.left.start
    }

    /// The next chunk; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let bytes = match &mut self.from {
            From::Web(answer) => {
                let chunk = within(self.http, self.deadline, &mut self.stall, answer.chunk()).await?;
                chunk.map_err(|error| FetchError::of(&error))?.unwrap_or_default()
            }
            From::File(file) => read(Arc::clone(file), self.left.clone()).await?,
        };
        if bytes.is_empty() {
            return Err(FetchError::again(format!("it ended {} bytes early", self.left())));
        }
        if bytes.len() as u64 > self.left() {
            return Err(FetchError::elsewhere("more bytes came than were promised"));
        }
        self.left.start += bytes.len() as u64;
        if matches!(self.from, From::Web(_)) {
            let own = self.http.pace.limit(bytes.len()).await;
            self.stall.came(bytes.len(), own)?;
        }
        Ok(Some(bytes))
    }
}

/// Fetches a small file completely, at most `most` bytes.
pub(super) async fn whole(
    http: &HttpClient,
    place: &FileLocation,
    most: usize,
    deadline: Instant,
) -> Result<Vec<u8>, FetchError> {
    let mut stall = Stall::soon(&http.limits);
    let url = match place {
        FileLocation::Web(url) => url,
        FileLocation::File(path) => {
            let (file, found) = open(path.clone(), None).await?;
            if found.size > most as u64 {
                return Err(FetchError::elsewhere(format!(
                    "the file has {} bytes; at most {most} are read",
                    found.size
                )));
            }
            let (file, mut all) = (Arc::new(file), Vec::new());
            while (all.len() as u64) < found.size {
                all.extend_from_slice(&read(Arc::clone(&file), all.len() as u64..found.size).await?);
            }
            return Ok(all);
        }
    };
    let sent = async { http.client.get(url.clone()).send().await.map_err(|error| FetchError::of(&error)) };
    let mut answer = within(http, deadline, &mut stall, sent).await??;
    check_whole(&answer, most)?;
    let mut all = Vec::new();
    loop {
        let chunk =
            within(http, deadline, &mut stall, answer.chunk()).await?.map_err(|error| FetchError::of(&error))?;
        let Some(chunk) = chunk else { return Ok(all) };
        if all.len() + chunk.len() > most {
            return Err(FetchError::elsewhere(format!("the file does not end within {most} bytes")));
        }
        all.extend_from_slice(&chunk);
        let own = http.pace.limit(chunk.len()).await;
        stall.came(chunk.len(), own)?;
    }
}

async fn request(
    http: &HttpClient,
    url: &Url,
    range: Range<u64>,
    pinned: Option<&Pinned>,
) -> Result<(Response, Range<u64>, Pinned), FetchError> {
    let mut request =
        http.client.get(url.clone()).header(header::RANGE, format!("bytes={}-{}", range.start, range.end - 1));
    if let Some(tag) = pinned.and_then(Pinned::condition) {
        request = request.header(header::IF_RANGE, tag);
    }
    let answer = request.send().await.map_err(|error| FetchError::of(&error))?;
    let (left, found) = check(&answer, &range, pinned)?;
    Ok((answer, left, found))
}

/// Awaits `what`, unless it stalls or the deadline passes.
async fn within<T>(
    http: &HttpClient,
    deadline: Instant,
    stall: &mut Stall,
    what: impl Future<Output = T>,
) -> Result<T, FetchError> {
    tokio::select! {
        done = stall.wait(what) => done,
        () = tokio::time::sleep_until(deadline) => Err(late(http.limits.deadline).into()),
    }
}

async fn open(path: PathBuf, pinned: Option<Pinned>) -> Result<(File, Pinned), FetchError> {
    blocking::run("update", move |_| Ok(open_now(&path, pinned.as_ref()))).await?
}

/// Opens a regular file. Non-blocking, so that a pipe does not block it; devices are refused.
fn open_now(path: &PathBuf, pinned: Option<&Pinned>) -> Result<(File, Pinned), FetchError> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).unwrap_or_default();
    let wrong = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => FetchError::elsewhere("there is no such file"),
        _ => FetchError::elsewhere(error.to_string()),
    };
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(wrong)?;
    let known = file.metadata().map_err(wrong)?;
    if !known.is_file() {
        return Err(FetchError::elsewhere("it is no file"));
    }
    let identity = format!("{}-{}-{}-{}", known.dev(), known.ino(), known.mtime(), known.mtime_nsec());
    let found = Pinned { etag: Some(identity), size: known.len() };
    match pinned {
        Some(pinned) if *pinned != found => Err(FetchError::changed("the file is another one now")),
        _ => Ok((file, found)),
    }
}

async fn read(file: Arc<File>, left: Range<u64>) -> Result<Bytes, FetchError> {
    let size = usize::try_from(left.end - left.start).map_or(READ, |left| left.min(READ));
    let bytes = blocking::run("update", move |_| {
        let mut bytes = vec![0; size];
        let read = file.read_at(&mut bytes, left.start);
        Ok(read.map(|length| {
            bytes.truncate(length);
            Bytes::from(bytes)
        }))
    });
    // For example a removed stick; another place may have a copy.
    bytes.await?.map_err(|error| FetchError::elsewhere(format!("it cannot be read: {error}")))
}

/// `internal` for an empty range.
pub(super) fn not_empty(range: &Range<u64>) -> Result<(), ToolError> {
    if range.is_empty() {
        Err(ToolError::internal(format!("the range {range:?} of a bundle holds nothing")))
    } else {
        Ok(())
    }
}
