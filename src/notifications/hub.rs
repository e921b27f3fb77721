//! The receivers, what they are told, and what was told already.

use super::{
    asks::{AskVerdict, AskWindow},
    event::Event,
    message::Message,
    post::{Outcome, Post},
    queue::Queue,
    report::WebhookReport,
    told::{Mark, Told},
    worker::{self, Carrier},
};
use base::{
    clock::Wall,
    error::ToolError,
    os::{Root, blocking},
};
use contract::{
    access::caller::Caller,
    config::{NewsKind, NotificationSettings, Settings},
};
use futures::future::BoxFuture;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

pub struct Hub {
    settings: NotificationSettings,
    /// One for each receiver, in the order of the settings.
    queues: Vec<Queue>,
    root: Root,
    wall: Wall,
    asks: Mutex<AskWindow>,
    /// What was told, messages that still wait included.
    told: Mutex<Told>,
    /// What a restart is to remember: without those that wait.
    kept: tokio::sync::Mutex<Told>,
    file: PathBuf,
}

impl Hub {
    pub fn new(settings: &Settings, root: &Root, wall: Wall) -> Self {
        let file = settings.places.state_dir.join("notifications.json");
        let told = Told::load(&file);
        Self {
            queues: settings.notifications.webhooks.iter().map(|_| Queue::default()).collect(),
            settings: settings.notifications.clone(),
            root: root.clone(),
            wall,
            asks: Mutex::default(),
            told: Mutex::new(told.clone()),
            kept: tokio::sync::Mutex::new(told),
            file,
        }
    }

    /// The root of the machine's files.
    pub fn root(&self) -> &Root {
        &self.root
    }

    pub fn receivers(&self) -> usize {
        self.queues.len()
    }

    /// Whether somebody is told of this.
    pub fn wants(&self, kind: NewsKind) -> bool {
        self.settings.wants(kind)
    }

    /// What `judge` says of what was told, at the time that it gets, in milliseconds since 1970 UTC.
    pub fn told<T>(&self, judge: impl FnOnce(&Told, i64) -> T) -> T {
        judge(&lock(&self.told), self.wall.now_ms())
    }

    /// Remembers something that no message is about.
    pub async fn remember(&self, mark: Mark) {
        lock(&self.told).note(mark.clone());
        self.keep(mark).await;
    }

    /// Queues a message for all who want it.
    pub fn tell(&self, event: Event, mark: Option<Mark>) {
        mark.iter().for_each(|mark| lock(&self.told).note(mark.clone()));
        let message = match Message::new(event, self.wall.now_ms(), mark) {
            Ok(message) => Arc::new(message),
            Err(error) => return tracing::error!(%error, "news could not be written down"),
        };
        self.wanting(message.event.kind()).for_each(|queue| queue.push(Arc::clone(&message)));
    }

    pub fn ask_opened(&self, tool: &str, ask_id: &str, expires_ms: i64, caller: &Caller) {
        if !self.wants(NewsKind::AskOpened) {
            return;
        }
        let verdict = lock(&self.asks).judge(ask_id, caller, Instant::now());
        match verdict {
            AskVerdict::Known => {}
            AskVerdict::TooMany => self.wanting(Some(NewsKind::AskOpened)).for_each(Queue::lose),
            AskVerdict::Tell => {
                let event = Event::AskOpened { tool: tool.to_owned(), ask_id: ask_id.to_owned(), expires_ms };
                self.tell(event, None);
            }
        }
    }

    /// The queues of those who want this.
    fn wanting(&self, kind: Option<NewsKind>) -> impl Iterator<Item = &Queue> {
        let wants = move |at: &usize| kind.is_none_or(|kind| self.settings.webhooks[*at].wants(kind));
        (0..self.queues.len()).filter(wants).map(|at| &self.queues[at])
    }

    pub fn reports(&self) -> Vec<WebhookReport> {
        let named = self.queues.iter().zip(&self.settings.webhooks);
        named.map(|(queue, webhook)| queue.report(&webhook.name)).collect()
    }

    /// Serves one receiver, for ever.
    pub async fn serve(&self, at: usize) {
        let post = Post::to(&self.settings.webhooks[at], &self.settings.page, &self.root);
        let retry = Duration::from_secs(u64::from(self.settings.retry_hours) * 3600);
        worker::run(&self.queues[at], &mut Web { hub: self, post }, retry, &self.wall).await;
    }

    /// Writes down a mark, so that it survives a restart.
    async fn keep(&self, mark: Mark) {
        let mut kept = self.kept.lock().await;
        kept.note(mark);
        let (told, file) = (kept.clone(), self.file.clone());
        let saved = blocking::run("notifications", move |_| {
            told.save(&file).map_err(|error| ToolError::unavailable(format!("{}: {error}", file.display())))
        });
        if let Err(error) = saved.await {
            tracing::warn!(%error, "what was told cannot be kept; it may be told again after a restart");
        }
    }
}

/// The receiver behind an address.
struct Web<'a> {
    hub: &'a Hub,
    post: Post,
}

impl Carrier for Web<'_> {
    fn carry<'a>(&'a mut self, message: &'a Message, dropped: u64, now_ms: i64) -> BoxFuture<'a, Outcome> {
        Box::pin(self.post.send(message, dropped, now_ms))
    }
    fn rest(&mut self) {
        self.post.rest();
    }
    fn settled<'a>(&'a mut self, message: &'a Message) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // From now on only.
            if let Some(mark) = message.mark.clone() {
                self.hub.keep(mark).await;
            }
        })
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is complete before any code can panic.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
