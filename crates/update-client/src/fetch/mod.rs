//! Fetches the blocks of a bundle, from servers or from a stick, without deciding whether to trust it.
//!
//! An [`HttpClient`] sends requests within limits, a [`BundleSource`] is one file at several [`update::FileLocation`]s, [`Blocks`]
//! are its blocks as they arrive, and a [`Spool`] stores them. [`download`] does all of that. Every wait is bounded,
//! every block is verified by its hash in the signed index, and fetched blocks are kept after any failure.

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
pub use download::{DownloadProgress, download};
use fault::FetchError;
pub use http_client::HttpClient;
pub use limits::DownloadLimits;
pub use look::{ChannelState, look};
pub use opened::Front;
pub use pieces::{BlockOrder, StoredBlock, StoredBlocks};
pub use room::free;
#[cfg(test)]
pub(crate) use route::BUSY;
pub use route::is_busy;
pub use small::{small, try_small};
pub use source::BundleSource;
pub use spool::{Spool, sweep};
