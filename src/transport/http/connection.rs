//! One HTTP/1.1 connection of hyper, and whose share of a listener's connections it takes. Every listener uses this type, so
//! that hyper's state machine is compiled once.

use super::{held::HeldBody, stream::HttpStream};
use crate::authentication::refusals::SourceNetwork;
use contract::config::is_loopback;
use hyper::{
    Request, Response,
    body::Incoming,
    server::conn::http1::{Builder, UpgradeableConnection},
    service::Service,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, future::Future, net::IpAddr, pin::Pin, time::Duration};

type Answering = Pin<Box<dyn Future<Output = Result<Response<HeldBody>, Infallible>> + Send>>;

/// What answers the requests of a connection.
pub struct Answerer(Box<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>);

impl Answerer {
    pub fn new<F>(answer: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response<HeldBody>> + Send + 'static,
    {
        Self(Box::new(move |request| {
            let answer = answer(request);
            Box::pin(async move { Ok(answer.await) })
        }))
    }
}

impl Service<Request<Incoming>> for Answerer {
    type Response = Response<HeldBody>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        (self.0)(request)
    }
}

/// The party of a new connection from `from`, and how many connections it may have: `here` if that is this machine, where a
/// proxy or a tunnel may bring everybody's, else `network`.
pub fn share(from: IpAddr, here: usize, network: usize) -> (String, usize) {
    match is_loopback(from) {
        true => ("this machine".into(), here),
        false => (SourceNetwork::of(from).to_string(), network),
    }
}

/// A connection of at most `buffer` bytes for a request's head, which must be complete `head` after the connection is
/// ready for one. `head` also closes idle keep-alive connections.
pub fn connection(
    stream: HttpStream,
    head: Duration,
    buffer: usize,
    answerer: Answerer,
) -> UpgradeableConnection<TokioIo<HttpStream>, Answerer> {
    Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(buffer)
        .serve_connection(TokioIo::new(stream), answerer)
        .with_upgrades()
}
