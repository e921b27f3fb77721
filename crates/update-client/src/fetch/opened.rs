//! The front of a bundle: its head, verified per place, and its index.

use super::{BundleSource, FetchError, source::Haste};
use base::error::{ErrorCode, ToolError};
use update::bundle::{BundleHead, Envelope};

/// Bytes that are read first; the head of an ordinary bundle has half as many.
const FIRST: u64 = 4096;

/// A bundle's head as received. Only what the caller's `judge` verified may be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// The bytes up to the index.
    pub head: Vec<u8>,
    pub envelope: Envelope,
}

impl BundleSource {
    /// Reads the head, and has `judge` verify the signatures and that it is the wanted release. A place whose bundle is
    /// refused is not used again; the next one is tried.
    ///
    /// # Errors
    /// The error of `judge` for the last place, or those of [`BundleSource::read`].
    pub async fn open<T>(&self, judge: impl Fn(&Front) -> Result<T, ToolError>) -> Result<(Front, T), ToolError> {
        loop {
            let (bytes, turn) = self.head_at(FIRST).await?;
            let (bytes, turn) = match Envelope::read(&bytes) {
                Ok(BundleHead::More(all)) if all as u64 > FIRST => self.head_at(all as u64).await?,
                _ => (bytes, turn),
            };
            let error = match self.front(bytes).and_then(|front| judge(&front).map(|judged| (front, judged))) {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            // The size is only what this place reported.
            self.route().forget_size();
            // For the last place, the error of `judge` is the one to report.
            if self.recover(&turn, FetchError::forged(error.advice()), Haste::Now).await.is_err() {
                return Err(error.with("place", turn.place.to_string()));
            }
        }
    }

    fn front(&self, mut head: Vec<u8>) -> Result<Front, ToolError> {
        let short = |wanted: u64, there: u64| {
            ToolError::new(
                ErrorCode::VerificationFailed,
                format!("the bundle is {there} bytes long and has to be {wanted}: it was cut short, or is still being copied"),
            )
            .hint("put the whole bundle there")
        };
        match Envelope::read(&head)? {
            BundleHead::More(all) => Err(short(all as u64, head.len() as u64)),
            BundleHead::Whole(envelope) => {
                let there = self.size().unwrap_or_default();
                if there != envelope.total {
                    return Err(short(envelope.total, there));
                }
                head.truncate(usize::try_from(envelope.index_at).unwrap_or(usize::MAX));
                Ok(Front { head, envelope })
            }
        }
    }

    /// Reads the index of a bundle with this head and passes it to `judge`. If it is refused it is requested again, as
    /// blocks are.
    ///
    /// # Errors
    /// The last error of `judge`, or those of [`BundleSource::read`].
    pub async fn index<T>(
        &self,
        envelope: &Envelope,
        judge: impl Fn(Vec<u8>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        loop {
            let (bytes, turn) = self.read_up_to(envelope.index_at..envelope.blocks_at, Haste::Later).await?;
            let error = match judge(bytes) {
                Ok(index) => return Ok(index),
                Err(error) => error,
            };
            if self.recover(&turn, FetchError::rotten(u32::MAX, error.advice()), Haste::Later).await.is_err() {
                return Err(error.with("place", turn.place.to_string()));
            }
        }
    }
}
