//! Brings the blocks of a bundle here, from servers or from a stick, and decides nothing about them.
//!
//! A [`HttpClient`] is the way out with its limits, a [`Source`] one file at several [`update::Place`]s, [`Blocks`] what comes of it, and a [`Spool`]
//! where it waits. [`download`] is all of that in one. Every wait is bounded, every block is verified by the hash that the signed index
//! has for it, and whatever goes wrong, what was fetched is kept.

mod answer;
mod blocks;
mod body;
mod certificate;
mod download;
mod fault;
mod http_client;
mod limits;
mod look;
mod opened;
mod pace;
mod pieces;
mod probe;
mod room;
mod route;
mod small;
mod source;
mod spool;

pub use blocks::Blocks;
pub use download::{Progress, download};
use fault::Fault;
pub use http_client::HttpClient;
pub use limits::Limits;
pub use look::{Look, look};
pub use opened::Front;
pub use pieces::{BlockOrder, Piece, Pieces};
pub use room::free;
pub use small::{small, try_small};
pub use source::Source;
pub use spool::{Spool, sweep};
