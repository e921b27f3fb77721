//! The listener of the approval page.

use super::assets;
use crate::{
    tls::shown::ServedCertificate,
    transport::http::{
        approvals,
        connection::{Answerer, connection},
        held::HeldBody,
        stream::HttpStream,
    },
};
use agent::AgentLink;
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, Method, Response, StatusCode, header},
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
    let Some(stream) = HttpStream::greet(stream, None, Some(&page.tls)).await else { return };
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
    if !is_of_this_origin(request.headers()) {
        return assets::protected((StatusCode::FORBIDDEN, "requests come from this page only\n").into_response());
    }
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
