//! The trait a tool implements, and the entry it becomes in the registry.

use super::context::Context;
use base::error::ToolError;
use contract::{meta::Meta, schema};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};
use std::{future::Future, pin::Pin};

/// One operation of the machine: typed arguments in, a typed result out.
///
/// The types are the contract: their schema is what `schemas/` promises and what the pipeline enforces.
pub trait Tool: 'static {
    type Args: DeserializeOwned + JsonSchema + Send;
    type Out: Serialize + JsonSchema + Send;
    const META: Meta;

    /// Gives arguments that can be written in several ways their one form, before anybody checks, hashes, shows or records
    /// them: a person approves the same call whichever way it is written. What is malformed stays, for the schema to refuse.
    fn normalise(_args: &mut Value) {}

    /// Whether the arguments fit each other: one that would be ignored beside the others is refused ([`ToolError::ignored`]),
    /// unless it has its default value.
    ///
    /// # Errors
    /// `invalid_argument` naming the argument.
    fn check(_args: &Self::Args) -> Result<(), ToolError> {
        Ok(())
    }

    /// What this particular call needs beyond its role, as `area:verb:resource` (`gpio:write:17`), or nothing.
    ///
    /// # Errors
    /// `permission_denied` with `details.required_permission` when the configuration does not grant it.
    fn permit(_cx: &Context, _args: &Self::Args) -> Result<(), ToolError> {
        Ok(())
    }

    /// Whether a person is asked about this call, where policy says "ask". Taking a risky thing back is not risky.
    fn asks(_args: &Self::Args) -> bool {
        true
    }

    /// What the audit has in place of the plain arguments. A person who is asked sees those (`access::question`).
    fn shown(_args: &Value) -> Option<Value> {
        None
    }

    /// Does the work. Runs under a deadline. A read is dropped when its caller has gone, and must leave nothing behind; a write is
    /// told by [`Context::cancel`] and runs to its own end ([`super::deed`]).
    fn call(cx: &Context, args: Self::Args) -> impl Future<Output = Result<Self::Out, ToolError>> + Send;

    /// MCP content blocks beside the text form of the result (an image, say).
    fn content(_out: &Self::Out) -> Vec<Value> {
        Vec::new()
    }

    /// The bytes that the answer is about, where it is about a file: what a resource of it holds, and an HTTP GET gives.
    fn blob(_out: &Self::Out) -> Option<Blob> {
        None
    }

    /// A whole MCP result in place of text and `structuredContent`, for answers that are no data (`input_required`) or
    /// would carry one twice (pictures).
    fn whole(_out: &Self::Out) -> Option<Value> {
        None
    }
}

/// A file in an answer.
#[derive(Clone, Debug)]
pub struct Blob {
    pub mime: &'static str,
    pub bytes: bytes::Bytes,
}

/// What a tool answered, serialised once.
#[derive(Clone, Debug)]
pub struct Output {
    pub json: Box<RawValue>,
    pub content: Vec<Value>,
    pub whole: Option<Value>,
    pub blob: Option<Blob>,
}

type Reply<'a> = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send + 'a>>;

/// Arguments that passed their schema and their parser, ready to be permitted and run.
pub trait Prepared: Send {
    /// [`Tool::check`], then [`Tool::permit`].
    fn permit(&self, cx: &Context) -> Result<(), ToolError>;
    /// See [`Tool::asks`].
    fn asks(&self) -> bool;
    fn run<'a>(self: Box<Self>, cx: &'a Context) -> Reply<'a>;
}

struct Typed<T: Tool>(T::Args);

impl<T: Tool> Prepared for Typed<T> {
    fn permit(&self, cx: &Context) -> Result<(), ToolError> {
        T::check(&self.0)?;
        T::permit(cx, &self.0)
    }
    fn asks(&self) -> bool {
        T::asks(&self.0)
    }
    fn run<'a>(self: Box<Self>, cx: &'a Context) -> Reply<'a> {
        Box::pin(async move {
            let out = T::call(cx, self.0).await?;
            let (content, whole, blob) = (T::content(&out), T::whole(&out), T::blob(&out));
            let json = to_raw_value(&out).map_err(|error| {
                ToolError::internal(format!("{} made an unserialisable result: {error}", T::META.name))
            })?;
            Ok(Output { json, content, whole, blob })
        })
    }
}

/// A tool with its types erased: one row of the registry.
pub struct Entry {
    pub meta: &'static Meta,
    #[cfg(schemas_from_types)]
    input: fn() -> Value,
    #[cfg(schemas_from_types)]
    output: fn() -> Value,
    normalise: fn(&mut Value),
    shown: fn(&Value) -> Option<Value>,
    parse: fn(Value) -> Result<Box<dyn Prepared>, serde_json::Error>,
}

impl Entry {
    pub const fn of<T: Tool>() -> Self {
        Self {
            meta: &T::META,
            #[cfg(schemas_from_types)]
            input: schema::of_arguments::<T::Args>,
            #[cfg(schemas_from_types)]
            output: schema::of::<T::Out>,
            normalise: T::normalise,
            shown: T::shown,
            parse: |args| Ok(Box::new(Typed::<T>(serde_json::from_value(args)?))),
        }
    }

    /// A tool whose answers are always whole MCP results ([`Tool::whole`]): there is no `structuredContent`, and no schema
    /// of it either.
    #[cfg(schemas_from_types)]
    pub const fn of_whole<T: Tool>() -> Self {
        Self { output: || Value::Null, ..Self::of::<T>() }
    }

    pub fn name(&self) -> &'static str {
        self.meta.name
    }
    /// JSON Schema 2020-12 of the arguments that are accepted: what is executed.
    pub fn input_schema(&self) -> Value {
        let (advertised, accepts) = self.advertised();
        schema::advertised::executed(advertised, accepts)
    }
    /// What a listing shows of [`Entry::input_schema`], and the schema of each property that accepts more than is shown.
    pub fn advertised(&self) -> (Value, Map<String, Value>) {
        #[cfg(schemas_from_types)]
        return schema::advertised::split((self.input)());
        #[cfg(not(schemas_from_types))]
        {
            let mut schemas = super::carried::schemas(self.name());
            let accepts = match schemas["accepts"].take() {
                Value::Object(accepts) => accepts,
                _ => Map::new(),
            };
            (schemas["inputSchema"].take(), accepts)
        }
    }
    /// JSON Schema 2020-12 of the result; null when results are no data.
    pub fn output_schema(&self) -> Value {
        #[cfg(schemas_from_types)]
        return (self.output)();
        #[cfg(not(schemas_from_types))]
        super::carried::schemas(self.name())["outputSchema"].take()
    }

    /// See [`Tool::normalise`].
    pub fn normalise(&self, args: &mut Value) {
        (self.normalise)(args);
    }
    /// See [`Tool::shown`].
    pub fn shown(&self, args: &Value) -> Option<Value> {
        (self.shown)(args)
    }

    /// Arguments that passed the schema, as the handler's own type.
    ///
    /// # Errors
    /// `invalid_argument` with the parser's words; the contract test keeps schema and parser of one mind.
    pub fn parse(&self, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        (self.parse)(args).map_err(|error| ToolError::invalid(format!("arguments of {}: {error}", self.name())))
    }
}
