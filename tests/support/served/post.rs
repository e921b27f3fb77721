//! The HTTP side of a conversation: each message a POST of its own, its answers read from JSON or an event stream.

use super::wire::ToInbox;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;

/// Sends POSTs; each runs beside the others, and is cut off when this is dropped.
pub struct Poster {
    /// How it connects: with what trust, from where.
    pub client: reqwest::Client,
    url: String,
    pub headers: Vec<(String, String)>,
    session: Arc<Mutex<Option<String>>>,
    to_inbox: ToInbox,
    posts: JoinSet<()>,
}

impl Poster {
    pub fn new(url: String, to_inbox: ToInbox) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            client: reqwest::Client::new(),
            url,
            headers: Vec::new(),
            session: Arc::default(),
            to_inbox,
            posts: JoinSet::new(),
        }
    }

    pub fn send(&mut self, body: Vec<u8>) {
        let mut post = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body);
        if let Some(session) = self.session() {
            post = post.header("mcp-session-id", session);
        }
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        let (to_inbox, session) = (self.to_inbox.clone(), Arc::clone(&self.session));
        self.posts.spawn(async move {
            let response = match post.send().await {
                Ok(response) => response,
                Err(error) => panic!("the POST failed: {error:?}"),
            };
            if let Some(id) = response.headers().get("mcp-session-id") {
                *session.lock().unwrap() = Some(id.to_str().unwrap().to_owned());
            }
            deliver(response, &to_inbox).await;
        });
    }

    pub fn session(&self) -> Option<String> {
        self.session.lock().unwrap().clone()
    }

    pub fn join_session(&mut self, id: Option<String>) {
        *self.session.lock().unwrap() = id;
    }

    /// Waits for what was sent.
    pub async fn join(&mut self) {
        while let Some(done) = self.posts.join_next().await {
            done.unwrap();
        }
    }

    /// Opens the stream of the session; returns once the server has opened its end.
    pub async fn listen(&self) -> reqwest::Response {
        let get = self.client.get(&self.url).header("accept", "text/event-stream");
        let response = get.header("mcp-session-id", self.session().expect("a session")).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response
    }
}

async fn deliver(mut response: reqwest::Response, to_inbox: &ToInbox) {
    let status = Some(response.status().as_u16());
    let is_stream = response
        .headers()
        .get("content-type")
        .is_some_and(|value| value.to_str().unwrap().starts_with("text/event-stream"));
    if !is_stream {
        let body = response.bytes().await.unwrap_or_default();
        if !body.is_empty() {
            let _ = to_inbox.send((status, serde_json::from_slice(&body).expect("the server sends JSON")));
        }
        return;
    }
    let mut text = String::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        text.push_str(std::str::from_utf8(&chunk).expect("events are UTF-8"));
        while let Some((line, rest)) = text.split_once('\n') {
            if let Some(message) = line.strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data).ok())
            {
                let _ = to_inbox.send((status, message));
            }
            text = rest.to_owned();
        }
    }
}
