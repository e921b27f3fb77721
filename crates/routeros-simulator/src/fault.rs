//! What can go wrong with a router and the way to it.

use std::time::Duration;

/// A fault that a test or a person sets; see [`crate::Router::fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every answer takes so long.
    Slow(Duration),
    /// The connection breaks after the next write was done, before its answer.
    CutAfterWrite,
    /// The connection breaks when so many more requests have come, before that one is done.
    CutBefore(u32),
    /// Nothing can be written: `failure: not enough space on disk`.
    DiskFull,
    /// Another certificate than the one before is shown, from the next connection on.
    OtherCertificate,
    /// A request of this menu is never answered.
    Hangs(String),
    /// A request of this menu is answered with `{}`.
    EmptyObject(String),
    /// Of each answer about this menu, only the first half is sent, as a whole HTTP answer.
    HalfAnswer(String),
    /// A request of this menu is refused: the user may not.
    Denies(String),
    /// Of each `?` in an answer, a byte that is no UTF-8: a client of the router may have any name.
    InvalidUtf8,
    /// At each start every id of a table is another row's.
    OtherIds,
    /// The clock shows another time, in seconds since 1970 UTC.
    ClockJump(u64),
}
