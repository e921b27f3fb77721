//! The bearer tokens that count at this moment. One that is taken out of the configuration stops counting while the server runs,
//! and what was opened with it ends.

use base::os::folders::Folders;
use contract::access::{
    presence::Presence,
    token::{self, Fault},
};
use contract::config::{Settings, TokenFiles, TokenSetting};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use time::OffsetDateTime;

/// Told the principals of tokens that have just stopped counting.
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
    /// By the token's name: gone when it stops counting as it was.
    passes: HashMap<String, Presence>,
}

/// Where the tokens come from.
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

    /// From now on changed files count. Call it once, within the runtime. Returns what is to be awaited for as long as the server runs.
    ///
    /// # Errors
    /// A sentence, when changes cannot be noticed: then tokens stay what they are until the next start.
    pub fn follow(self: &Arc<Self>, settings: &Settings) -> Result<impl Future<Output = ()> + use<>, String> {
        let files = settings.token_files.clone();
        let folders = Folders::watch(files.watched()).map_err(|error| {
            format!("changes of tokens cannot be noticed ({error}); they count from the next start on")
        })?;
        let follows = Follows { folders, files, set_aside: settings.restricted.clone() };
        if self.follows.set(follows).is_err() {
            return Err("tokens are followed already".into());
        }
        // What has changed since the settings were read.
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

    /// Looks whether the files have changed; a call that comes right after a change finds the new tokens.
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

    /// Whose token `presented` is, and what is gone when it stops counting.
    ///
    /// # Errors
    /// As [`token::judge`].
    pub fn judge(&self, presented: &str, now: OffsetDateTime) -> Result<(TokenSetting, Option<Presence>), Fault> {
        let held = self.lock();
        let token = token::judge(&held.tokens, presented, now)?;
        Ok((token.clone(), held.passes.get(&token.name).cloned()))
    }

    /// From now on these count. What was opened with one that is not among them as it was ends.
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

    /// `ended` is told of every token that stops counting from now on.
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

/// The caller that a token stands for.
pub fn principal(token: &TokenSetting) -> String {
    format!("token:{}", token.name)
}
