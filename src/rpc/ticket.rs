//! A request for a tool on its way through the pipeline, and its answer in the dialect of the request.

use super::{envelope::Id, params::RequestMeta, quote::quote_into, reply};
use crate::registry::{
    answer_meta::AnswerMeta,
    compat::Alias,
    context::ClientPeer,
    entry::Entry,
    names::Dialect,
    pipeline::{Call, CallOutcome, CallTarget},
    progress::{self, ChunkSink, OutputChunk, Progress, Sink, Update},
    tool::ToolOutput,
};
use base::error::ToolError;
use contract::access::caller::Caller;
use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool to run and the form of its answer.
pub struct Ticket {
    pub id: Id,
    pub entry: Arc<Entry>,
    dialect: Dialect,
    modern: bool,
    args: Value,
    alias: Option<&'static Alias>,
    meta: RequestMeta,
}

impl Ticket {
    pub fn new(id: &Id, target: CallTarget, dialect: Dialect, modern: bool, meta: RequestMeta) -> Self {
        let (entry, args, alias) = target;
        Self { id: id.clone(), entry, dialect, modern, args, alias, meta }
    }

    /// Progress sent through `send`: as `notifications/progress` if the caller gave a token, and as `exec/stream` if a
    /// bare call wants its output as it arrives.
    pub fn progress(&self, send: impl Fn(Vec<u8>) + Clone + Send + Sync + 'static) -> Progress {
        let (entry, id) = (Arc::clone(&self.entry), self.id.key());
        let pieces = (!matches!(self.dialect, Dialect::Mcp) && self.args["stream"] == true).then(|| {
            let (send, id) = (send.clone(), id.clone());
            Box::new(move |piece: &OutputChunk<'_>| {
                let mut params = json!(piece);
                params["id"] = json!(id);
                params["ts"] = json!(base::clock::now());
                send(reply::notification("exec/stream", &params));
            }) as ChunkSink
        });
        let steps = self.meta.progress_token.clone().map(|token| {
            Box::new(move |update: &Update| {
                send(reply::notification(
                    "notifications/progress",
                    &progress::params(&token, entry.name(), &id, update),
                ));
            }) as Sink
        });
        Progress::of(steps, pieces)
    }

    /// Splits into the call and what is needed to answer it.
    pub fn start(
        self,
        caller: Arc<Caller>,
        cancel: CancellationToken,
        progress: Progress,
        peer: Option<Arc<dyn ClientPeer>>,
    ) -> (Call, Answerer) {
        let call = Call {
            entry: self.entry,
            caller,
            args: self.args,
            alias: self.alias,
            request_id: self.id.key(),
            correlation_id: self.meta.correlation_id,
            cancel,
            progress,
            peer,
        };
        (call, Answerer { id: self.id, dialect: self.dialect, modern: self.modern })
    }
}

/// Turns the result of a call into the bytes of its answer.
pub struct Answerer {
    id: Id,
    dialect: Dialect,
    modern: bool,
}

impl Answerer {
    pub fn answer(&self, finished: &CallOutcome) -> Vec<u8> {
        match (self.dialect, &finished.result) {
            (Dialect::Mcp, result) => {
                if let Err(error) = result
                    && let Some((code, data)) = error.as_protocol()
                {
                    return reply::error(Some(&self.id), code, &error.message, Some(&data));
                }
                let mut out = Vec::with_capacity(room_for(result));
                reply::open_success(&mut out, &self.id);
                write_mcp_result(&mut out, result, &finished.meta, self.modern);
                reply::close(&mut out);
                out
            }
            (_, Ok(output)) => reply::success(&self.id, &*output.json),
            (Dialect::Dotted, Err(error)) => self.failure(error.code.rpc(), error),
            (Dialect::Slash, Err(error)) => self.failure(error.slash_number(), error),
        }
    }

    fn failure(&self, code: i32, error: &ToolError) -> Vec<u8> {
        reply::error(Some(&self.id), code, &error.message, Some(&error.data()))
    }
}

/// Estimated size of the answer in bytes: the result twice, once of it quoted, plus the envelope.
fn room_for(result: &Result<ToolOutput, ToolError>) -> usize {
    const AROUND: usize = 384;
    AROUND + result.as_ref().map_or(AROUND, |output| output.json.get().len() * 9 / 4)
}

/// Appends the result object of `tools/call`. Its text is the same JSON as `structuredContent`, for clients that read
/// only text; for a failure it is the same as [`ERROR_META`] in `_meta`.
///
/// Written by hand because every answer of every tool passes through here: serde would build, check and copy the quoted
/// text once more each.
fn write_mcp_result(out: &mut Vec<u8>, result: &Result<ToolOutput, ToolError>, meta: &AnswerMeta, modern: bool) {
    let result_type = modern.then_some("complete");
    let payload: Box<RawValue>;
    let (json, more, is_error): (&RawValue, &[Value], bool) = match result {
        Ok(ToolOutput { whole: Some(whole), .. }) => return write_json(out, &completed(whole, meta, result_type)),
        Ok(output) => (&output.json, &output.content, false),
        Err(error) => {
            payload = to_raw_value(&error.payload()).expect("an error is plain data");
            (&payload, &[], true)
        }
    };
    out.push(b'{');
    if let Some(kind) = result_type {
        out.extend_from_slice(b"\"resultType\":");
        write_json(out, kind);
        out.push(b',');
    }
    out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
    quote_into(out, json.get());
    out.push(b'}');
    for block in more {
        out.push(b',');
        write_json(out, block);
    }
    if is_error {
        out.extend_from_slice(b"],\"isError\":true,\"_meta\":");
        write_json(out, &FailedMeta { meta, error: json });
    } else {
        out.extend_from_slice(b"],\"structuredContent\":");
        out.extend_from_slice(json.get().as_bytes());
        out.extend_from_slice(b",\"isError\":false,\"_meta\":");
        write_json(out, meta);
    }
    out.push(b'}');
}

/// `_meta` of a failure.
#[derive(Serialize)]
struct FailedMeta<'a> {
    #[serde(flatten)]
    meta: &'a AnswerMeta,
    /// [`ERROR_META`]
    #[serde(rename = "io.raspi-mcp/error")]
    error: &'a RawValue,
}

fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("answers are plain data with string keys");
}

/// A tool's own result with the common fields of all results.
fn completed(whole: &Value, meta: &AnswerMeta, result_type: Option<&str>) -> Value {
    let mut whole = whole.clone();
    if let Some(fields) = whole.as_object_mut() {
        if let Some(kind) = result_type {
            fields.entry("resultType").or_insert_with(|| json!(kind));
        }
        fields.entry("_meta").or_insert_with(|| json!(meta));
    }
    whole
}

/// A complete result of 2026-07-28 with the common fields of all results.
pub fn with_meta(whole: &Value, meta: &AnswerMeta) -> Value {
    completed(whole, meta, None)
}

/// The result object of `tools/call` as a value, for conversations through rmcp.
pub fn mcp_value(finished: &CallOutcome, modern: bool) -> Value {
    let mut out = Vec::with_capacity(room_for(&finished.result));
    write_mcp_result(&mut out, &finished.result, &finished.meta, modern);
    serde_json::from_slice(&out).expect("what was just written is JSON")
}
