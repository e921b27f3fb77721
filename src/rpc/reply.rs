//! Answers as bytes. Results arrive serialised and are not parsed again.

use super::envelope::Id;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

#[derive(Serialize)]
struct Success<'a, R: Serialize + ?Sized> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a Value,
}

/// `{"jsonrpc":"2.0","id":…,"result":…}`
pub fn success<R: Serialize + ?Sized>(id: &Id, result: &R) -> Vec<u8> {
    bytes(&Success { jsonrpc: "2.0", id, result })
}

/// As [`success`], for a result that is written by hand: append its JSON, then call [`close`].
pub fn open_success(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut *out, id).expect("an id is a string or a number");
    out.extend_from_slice(b",\"result\":");
}

/// Ends what [`open_success`] began.
pub fn close(out: &mut Vec<u8>) {
    out.push(b'}');
}

/// For a result that is already JSON.
pub fn success_raw(id: &Id, result: &RawValue) -> Vec<u8> {
    success(id, result)
}

/// `{"jsonrpc":"2.0","id":…,"error":{…}}`; the id is null if it could not be read.
pub fn error(id: Option<&Id>, code: i32, message: &str, data: Option<&Value>) -> Vec<u8> {
    bytes(&Failure { jsonrpc: "2.0", id, error: Error { code, message, data } })
}

/// A message without an answer.
pub fn notification(method: &str, params: &Value) -> Vec<u8> {
    bytes(&Notification { jsonrpc: "2.0", method, params })
}

fn bytes<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("answers are plain data with string keys")
}
