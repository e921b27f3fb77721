//! The page: its files, its session, what its cookie is good for, and what of it is live.

mod events;
mod files;
mod origin;
mod outside;
mod session;

use crate::support::served::{Pi, token};
use contract::{config::Settings, meta::Role};
use raspi_mcp::page::sessions::COOKIE;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// A browser before the page of a server: it sends what browsers send, and keeps its cookie.
struct Browser {
    client: reqwest::Client,
    address: SocketAddr,
    cookie: Option<String>,
}

impl Browser {
    fn of(pi: &Pi) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { client: reqwest::Client::new(), address: pi.address(), cookie: None }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request without the headers of a page, with the cookie.
    fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, self.url(path));
        match &self.cookie {
            Some(cookie) => request.header("cookie", format!("{COOKIE}={cookie}")),
            None => request,
        }
    }

    /// A request as the page makes it.
    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let has_origin = method != Method::GET;
        let request = self.bare(method, path).header("sec-fetch-site", "same-origin");
        if has_origin { request.header("origin", format!("http://{}", self.address)) } else { request }
    }

    /// Signs in; the answer, with the cookie kept if there is one.
    async fn signs_in(&mut self, token: Option<&str>) -> Response {
        let request = self.ask(Method::POST, "/page/session");
        let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
        let answer = request.send().await.unwrap();
        if let Some(set) = answer.headers().get("set-cookie") {
            let value = set.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap().1;
            self.cookie = (!value.is_empty()).then(|| value.to_owned());
        }
        answer
    }

    async fn signed_in(pi: &Pi, token: &str) -> Self {
        let mut browser = Self::of(pi);
        let answer = browser.signs_in(Some(token)).await;
        assert_eq!(answer.status(), 200);
        browser
    }

    /// One call; the status and the body.
    async fn calls(&self, method: &str, params: Value) -> (u16, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.ask(Method::POST, "/page/call").header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn session(&self) -> Value {
        self.ask(Method::GET, "/page/session").send().await.unwrap().json().await.unwrap()
    }
}

/// A server that asks for a token, and tokens of an admin and a reader.
async fn served(change: impl FnOnce(&mut Settings)) -> (Pi, String, String) {
    let ((admin, one), (reader, two)) = (token("admin", Role::Admin), token("reader", Role::ReadOnly));
    let pi = Pi::with(|settings| {
        settings.access.require_token = true;
        settings.access.tokens = vec![one, two];
        change(settings);
    })
    .await;
    (pi, admin, reader)
}
