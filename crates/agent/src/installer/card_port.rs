//! Where the agent's card comes from: this machine, a simulated one, or none.

use super::card::Card;
use crate::settings::AgentSettings;
use base::error::ToolError;
use std::sync::Arc;
use update::install::hooks::{Unwatched, Watch};

/// The card that is updated, and what tests put in its place.
#[derive(Clone)]
pub struct CardPort {
    /// `Err`: why there are none on this machine.
    pub card: Result<Card, ToolError>,
    /// Who watches installs: tests.
    pub watch: Arc<dyn Watch>,
}

impl CardPort {
    /// No slots here.
    pub fn none() -> Self {
        let why = ToolError::missing("this machine has no two slots to update")
            .hint("updates need an image with the layout of docs/boot.md");
        Self { card: Err(why), watch: Arc::new(Unwatched) }
    }

    /// Those of the machine the settings speak of.
    pub fn of(settings: &AgentSettings) -> Self {
        Self { card: Card::of(settings), ..Self::none() }
    }
}
