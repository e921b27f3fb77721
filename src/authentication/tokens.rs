//! The valid bearer tokens. A token that is removed from the configuration becomes invalid while the server runs, and
//! the connections opened with it are closed.

use base::os::folders::Folders;
use contract::access::{
    presence::Presence,
    token::{self, TokenError},
};
use contract::config::{Settings, TokenFiles, TokenSetting};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use time::OffsetDateTime;

/// Called with the principals of tokens that have become invalid.
type Ended = Box<dyn Fn(&[String]) + Send + Sync>;

/// The tokens of one server.
#[derive(Default)]
pub struct Tokens {
    held: Mutex<Held>,
    ended: Mutex<Vec<Ended>>,
    follows: OnceLock<Follows>,
}

#[derive(Default)]
struct Held {
    tokens: Vec<TokenSetting>,
    /// By the token's name: ends when the token is revoked or changed.
    passes: HashMap<String, Presence>,
}

/// The files that the tokens come from.
struct Follows {
    folders: Folders,
    files: TokenFiles,
    set_aside: Vec<String>,
}

impl Tokens {
    pub fn of(settings: &Settings) -> Arc<Self> {
        let tokens = Self::default();
        tokens.replace(settings.access.tokens.clone());
        Arc::new(tokens)
    }

    /// Starts following changes of the files. Call it once, within the runtime. The returned future must run as long as
    /// the server.
    ///
    /// # Errors
    /// A sentence, if changes cannot be detected: tokens then stay as they are until the next start.
    pub fn follow(self: &Arc<Self>, settings: &Settings) -> Result<impl Future<Output = ()> + use<>, String> {
        let files = settings.token_files.clone();
        let folders = Folders::watch(files.watched()).map_err(|error| {
            format!("changes of tokens cannot be noticed ({error}); they count from the next start on")
        })?;
        let follows = Follows { folders, files, set_aside: settings.restricted.clone() };
        if self.follows.set(follows).is_err() {
            return Err("tokens are followed already".into());
        }
        // Catches changes made since the settings were read.
        self.read_again();
        let own = Arc::clone(self);
        Ok(async move {
            let Some(follows) = own.follows.get() else { return };
            loop {
                if let Err(error) = follows.folders.ready().await {
                    return tracing::error!(%error, "changes of tokens are not noticed any more; they count from the next start on");
                }
                own.refresh();
            }
        })
    }

    /// Checks whether the files have changed, so that a call right after a change sees the new tokens.
    pub fn refresh(&self) {
        if self.follows.get().is_some_and(|follows| follows.folders.changed()) {
            self.read_again();
        }
    }

    fn read_again(&self) {
        let Some(Follows { files, set_aside, .. }) = self.follows.get() else { return };
        match files.read(set_aside) {
            Ok(kept) => self.replace(kept.into_iter().map(|kept| kept.setting).collect()),
            Err(faults) => {
                tracing::error!(%faults, "the changed configuration is wrong; the tokens stay as they were before")
            }
        }
    }

    /// The token that `presented` is, and a presence that ends when the token becomes invalid.
    ///
    /// # Errors
    /// As [`token::judge`].
    pub fn judge(&self, presented: &str, now: OffsetDateTime) -> Result<(TokenSetting, Option<Presence>), TokenError> {
        let held = self.lock();
        let token = token::judge(&held.tokens, presented, now)?;
        Ok((token.clone(), held.passes.get(&token.name).cloned()))
    }

    /// The routers that a principal's token is good for; `None`: all, or it is no token.
    pub fn devices_of(&self, who: &str) -> Option<Vec<String>> {
        let held = self.lock();
        let token = held.tokens.iter().find(|token| principal(token) == who)?;
        (!token.devices.is_empty()).then(|| token.devices.clone())
    }

    /// Replaces the valid tokens. Connections opened with a token that was removed or changed are closed.
    pub fn replace(&self, tokens: Vec<TokenSetting>) {
        let mut gone = Vec::new();
        {
            let mut held = self.lock();
            let before = std::mem::replace(&mut held.tokens, tokens);
            let Held { tokens, passes } = &mut *held;
            for token in before.iter().filter(|token| !tokens.contains(token)) {
                tracing::info!(token = token.name, "a token was revoked or changed: what it had opened ends");
                gone.push(principal(token));
                if let Some(pass) = passes.remove(&token.name) {
                    pass.leave();
                }
            }
            for token in tokens.iter().filter(|token| !before.contains(token)) {
                passes.insert(token.name.clone(), Presence::default());
            }
        }
        if !gone.is_empty() {
            self.ended().iter().for_each(|ended| ended(&gone));
        }
    }

    /// Calls `ended` for every token that becomes invalid from now on.
    pub fn on_end(&self, ended: impl Fn(&[String]) + Send + Sync + 'static) {
        self.ended().push(Box::new(ended));
    }

    /// Name, role, owner and expiry of each; no hashes.
    pub fn summary(&self) -> serde_json::Value {
        self.lock().tokens.iter().map(TokenSetting::summary).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The principal of a token.
pub fn principal(token: &TokenSetting) -> String {
    format!("token:{}", token.name)
}
