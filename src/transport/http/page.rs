//! The page at `/` and what it calls below `/page/`.
//!
//! Its files are served to anybody that may reach this server; all else needs a session, and headers that only the page's
//! own requests have. The session's cookie is read here and nowhere else.

use super::{
    App, PeerAddress,
    authenticator::{AuthenticatedCaller, AuthenticationError},
    exchange, is_probe, not_allowed, post, refused,
};
use crate::{
    authentication::tokens::principal,
    metrics::RefusalReason,
    page::{self, assets, events, headers, notice, origin, sessions},
    rpc::mcp::http::Endpoint,
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    response::IntoResponse,
};
use base::{clock, error::ToolError};
use contract::access::{
    caller::{ANONYMOUS, Caller},
    seats::Seat,
};
use futures::StreamExt;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use time::OffsetDateTime;
use tokio::time::Instant;

/// The credential that a login showed: its principal, and when it expires.
#[derive(Clone)]
struct Credential(String, Option<OffsetDateTime>);

/// Whether this module answers the request: `/` for browsers only, so that programs get JSON there as elsewhere.
pub(super) fn is_for(request: &Request) -> bool {
    let path = request.uri().path();
    path.starts_with(page::BELOW) || (path == page::ROOT && is_probe(request) && wants_html(request.headers()))
}

fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|line| line.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// Answers it.
pub(super) async fn answer(app: Arc<App>, request: Request, peer: PeerAddress, seat: Arc<Seat>) -> Response<Body> {
    let is_root = request.uri().path() == page::ROOT;
    let mut response = if is_root { root(&app, &request, peer) } else { below(app, request, peer, seat).await };
    headers::add(response.headers_mut());
    response
}

/// The page itself, or why there is none, as a page.
fn root(app: &App, request: &Request, peer: PeerAddress) -> Response<Body> {
    if let Err(refusal) = app.guard.check_host(request.uri(), request.headers(), |host| app.goes_by(host, peer)) {
        app.server.metrics.refused(RefusalReason::Origin);
        return html(StatusCode::FORBIDDEN, notice::of(&refusal));
    }
    app.note_outside(request, peer);
    if app.server.pipeline.services.ownership.check().is_err() {
        app.server.metrics.refused(RefusalReason::Unauthenticated);
        return html(StatusCode::FORBIDDEN, notice::UNCLAIMED.to_owned());
    }
    match assets::ASSETS.first() {
        Some(page) if app.page => file(page, "no-cache"),
        _ => html(StatusCode::NOT_FOUND, notice::of(&switched_off())),
    }
}

async fn below(app: Arc<App>, mut request: Request, peer: PeerAddress, seat: Arc<Seat>) -> Response<Body> {
    if let Err(refusal) = app.guard.check_host(request.uri(), request.headers(), |host| app.goes_by(host, peer)) {
        app.server.metrics.refused(RefusalReason::Origin);
        return post::refuse(StatusCode::FORBIDDEN, &refusal);
    }
    let is_outside = app.note_outside(&request, peer);
    let services = &app.server.pipeline.services;
    if let Err(unclaimed) = services.ownership.check() {
        app.server.metrics.refused(RefusalReason::Unauthenticated);
        return post::refuse(StatusCode::FORBIDDEN, &unclaimed);
    }
    if !app.page {
        return post::refuse(StatusCode::NOT_FOUND, &switched_off());
    }
    let path = request.uri().path();
    if let Some(asset) = assets::at(path) {
        let probe = is_probe(&request);
        return if probe { file(asset, "public, max-age=31536000, immutable") } else { not_allowed("GET, HEAD") };
    }
    let scheme = if app.tls.is_some() { "https" } else { "http" };
    if let Err(refusal) = origin::check(request.method(), request.headers(), scheme) {
        app.server.metrics.refused(RefusalReason::Origin);
        return post::refuse(StatusCode::FORBIDDEN, &refusal);
    }
    services.tokens.refresh();
    let signs_in = path == page::SESSION && *request.method() == Method::POST;
    let known = if signs_in {
        app.identify(request.headers(), is_outside, peer).map(|AuthenticatedCaller { caller, until }| {
            request.extensions_mut().insert(Credential(caller.principal.clone(), until));
            AuthenticatedCaller { caller: caller.at_the_page(), until }
        })
    } else {
        // A session that began without a token is this machine's.
        let began_here = |session: &sessions::Session| session.credential != ANONYMOUS || !is_outside;
        match session(&app, request.headers()).filter(began_here) {
            Some(session) => {
                let (caller, left) =
                    ((*session.caller).clone(), session.left(Instant::now(), OffsetDateTime::now_utc()));
                request.extensions_mut().insert(session);
                Ok(AuthenticatedCaller { caller, until: Some(OffsetDateTime::now_utc() + left) })
            }
            // How a page that was just loaded learns that it has to ask for a token.
            None if path == page::SESSION && *request.method() == Method::GET => return described(None),
            None => Err(AuthenticationError::Missing),
        }
    };
    match known {
        Ok(known) => app.admitted(request, known, seat).await,
        Err(unknown) => {
            app.server.metrics.refused(RefusalReason::Unauthenticated);
            refused::answer(&app, unknown, peer).await
        }
    }
}

