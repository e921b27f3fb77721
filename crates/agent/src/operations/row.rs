//! An operation as a table row, with its types erased, so that the socket handles all requests and answers alike.

use super::operation::Operation;
use crate::{context::Context, log::REFUSALS, peer::Callers};
use base::error::ToolError;
use futures::future::BoxFuture;
use serde::{
    Deserialize, Serialize, Serializer,
    de::{DeserializeOwned, Error as _, VariantAccess},
    ser::SerializeMap,
};
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use std::{any::Any, fmt, marker::PhantomData};

/// The request of one operation; its row knows the type.
type Fields = Box<dyn Any + Send + Sync>;

/// One operation.
pub struct OperationRow {
    /// Its name on the wire.
    pub tag: &'static str,
    /// The name of its answer on the wire.
    pub answer: &'static str,
    pub callers: Callers,
    /// See [`Operation::WAITS`].
    pub waits: bool,
    /// See [`Operation::CHANGES`].
    pub changes: bool,
    write: fn(&dyn Any) -> serde_json::Result<Box<RawValue>>,
    run: for<'a> fn(Context<'a>, Fields) -> BoxFuture<'a, Result<Answer, ToolError>>,
}

impl OperationRow {
    pub(super) const fn of<O: Operation>() -> Self {
        Self {
            tag: O::TAG,
            answer: O::ANSWER,
            callers: O::CALLERS,
            waits: O::WAITS,
            changes: O::CHANGES,
            write: |fields| to_raw_value(&fields.downcast_ref::<O::Request>()),
            run: |cx, fields| {
                Box::pin(async move {
                    let Ok(request) = fields.downcast::<O::Request>() else { return Err(mixed_up(O::TAG)) };
                    let answer = perform::<O>(&cx, *request).await?;
                    Answer::of::<O>(&answer)
                })
            },
        }
    }
}

/// Performs an operation for a peer, if the peer may request it.
///
/// # Errors
/// `permission_denied` when it may not; those of the operation.
pub(crate) async fn perform<O: Operation>(cx: &Context<'_>, request: O::Request) -> Result<O::Answer, ToolError> {
    admit(cx, O::name(&request), O::CALLERS)?;
    O::run(cx, request).await
}

/// What all operations begin with, apart from their types, so that it is compiled once.
fn admit(cx: &Context<'_>, name: &'static str, callers: Callers) -> Result<(), ToolError> {
    cx.peer.may(name, callers).inspect_err(|error| {
        let refused = || json!({ "operation": name, "reason": error.message });
        cx.log.attempt("refused", cx.peer, REFUSALS, refused);
    })
}

/// A request of any operation: `{TAG: request}`.
pub struct AnyRequest {
    row: &'static OperationRow,
    fields: Fields,
}

impl AnyRequest {
    /// A request of the operation `O`.
    pub fn of<O: Operation>(request: O::Request) -> Self {
        // `const`, so that no row is built at run time.
        let row = const { &OperationRow::of::<O>() };
        Self { row, fields: Box::new(request) }
    }

    /// Reads the fields of `O`.
    pub(super) fn read<'de, O: Operation, A: VariantAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        fields.newtype_variant_seed(PhantomData::<O::Request>).map(Self::of::<O>)
    }

    pub fn row(&self) -> &'static OperationRow {
        self.row
    }

    /// Its fields, if it is a request of `O`.
    ///
    /// # Errors
    /// The request itself, if it belongs to another operation.
    pub fn take<O: Operation>(self) -> Result<O::Request, Self> {
        if self.row.tag != O::TAG {
            return Err(self);
        }
        let Self { row, fields } = self;
        fields.downcast::<O::Request>().map(|request| *request).map_err(|fields| Self { row, fields })
    }

    /// As [`perform`], for any operation.
    ///
    /// # Errors
    /// As there.
    pub(crate) async fn perform(self, cx: Context<'_>) -> Result<Answer, ToolError> {
        (self.row.run)(cx, self.fields).await
    }
}

impl fmt::Debug for AnyRequest {
    /// The name alone: some requests contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyRequest").field(&self.row.tag).finish()
    }
}

impl Serialize for AnyRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = (self.row.write)(&*self.fields).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.row.tag, &fields)?;
        map.end()
    }
}

/// An answer of any operation: `{ANSWER: answer}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Answer(Box<RawValue>);

impl Answer {
    /// An answer of the operation `O`.
    ///
    /// # Errors
    /// `internal` when it cannot be written as JSON.
    pub fn of<O: Operation>(answer: &O::Answer) -> Result<Self, ToolError> {
        named(to_raw_value(answer), O::TAG, O::ANSWER)
    }

    /// The answer, if it is one of `O`; otherwise `None`.
    ///
    /// # Errors
    /// What is wrong with its fields.
    pub fn read<O: Operation>(&self) -> serde_json::Result<Option<O::Answer>> {
        let tagged: Named<'_> = serde_json::from_str(self.0.get())?;
        if tagged.tag != O::ANSWER { Ok(None) } else { parse::<O::Answer>(tagged.value).map(Some) }
    }
}

fn named(answer: serde_json::Result<Box<RawValue>>, operation: &str, tag: &'static str) -> Result<Answer, ToolError> {
    let tagged = answer.and_then(|value| to_raw_value(&Tagged { tag, value: &value }));
    tagged.map(Answer).map_err(|error| ToolError::internal(format!("the answer of {operation}: {error}")))
}

fn parse<T: DeserializeOwned>(value: &RawValue) -> serde_json::Result<T> {
    serde_json::from_str(value.get())
}

/// `{tag: value}`, for serialization.
struct Tagged<'a> {
    tag: &'static str,
    value: &'a RawValue,
}

impl Serialize for Tagged<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.tag, self.value)?;
        map.end()
    }
}

/// `{tag: value}`, as parsed.
struct Named<'a> {
    tag: String,
    value: &'a RawValue,
}

impl<'de: 'a, 'a> Deserialize<'de> for Named<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for One<'a> {
            type Value = Named<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one field")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Named<'a>, M::Error> {
                let (tag, value) = map.next_entry()?.ok_or_else(|| M::Error::custom("an answer without a name"))?;
                if map.next_key::<String>()?.is_some() {
                    return Err(M::Error::custom("an answer with two names"));
                }
                Ok(Named { tag, value })
            }
        }
        deserializer.deserialize_map(One(PhantomData))
    }
}

fn mixed_up(tag: &str) -> ToolError {
    ToolError::internal(format!("a request of another operation was given to {tag}"))
}
