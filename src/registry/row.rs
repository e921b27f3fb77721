//! A tool of this program with its types erased: one row of its namespace's table.

use super::{
    context::Context,
    tool::{Carried, Needs, PreparedCall, ReadCarried, Tool, ToolFuture, ToolOutput},
};
use base::error::ToolError;
use contract::{meta::Meta, schema};
use serde_json::{Map, Value, value::to_raw_value};

/// One row of `tools::NAMESPACES`.
pub struct ToolRow {
    pub meta: &'static Meta,
    older: bool,
    #[cfg(schemas_from_types)]
    input: fn() -> Value,
    #[cfg(schemas_from_types)]
    output: fn() -> Value,
    normalise: fn(&mut Value),
    shown: fn(&Value) -> Option<Value>,
    carried: Option<ReadCarried>,
    /// See [`Tool::NEEDS`].
    pub needs: Option<Needs>,
    parse: fn(Value) -> Result<Box<dyn PreparedCall>, serde_json::Error>,
}

impl ToolRow {
    pub const fn of<T: Tool>() -> Self {
        Self {
            meta: &T::META,
            older: false,
            #[cfg(schemas_from_types)]
            input: schema::of_arguments::<T::Args>,
            #[cfg(schemas_from_types)]
            output: schema::of::<T::Out>,
            normalise: T::normalise,
            shown: T::shown,
            carried: T::CARRIED,
            needs: T::NEEDS,
            parse: |args| Ok(Box::new(Typed::<T>(serde_json::from_value(args)?))),
        }
    }

    /// A tool whose answers are always whole MCP results ([`Tool::whole`]): there is no `structuredContent`, and no schema
    /// of it either.
    #[cfg(schemas_from_types)]
    pub const fn of_whole<T: Tool>() -> Self {
        Self { output: || Value::Null, ..Self::of::<T>() }
    }

    /// The version before the newest one of the same tool. It is called as `name@N` and not listed. Its schemas are in the
    /// file `<operation>@<N>.json`.
    pub const fn older(self) -> Self {
        Self { older: true, ..self }
    }

    /// Whether another row has a newer version of this tool.
    pub const fn is_older(&self) -> bool {
        self.older
    }

    pub fn name(&self) -> &'static str {
        self.meta.name
    }

    /// The name of its schema file, below the folder of its namespace and without `.json`.
    pub fn file_stem(&self) -> String {
        let operation = self.name().split_once('.').map_or(self.name(), |(_, operation)| operation);
        if self.older { format!("{operation}@{}", self.meta.schema_version) } else { operation.to_owned() }
    }

    /// JSON Schema 2020-12 of the arguments that are accepted: what is executed.
    pub fn input_schema(&self) -> Value {
        let (advertised, accepts) = self.advertised();
        schema::advertised::executed(advertised, accepts)
    }

    /// What a listing shows of [`ToolRow::input_schema`], and the schema of each property that accepts more than is shown.
    pub fn advertised(&self) -> (Value, Map<String, Value>) {
        #[cfg(schemas_from_types)]
        return schema::advertised::split((self.input)());
        #[cfg(not(schemas_from_types))]
        {
            let mut schemas = self.schema_file();
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
        self.schema_file()["outputSchema"].take()
    }

    #[cfg(not(schemas_from_types))]
    fn schema_file(&self) -> Value {
        super::carried::schemas(self.meta.namespace(), &self.file_stem())
    }

    /// See [`Tool::normalise`].
    pub fn normalise(&self, args: &mut Value) {
        (self.normalise)(args);
    }

    /// See [`Tool::shown`].
    pub fn shown(&self, args: &Value) -> Option<Value> {
        (self.shown)(args)
    }

    /// Whether its calls hold calls of other tools.
    pub const fn carries(&self) -> bool {
        self.carried.is_some()
    }

    /// See [`Tool::CARRIED`].
    pub fn carried(&self, args: &Value) -> Option<Carried> {
        self.carried.and_then(|carried| carried(args))
    }

    /// Arguments that passed the schema, as the handler's own type.
    ///
    /// # Errors
    /// `invalid_argument` with the parser's words; the contract test keeps schema and parser of one mind.
    pub fn parse(&self, args: Value) -> Result<Box<dyn PreparedCall>, ToolError> {
        (self.parse)(args).map_err(|error| ToolError::invalid(format!("arguments of {}: {error}", self.name())))
    }
}

struct Typed<T: Tool>(T::Args);

impl<T: Tool> PreparedCall for Typed<T> {
    fn permit(&self, cx: &Context) -> Result<(), ToolError> {
        T::check(&self.0)?;
        T::permit(cx, &self.0)
    }
    fn asks(&self) -> bool {
        T::asks(&self.0)
    }
    fn run<'a>(self: Box<Self>, cx: &'a Context) -> ToolFuture<'a> {
        Box::pin(async move {
            let out = T::call(cx, self.0).await?;
            let json = to_raw_value(&out).map_err(|error| unserialisable(T::META.name, &error))?;
            Ok(ToolOutput { json, content: T::content(&out), whole: T::whole(&out), blob: T::blob(&out) })
        })
    }
}

/// Apart from the types, so that it is compiled once.
fn unserialisable(tool: &str, error: &serde_json::Error) -> ToolError {
    ToolError::internal(format!("{tool} made an unserialisable result: {error}"))
}
