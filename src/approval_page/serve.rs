//! The listener of the approval page.

use super::assets;
use crate::{
    tls::shown::ServedCertificate,
    transport::http::{
        approvals,
        connection::{Answerer, connection},
        held::HeldBody,
        stream::HttpStream,
        wire::Wire,
    },
};
use agent::{
    AgentLink,
    operations::approvals::{DescribeDevice, DeviceRequest},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    response::IntoResponse,
};
use hyper::body::Incoming;
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, net::TcpStream, sync::Semaphore};
use tokio_util::sync::CancellationToken;

/// Connections at a time. More wait: the kernel queues them.
const MAX_CONNECTIONS: usize = 32;
/// Longest silence of a connection between two requests.
const IDLE: Duration = Duration::from_secs(60);
/// Longest head of a request, in bytes.
const HEAD_BUFFER: usize = 16 * 1024;
/// Longest life of one connection. A browser opens another one; whoever holds places loses them.
const LIFE: Duration = Duration::from_secs(600);
/// Time for the body of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after an error of `accept`, such as too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// What the page serves with.
pub struct Page {
    pub agent: AgentLink,
    pub tls: ServedCertificate,
}

/// Serves until `stop` or, with `idle`, until nobody was connected for so long.
pub async fn serve(page: Arc<Page>, listener: TcpListener, idle: Option<Duration>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        // In this order: who waits for all places must not stand before who accepts.
        let (place, accepted) = tokio::select! {
            biased;
            next = next => next,
            () = stop.cancelled() => return,
            () = nobody(&places, idle) => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the approval page cannot accept a connection");
                stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                continue;
            }
        };
        let (page, stop) = (Arc::clone(&page), stop.clone());
        base::task::spawn(async move {
            let life = tokio::time::timeout(LIFE, converse(page, stream));
            let _ = stop.run_until_cancelled(life).await;
            drop(place);
        });
    }
}

/// Returns when no connection was open for `idle`; never without it.
async fn nobody(places: &Semaphore, idle: Option<Duration>) {
    let Some(idle) = idle else { return std::future::pending().await };
    // All places but the next one's are free only while no connection is open.
    drop(places.acquire_many(MAX_CONNECTIONS as u32 - 1).await);
    tokio::time::sleep(idle).await;
}

async fn converse(page: Arc<Page>, stream: TcpStream) {
    let Some(stream) = HttpStream::greet(Wire::Tcp(stream), None, Some(&page.tls)).await else { return };
    let answerer = Answerer::new(move |request: hyper::Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { answer(&page, request.map(Body::new)).await.map(HeldBody::uncounted) }
    });
    let connection = connection(stream, IDLE, HEAD_BUFFER, answerer);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of the approval page broke");
    }
}

async fn answer(page: &Page, request: Request) -> Response<Body> {
    if is_of_this_origin(request.headers()) {
        return answer_own(page, request).await;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    match origin.filter(|_| approvals::is_at(request.uri().path())) {
        Some(origin) if is_approvers(page, &origin).await => answer_elsewhere(page, origin, request).await,
        _ => assets::protected(
            (StatusCode::FORBIDDEN, "requests come from this page, or from the origin of an enrolled approver\n")
                .into_response(),
        ),
    }
}

/// Whether an approver is enrolled whose page has this origin.
async fn is_approvers(page: &Page, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let request = DeviceRequest { origin: Some(origin.to_owned()) };
    page.agent.call::<DescribeDevice>(request).await.is_ok_and(|device| device.knows_origin)
}

/// Answers the page of an approver at another origin (Fetch, "CORS protocol"). It sends no cookies, and there are none.
async fn answer_elsewhere(page: &Page, origin: HeaderValue, request: Request) -> Response<Body> {
    let is_preflight = request.method() == Method::OPTIONS;
    // Some browsers ask before a page of the internet reaches into a local network.
    let is_private = request.headers().contains_key("access-control-request-private-network");
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { answer_own(page, request).await };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    if is_preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        if is_private {
            headers.insert("access-control-allow-private-network", HeaderValue::from_static("true"));
        }
    }
    response
}

async fn answer_own(page: &Page, request: Request) -> Response<Body> {
    if approvals::is_at(request.uri().path()) {
        return assets::protected(approvals::answer(&page.agent, PATIENCE, request).await);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    assets::answer(request.uri().path())
}

/// Whether a request names no origin, as a program's does, or the one it was sent to.
fn is_of_this_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let host = headers.get(header::HOST).map(|host| host.as_bytes()).unwrap_or_default();
    origin.as_bytes().strip_prefix(b"https://".as_slice()).is_some_and(|origin| origin == host)
}
