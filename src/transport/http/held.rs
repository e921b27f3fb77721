//! The body of an answer, which marks its connection as used until it was sent.

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use contract::access::seats::ConnectionUse;
use hyper::body::{Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// A body, and a value that is dropped at its end.
pub struct HeldBody {
    body: Body,
    _in_use: ConnectionUse,
}

impl HeldBody {
    pub fn new(body: Body, in_use: ConnectionUse) -> Self {
        Self { body, _in_use: in_use }
    }
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
