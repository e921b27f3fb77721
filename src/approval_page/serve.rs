//! The listener of the approval page.

use super::assets;
use crate::{
    tls::shown::ServedCertificate,
    transport::http::{
        approvals,
        connection::{Answerer, connection, share},
        held::HeldBody,
        signatures::WrongSignatures,
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
use contract::access::seats::{Seat, Seats};
use hyper::body::Incoming;
use std::{net::IpAddr, sync::Arc, time::Duration};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Connections at a time. When all are taken, an idle one is closed for a new one, first one of whoever has most.
const MAX_CONNECTIONS: usize = 32;
/// Those of one network, which may be one peer. A phone opens six at most.
const OF_ONE_NETWORK: usize = MAX_CONNECTIONS / 4;
/// Those that come from this machine: a tunnel or a proxy brings everybody's.
const OF_THIS_MACHINE: usize = MAX_CONNECTIONS / 2;
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
    agent: AgentLink,
    tls: ServedCertificate,
    /// Who sent signatures that did not count.
    wrong: WrongSignatures,
}

impl Page {
    pub fn new(agent: AgentLink, tls: ServedCertificate) -> Self {
        Self { agent, tls, wrong: WrongSignatures::default() }
    }

    /// The fingerprint of the certificate that is shown now.
    pub fn fingerprint(&self) -> String {
        self.tls.now().fingerprint.to_string()
    }
}

/// Serves until `stop` or, with `idle`, until nobody was connected for so long.
pub async fn serve(page: Arc<Page>, listener: TcpListener, idle: Option<Duration>, stop: CancellationToken) {
    let (seats, visits) = (Seats::new(MAX_CONNECTIONS), TaskTracker::new());
    // Closed only for `nobody`: visits are tracked all the same.
    visits.close();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
            () = nobody(&visits, idle) => return,
        };
        let (stream, from) = match accepted {
            Ok((stream, address)) => (stream, address.ip().to_canonical()),
            Err(error) => {
                tracing::warn!(%error, "the approval page cannot accept a connection");
                stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                continue;
            }
        };
        let (party, most) = share(from, OF_THIS_MACHINE, OF_ONE_NETWORK);
        let seat = match seats.sit(&party, most) {
            Ok(seat) => seat,
            Err(full) => {
                tracing::debug!(%from, ?full, "closed a connection: there is no place for it");
                continue;
            }
        };
        let (page, stop) = (Arc::clone(&page), stop.clone());
        base::task::spawn_on(&visits, async move {
            let visit = async {
                tokio::select! {
                    biased;
                    () = seat.evicted() => {}
                    () = converse(page, stream, from, &seat) => {}
                }
            };
            let _ = stop.run_until_cancelled(tokio::time::timeout(LIFE, visit)).await;
        });
    }
}

/// Returns when no connection was open for `idle`; never without it.
async fn nobody(visits: &TaskTracker, idle: Option<Duration>) {
    let Some(idle) = idle else { return std::future::pending().await };
    visits.wait().await;
    tokio::time::sleep(idle).await;
}

async fn converse(page: Arc<Page>, stream: TcpStream, from: IpAddr, seat: &Arc<Seat>) {
    let greeted = HttpStream::greet(Wire::Tcp(stream), Some(Arc::clone(seat)), Some(&page.tls));
    let Some(stream) = greeted.await else { return };
    let place = Arc::clone(seat);
    let answerer = Answerer::new(move |request: hyper::Request<Incoming>| {
        let (page, in_use) = (Arc::clone(&page), place.in_use());
        // In use until the whole answer was sent.
        async move { answer(&page, from, request.map(Body::new)).await.map(|body| HeldBody::new(body, in_use)) }
    });
    let connection = connection(stream, IDLE, HEAD_BUFFER, answerer);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of the approval page broke");
    }
}

async fn answer(page: &Page, from: IpAddr, request: Request) -> Response<Body> {
    if is_of_this_origin(request.headers()) {
        return answer_own(page, from, request).await;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    match origin.filter(|_| approvals::is_at(request.uri().path())) {
        Some(origin) if is_approvers(page, &origin).await => answer_elsewhere(page, from, origin, request).await,
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
async fn answer_elsewhere(page: &Page, from: IpAddr, origin: HeaderValue, request: Request) -> Response<Body> {
    let is_preflight = request.method() == Method::OPTIONS;
    // Some browsers ask before a page of the internet reaches into a local network.
    let is_private = request.headers().contains_key("access-control-request-private-network");
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { answer_own(page, from, request).await };
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

async fn answer_own(page: &Page, from: IpAddr, request: Request) -> Response<Body> {
    if approvals::is_at(request.uri().path()) {
        return assets::protected(approvals::answer(&page.agent, &page.wrong, from, PATIENCE, request).await);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_a_quarter_of_the_connections_and_this_machine_half() {
        for (from, party, most) in [
            ("127.0.0.9", "this machine", 16),
            ("::1", "this machine", 16),
            ("192.0.2.7", "192.0.2.7", 8),
            ("2001:db8:0:1:2::3", "2001:db8:0:1::/64", 8),
        ] {
            let shared = share(from.parse().unwrap(), OF_THIS_MACHINE, OF_ONE_NETWORK);
            assert_eq!(shared, (party.to_owned(), most), "{from}");
        }
    }
}
