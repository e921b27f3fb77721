//! The front of a bundle: its head, judged place by place, and its index.

use super::{Fault, Source, source::Haste};
use base::error::{ErrorCode, ToolError};
use update::bundle::{Envelope, Head};

/// What is read first: the head of an ordinary bundle is half as long.
const FIRST: u64 = 4096;

/// A bundle's head as it came. What is in it is believed only as far as who judged it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// The bytes up to the index.
    pub head: Vec<u8>,
    pub envelope: Envelope,
}

impl Source {
    /// Reads the head, and asks `judge` about it: signatures, and the release that is wanted. A place whose bundle it refuses is not asked
    /// any more; the next one is.
    ///
    /// # Errors
    /// What `judge` said of the last place, or [`Source::read`]'s.
    pub async fn open<T>(&self, judge: impl Fn(&Front) -> Result<T, ToolError>) -> Result<(Front, T), ToolError> {
        loop {
            let (bytes, turn) = self.head_at(FIRST).await?;
            let (bytes, turn) = match Envelope::read(&bytes) {
                Ok(Head::More(all)) if all as u64 > FIRST => self.head_at(all as u64).await?,
                _ => (bytes, turn),
            };
            let error = match self.front(bytes).and_then(|front| judge(&front).map(|judged| (front, judged))) {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            // How long it is was this place's word.
            self.route().forget_size();
            // With the last place goes the reason: it is the one to tell.
            if self.recover(&turn, Fault::forged(error.advice()), Haste::Now).await.is_err() {
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
            Head::More(all) => Err(short(all as u64, head.len() as u64)),
            Head::Whole(envelope) => {
                let there = self.size().unwrap_or_default();
                if there != envelope.total {
                    return Err(short(envelope.total, there));
                }
                head.truncate(usize::try_from(envelope.index_at).unwrap_or(usize::MAX));
                Ok(Front { head, envelope })
            }
        }
    }

    /// What `judge` makes of the index of a bundle with this head. Where it refuses the bytes they are asked for again, as blocks are.
    ///
    /// # Errors
    /// What `judge` said last, or [`Source::read`]'s.
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
            if self.recover(&turn, Fault::rotten(u32::MAX, error.advice()), Haste::Later).await.is_err() {
                return Err(error.with("place", turn.place.to_string()));
            }
        }
    }
}
