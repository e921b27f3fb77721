//! Plans for many routers: a wanted state against what was read, kept for a day, approved by a person as it is, applied one router
//! after another, and taken back.
//!
//! `kinds` makes changes of arguments; `danger` says which of them may cut this machine off; `make` keeps a plan; `apply` checks
//! that nothing has moved, has it authorized and starts a `job`, which goes on after the end of this program.

mod apply;
mod danger;
mod files;
mod job;
pub mod kinds;
mod make;
mod record;
mod rollback;
pub mod seen;
mod show;
mod store;
mod test;
mod way;
mod words;
mod work;

pub use apply::{apply, resume, subject};
pub use danger::dangers;
pub use files::Files;
pub use make::{is_so, plan};
pub use record::{Job, Step};
pub use rollback::{rollback, subject as rollback_subject};
pub use show::{details, snapshot};
pub use store::new_id;
pub use test::test;
pub use way::Way;
pub use words::shown as in_words;
pub use work::{Claim, Work};
