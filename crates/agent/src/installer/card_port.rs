//! The port to the card: this machine's, a simulated one, or none.

use super::card::BootableCard;
use crate::settings::AgentSettings;
use base::error::ToolError;
use std::sync::Arc;
use update::install::hooks::{InstallObserver, Unwatched};

/// The card that is updated. Replaceable in tests.
#[derive(Clone)]
pub struct CardPort {
    /// `Err`: why this machine has no slots.
    pub card: Result<BootableCard, ToolError>,
    /// Observes installs; for tests.
    pub watch: Arc<dyn InstallObserver>,
}

impl CardPort {
    /// No slots.
    pub fn none() -> Self {
        let why = ToolError::missing("this machine has no two slots to update")
            .hint("updates need an image with the layout of docs/boot.md");
        Self { card: Err(why), watch: Arc::new(Unwatched) }
    }

    /// The slots of the machine that the settings describe.
    pub fn of(settings: &AgentSettings) -> Self {
        Self { card: BootableCard::of(settings), ..Self::none() }
    }
}
