//! Checks that an answer is the requested one: exactly these bytes, of exactly this file.

use super::{FetchError, fault::Then};
use reqwest::{Response, StatusCode, header};
use std::{ops::Range, time::Duration};

/// The identity of a file when it was first seen at a place. It must not change during a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    /// As sent by the server, with its quotes.
    pub etag: Option<String>,
    pub size: u64,
}

impl Pinned {
    /// The value for `If-Range`: a strong tag only (RFC 9110, 13.1.5).
    pub fn condition(&self) -> Option<&str> {
        self.etag.as_deref().filter(|tag| tag.starts_with('"'))
    }
}

/// Maximum wait that a server may request, in seconds.
const LONGEST_WAIT: u64 = 3600;

/// Checks the answer to a request for `range`. Returns the bytes it has, and the file's identity.
pub(super) fn check(
    answer: &Response,
    range: &Range<u64>,
    pinned: Option<&Pinned>,
) -> Result<(Range<u64>, Pinned), FetchError> {
    let status = answer.status();
    let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    match status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK if is_page(text(header::CONTENT_TYPE)) => {
            return Err(FetchError::elsewhere(
                "a web page was answered in place of the file: a network that wants a login, or a wrong address",
            ));
        }
        // With `If-Range` it means that the file has changed; without, that ranges are not supported.
        StatusCode::OK if pinned.and_then(Pinned::condition).is_some() => {
            return Err(FetchError::changed(
                "the whole file was answered to a range: it has changed, or ranges are ignored",
            ));
        }
        StatusCode::OK => {
            return Err(FetchError::elsewhere(
                "the whole file was answered to a range: this server cannot send parts of a file",
            ));
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            return Err(FetchError::changed("the file there is shorter than it has to be (416)"));
        }
        _ => return Err(refusal(status, text(header::RETRY_AFTER))),
    }
    plain(answer)?;
    let Some((sent, size)) = text(header::CONTENT_RANGE).and_then(content_range) else {
        return Err(FetchError::elsewhere("the answer does not say which range it is (Content-Range)"));
    };
    if sent.start != range.start || sent.end != range.end.min(size) {
        return Err(FetchError::elsewhere(format!(
            "the bytes {}-{} were asked for, {}-{} of {size} answered",
            range.start,
            range.end - 1,
            sent.start,
            sent.end - 1
        )));
    }
    if answer.content_length().is_some_and(|length| length != sent.end - sent.start) {
        return Err(FetchError::elsewhere("the answer has another length than its range"));
    }
    let found = Pinned { etag: text(header::ETAG).filter(|tag| tag.len() <= 256).map(str::to_owned), size };
    if let Some(pinned) = pinned.filter(|pinned| **pinned != found) {
        return Err(FetchError::changed(format!(
            "the file changed: {} bytes, tag {}; before it were {} bytes, tag {}",
            size,
            found.etag.as_deref().unwrap_or("none"),
            pinned.size,
            pinned.etag.as_deref().unwrap_or("none")
        )));
    }
    Ok((sent, found))
}

/// The same for a small file that is fetched completely: at most `most` bytes.
pub(super) fn check_whole(answer: &Response, most: usize) -> Result<(), FetchError> {
    let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    match answer.status() {
        StatusCode::OK if is_page(text(header::CONTENT_TYPE)) => {
            return Err(FetchError::elsewhere(
                "a web page was answered in place of the file: a network that wants a login, or a wrong address",
            ));
        }
        StatusCode::OK => {}
        status => return Err(refusal(status, text(header::RETRY_AFTER))),
    }
    plain(answer)?;
    match answer.content_length() {
        Some(length) if length > most as u64 => {
            Err(FetchError::elsewhere(format!("the file has {length} bytes; at most {most} are read")))
        }
        _ => Ok(()),
    }
}

fn plain(answer: &Response) -> Result<(), FetchError> {
    let encoding = answer.headers().get(header::CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(FetchError::elsewhere(format!("the answer is compressed ({encoding:?}), which nobody asked for")));
    }
    Ok(())
}

fn is_page(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

fn refusal(status: StatusCode, wait: Option<&str>) -> FetchError {
    let why = format!("the server answered {status}");
    // RFC 9110 also allows a date; then the normal pause is used.
    let wait = wait
        .and_then(|text| text.trim().parse().ok())
        .map(|seconds: u64| Duration::from_secs(seconds.min(LONGEST_WAIT)));
    match (status.as_u16(), wait) {
        (429 | 503, wait) => FetchError { then: Then::Busy(wait.unwrap_or_default()), why },
        (408 | 425 | 500..=599, Some(wait)) => FetchError { then: Then::After(wait), why },
        (408 | 425 | 500..=599, None) => FetchError::again(why),
        _ => FetchError::elsewhere(why),
    }
}

/// `bytes 0-499/1234` (RFC 9110, 14.4): the range sent, and the size of the file.
fn content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let (first, last, size) = (number(first)?, number(last)?, number(size)?);
    (first <= last && last < size).then(|| (first..last + 1, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_names_what_was_sent_and_the_whole() {
        assert_eq!(content_range("bytes 0-499/1234"), Some((0..500, 1234)));
        assert_eq!(content_range("bytes 5-5/6"), Some((5..6, 6)));
        for bad in [
            "",
            "bytes",
            "bytes 0-499/*",
            "bytes */1234",
            "bytes 500-499/1234",
            "bytes 0-1234/1234",
            "bytes 0-499",
            "0-499/1234",
            "bytes +0-499/1234",
            "bytes 0-18446744073709551616/18446744073709551617",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes -1-5/9",
            "items 0-4/9",
        ] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }
}
