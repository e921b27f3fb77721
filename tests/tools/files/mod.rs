//! `files.*` on a folder of the test's own: one root to write in, one to read.

mod asked;
mod bounds;
mod delete;
mod hang;
mod list;
mod read;
mod write;

use crate::support::files::*;
