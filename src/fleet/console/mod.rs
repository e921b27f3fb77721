//! The owner's console: the fleet as its broker shows it (docs/fleet.md, "The console").
//!
//! The broker is never an authority: a status counts by the signature of the device's agent and its rising sequence
//! ([`book`]), an order by the fleet's key. Knows the broker, and nothing of the command line.

pub mod book;
pub mod call;
pub mod clones;
pub mod filter;
pub mod folder;
pub mod halt;
pub mod report;
mod seen;
pub mod watch;

pub use book::StatusBook;
pub use folder::{FleetFolder, KnownDevice};

use crate::broker::{
    Broker,
    stream::{StreamReader, bucket_shape, log_shape, status_shape},
};
use base::{clock::Wall, error::ToolError};
use fleet_protocol::{
    log::LogMessage,
    subject::{Subjects, log_stream, status_stream},
};
use std::collections::BTreeMap;

/// A console that is connected.
pub struct Console {
    pub folder: FleetFolder,
    pub subjects: Subjects,
    pub broker: Broker,
    pub wall: Wall,
}

impl Console {
    /// Connects with the certificate of `folder`.
    ///
    /// # Errors
    /// `invalid_argument` for files that cannot be used; `unavailable` when the broker does not answer.
    pub async fn connect(folder: FleetFolder, wall: Wall) -> Result<Self, ToolError> {
        let broker = Broker::connect(folder.broker_options()?).await?;
        Ok(Self { subjects: Subjects::of(&folder.name), folder, broker, wall })
    }

    /// All statuses that the broker has, checked, and the reader that goes on with those that come.
    ///
    /// # Errors
    /// `failed_precondition` without the stream; `unavailable` when the broker does not deliver.
    pub async fn statuses(&self) -> Result<(StatusBook, StreamReader), ToolError> {
        let mut book = StatusBook::new(&self.folder, seen::read(&self.folder.path)?);
        let mut reader = self.broker.read_stream(status_stream(&self.folder.name)).await?;
        while let Some(message) = reader.next_kept().await? {
            book.take(&message.subject, &message.payload, message.heard_ms);
        }
        seen::write(&self.folder.path, &book.sequences())?;
        Ok((book, reader))
    }

    /// Passes on all log messages that the broker has and that count, each once, in the order in which it received them, with
    /// when that was, in ms by its clock. Returns the book with what was refused.
    ///
    /// # Errors
    /// As [`Console::statuses`].
    pub async fn log(&self, mut hear: impl FnMut(&LogMessage, i64)) -> Result<StatusBook, ToolError> {
        let mut book = StatusBook::new(&self.folder, BTreeMap::new());
        let mut reader = self.broker.read_stream(log_stream(&self.folder.name)).await?;
        while let Some(message) = reader.next_kept().await? {
            if let Some(document) = book.take_log(&message.subject, &message.payload) {
                hear(&document, message.heard_ms);
            }
        }
        Ok(book)
    }

    /// Makes the streams of the fleet, or corrects them.
    ///
    /// # Errors
    /// `failed_precondition` when the broker refuses; `unavailable` without an answer.
    pub async fn ensure_streams(&self) -> Result<(), ToolError> {
        ensure_streams(&self.broker, &self.folder.name).await
    }
}

/// The same over a connection that is there.
///
/// # Errors
/// `failed_precondition` when the broker refuses; `unavailable` without an answer.
pub async fn ensure_streams(broker: &Broker, fleet: &str) -> Result<(), ToolError> {
    for shape in [status_shape(fleet), log_shape(fleet), bucket_shape(fleet)] {
        broker.ensure_stream(&shape).await?;
    }
    Ok(())
}
