//! Whether this machine has an owner, and the tokens that are valid since the claim. Reads what `raspi-mcp prepare` and
//! the agent wrote; checked before each request, so that an owner has access at once.
//!
//! Fails closed: if the files exist but cannot be understood, nobody is served.

use appliance::Folder;
use base::{error::ToolError, reload_on_change::ReloadOnChange};
use contract::config::{Settings, TokenSetting};
use serde::Deserialize;
use std::{fs, path::PathBuf, sync::Arc};

/// The state of the ownership; `None` if this is not an appliance: it belongs to whoever installed the program.
pub struct Ownership(Option<Known>);

struct Known {
    /// It had an owner when the server started: the configuration then has the tokens.
    claimed: bool,
    standing: ReloadOnChange<bool>,
    tokens: ReloadOnChange<Vec<TokenSetting>>,
}

/// The configuration fragment with the tokens.
#[derive(Deserialize)]
struct Fragment {
    access: Access,
}

#[derive(Deserialize)]
struct Access {
    tokens: Vec<TokenSetting>,
}

impl Ownership {
    pub fn of(settings: &Settings) -> Self {
        let folder = Folder::at(&settings.identity_dir);
        let claimed = match folder.standing() {
            Ok(None) => return Self(None),
            Ok(Some(standing)) => standing.claimed,
            Err(error) => {
                tracing::error!(%error, folder = %folder.path().display(), "it is not known whether this machine has an owner");
                false
            }
        };
        let (state, fragment) = (folder.path().join("state.json"), folder.fragments().join("20-tokens.toml"));
        Self(Some(Known {
            claimed,
            standing: ReloadOnChange::sure(vec![state], move |_| {
                folder.standing().is_ok_and(|standing| standing.is_some_and(|standing| standing.claimed))
            }),
            tokens: ReloadOnChange::sure(vec![fragment], tokens),
        }))
    }

    /// Whether this is an appliance, claimed or not.
    pub fn is_appliance(&self) -> bool {
        self.0.is_some()
    }

    pub fn is_claimed(&self) -> bool {
        self.0.as_ref().is_none_or(|known| known.claimed || *known.standing.get())
    }

    /// The tokens of an owner who claimed the machine while this server ran; others are in its settings.
    pub fn tokens(&self) -> Option<Arc<Vec<TokenSetting>>> {
        self.0.as_ref().filter(|known| !known.claimed && *known.standing.get()).map(|known| known.tokens.get())
    }

    /// # Errors
    /// `permission_denied` for everybody, including root, while this machine has no owner.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.is_claimed() {
            return Ok(());
        }
        Err(ToolError::denied("this machine is unclaimed: it has no owner yet, and serves nobody")
            .with("unclaimed", true)
            .hint(
                "read the code and the fingerprint from its screen or console, then: raspi-mcp claim https://HOST:PORT --fingerprint \
                 sha256:... --code ... (docs/claim.md)",
            ))
    }
}

fn tokens(files: &[PathBuf]) -> Vec<TokenSetting> {
    let Ok(text) = fs::read_to_string(&files[0]) else { return Vec::new() };
    match toml::from_str::<Fragment>(&text) {
        Ok(fragment) => fragment.access.tokens,
        Err(error) => {
            // Log the position and the kind of error, never the file's text.
            tracing::error!(file = %files[0].display(), error = error.message(), "the owner's tokens are not understood");
            Vec::new()
        }
    }
}
