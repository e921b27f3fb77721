//! Changes of one router that take themselves back unless they are confirmed (commit-confirmed).
//!
//! Before anything is written, the router's own scheduler gets the inverse of all changes, twice: after an interval, and at
//! the next start, since an interval does not count over a start and clocks without a battery begin in 1970. What was
//! written counts only when a connection that was made anew has read it; then both entries are taken away.
//!
//! Until then each row that is changed has a [`mark`] as its comment, and the way back finds it by nothing else.

mod apply;
mod base;
mod change;
mod export;
mod fires;
mod mark;
mod one_write;
mod resume;
mod row;
mod script;
mod value_forms;

pub use apply::{AddedRows, Applied, Apply, Keep, Outcome};
pub use base::{Base, BaseRow, Menus, place};
pub use change::{Action, Change, Fields, Selector, fields, holds};
pub use fires::rollback_test;
pub use mark::mark;
pub use one_write::{is_done, write_change};
pub use row::{is_exactly, is_known_by_all};
pub use script::{inverse, quoted};
pub use value_forms::{is_same, normalized_form};
