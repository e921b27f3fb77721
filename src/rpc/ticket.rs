//! A request for a tool on its way through the pipeline, and its answer in the dialect it was asked in.

use super::{envelope::Id, params::Meta, quote::quote, reply};
use crate::{
    access::caller::Caller,
    error::ToolError,
    registry::{
        answer_meta::AnswerMeta,
        context::Peer,
        names::Dialect,
        pipeline::{Call, Finished},
        progress::{self, Progress},
        tool::{Entry, Output},
    },
};
use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool to run and how to answer.
pub struct Ticket {
    pub id: Id,
    pub entry: &'static Entry,
    dialect: Dialect,
    modern: bool,
    args: Value,
    meta: Meta,
}

impl Ticket {
    pub fn new(id: &Id, entry: &'static Entry, dialect: Dialect, modern: bool, args: Value, meta: Meta) -> Self {
        Self { id: id.clone(), entry, dialect, modern, args, meta }
    }

    /// Progress that goes out through `send` as `notifications/progress`, when the caller gave a token.
    pub fn progress(&self, send: impl Fn(Vec<u8>) + Send + Sync + 'static) -> Progress {
        let Some(token) = self.meta.progress_token.clone() else { return Progress::default() };
        let (tool, id) = (self.entry.name(), self.id.key());
        Progress::to(Box::new(move |update| {
            send(reply::notification("notifications/progress", &progress::params(&token, tool, &id, update)));
        }))
    }

    /// Splits into the call and what is needed to answer it.
    pub fn start(
        self,
        caller: Arc<Caller>,
        cancel: CancellationToken,
        progress: Progress,
        peer: Option<Arc<dyn Peer>>,
    ) -> (Call, Answerer) {
        let call = Call {
            entry: self.entry,
            caller,
            args: self.args,
            request_id: self.id.key(),
            correlation_id: self.meta.correlation_id,
            cancel,
            progress,
            peer,
        };
        (call, Answerer { id: self.id, dialect: self.dialect, modern: self.modern })
    }
}

/// Turns the end of a call into the bytes that answer it.
pub struct Answerer {
    id: Id,
    dialect: Dialect,
    modern: bool,
}

impl Answerer {
    pub fn answer(&self, finished: &Finished) -> Vec<u8> {
        match (self.dialect, &finished.result) {
            (Dialect::Mcp, Err(ToolError { protocol: Some(protocol), message, .. })) => {
                reply::error(Some(&self.id), protocol.code, message, Some(&protocol.data))
            }
            (Dialect::Mcp, result) => reply::success(&self.id, &mcp_result(result, &finished.meta, self.modern)),
            (_, Ok(output)) => reply::success(&self.id, &*output.json),
            (Dialect::Dotted, Err(error)) => self.failure(error.code.rpc(), error),
            (Dialect::Slash, Err(error)) => self.failure(error.code.number(), error),
        }
    }

    fn failure(&self, code: i32, error: &ToolError) -> Vec<u8> {
        reply::error(Some(&self.id), code, &error.message, Some(&error.data()))
    }
}

/// The result object of `tools/call`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum McpResult<'a> {
    Whole(Value),
    Usual(Usual<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usual<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<Block<'a>>,
    structured_content: Structured<'a>,
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: &'a AnswerMeta,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text { r#type: &'static str, text: Box<RawValue> },
    Raw(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Structured<'a> {
    Output(&'a RawValue),
    Error(Box<RawValue>),
}

/// The text is the same JSON as `structuredContent`, for clients that read only text.
pub fn mcp_result<'a>(result: &'a Result<Output, ToolError>, meta: &'a AnswerMeta, modern: bool) -> McpResult<'a> {
    let text = |json: &RawValue| Block::Text { r#type: "text", text: quote(json) };
    let result_type = modern.then_some("complete");
    match result {
        Ok(Output { whole: Some(whole), .. }) => McpResult::Whole(completed(whole, meta, result_type)),
        Ok(output) => {
            let mut content = vec![text(&output.json)];
            content.extend(output.content.iter().map(Block::Raw));
            McpResult::Usual(Usual {
                result_type,
                content,
                structured_content: Structured::Output(&output.json),
                is_error: false,
                meta,
            })
        }
        Err(error) => {
            let payload = to_raw_value(&error.payload()).expect("an error is plain data");
            let content = vec![text(&payload)];
            McpResult::Usual(Usual {
                result_type,
                content,
                structured_content: Structured::Error(payload),
                is_error: true,
                meta,
            })
        }
    }
}

/// A tool's own result, with what every result has.
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

/// `mcp_result` as a value, for the conversations that rmcp carries.
pub fn mcp_value(finished: &Finished, modern: bool) -> Value {
    json!(mcp_result(&finished.result, &finished.meta, modern))
}