/// Serves a request of somebody known, below `/page/`.
pub(super) async fn dispatch(app: &Arc<App>, request: Request) -> Response<Body> {
    match (request.uri().path(), request.method().as_str()) {
        (page::SESSION, "POST") => sign_in(app, &request),
        (page::SESSION, "GET") => described(request.extensions().get()),
        (page::SESSION, "DELETE") => sign_out(app, request.extensions().get()),
        (page::SESSION, _) => not_allowed("GET, POST, DELETE"),
        (page::CALL, "POST") => post::serve(app, Endpoint::Plain, request).await,
        (page::CALL, _) => not_allowed("POST"),
        (page::EVENTS, "GET") => follow(app, &request),
        (page::EVENTS, _) => not_allowed("GET"),
        _ => post::refuse(StatusCode::NOT_FOUND, &ToolError::not_found("there is nothing at this path of the page")),
    }
}

/// The session that the request's cookie names, while its credential counts.
fn session(app: &App, headers: &HeaderMap) -> Option<sessions::Session> {
    let found = app.pages.find(sessions::cookie(headers)?, Instant::now(), OffsetDateTime::now_utc())?;
    let services = &app.server.pipeline.services;
    // The token of an owner who claimed the machine while this server ran has no pass that tells of its end.
    let of_owner = found.caller.pass.is_none() && found.credential.starts_with("token:");
    let counts = !of_owner
        || services.ownership.tokens().is_some_and(|all| all.iter().any(|one| principal(one) == found.credential));
    if !counts {
        app.pages.end(&found);
    }
    counts.then_some(found)
}

fn sign_in(app: &App, request: &Request) -> Response<Body> {
    let (caller, credential) = (request.extensions().get::<Arc<Caller>>(), request.extensions().get::<Credential>());
    let (Some(caller), Some(Credential(name, expires))) = (caller, credential) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let (now, wall) = (Instant::now(), OffsetDateTime::now_utc());
    match app.pages.open(Arc::clone(caller), name, *expires, now, wall) {
        Ok((session, value)) => {
            tracing::info!(principal = caller.principal, "signed in at the page");
            with_cookie(described(Some(&session)), &sessions::set_cookie(value.reveal(), session.left(now, wall)))
        }
        Err(full) => exchange::refused(&full),
    }
}

fn sign_out(app: &App, session: Option<&sessions::Session>) -> Response<Body> {
    if let Some(session) = session {
        app.pages.end(session);
        tracing::info!(principal = session.caller.principal, "signed out at the page");
    }
    with_cookie(described(None), &sessions::set_cookie("", Duration::ZERO))
}

fn described(session: Option<&sessions::Session>) -> Response<Body> {
    let body: Value = match session {
        Some(session) => {
            let wall = OffsetDateTime::now_utc();
            json!({
                "open": true,
                "principal": session.caller.principal,
                "role": session.caller.role,
                "until": clock::stamp(wall + session.left(Instant::now(), wall)),
                "version": env!("CARGO_PKG_VERSION"),
            })
        }
        None => json!({ "open": false }),
    };
    post::json(StatusCode::OK, body.to_string().into_bytes())
}

/// The stream of changes, until the session or the server ends.
fn follow(app: &Arc<App>, request: &Request) -> Response<Body> {
    let Some(session) = request.extensions().get::<sessions::Session>() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    match events::open(&app.server, &session.caller) {
        Ok(body) => {
            let (ended, stopped) = (session.ended.clone(), app.server.stop.clone());
            let over = Box::pin(async move {
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = stopped.cancelled() => {}
                }
            });
            let body = Body::from_stream(body.into_data_stream().take_until(over));
            ([(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))], body).into_response()
        }
        Err(full) => exchange::refused(&full),
    }
}

fn file(asset: &assets::Asset, kept: &'static str) -> Response<Body> {
    let all = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type)),
        (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
    ];
    (all, asset.gzip).into_response()
}

fn html(status: StatusCode, text: String) -> Response<Body> {
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], text).into_response()
}

fn with_cookie(mut response: Response<Body>, cookie: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

fn switched_off() -> ToolError {
    ToolError::not_found("the page of this server is switched off").hint("http.page switches it on")
}
