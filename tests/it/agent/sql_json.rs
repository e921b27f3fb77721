//! `json_set`, `json_object` and `json_extract` for the SQL of attackers: the SQLite of this program has no JSON
//! (decision 321).

use rusqlite::{
    Connection, Error,
    functions::{Context, FunctionFlags},
    types::ValueRef,
};
use serde_json::{Map, Value};

/// Adds the functions to a connection. Paths are `$.NAME`.
pub fn with_json(db: &Connection) {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("json_set", -1, flags, |given| {
        let mut object = object(given)?;
        for at in (1..given.len()).step_by(2) {
            object.insert(field(given, at)?, value(given, at + 1)?);
        }
        Ok(Value::Object(object).to_string())
    })
    .unwrap();
    db.create_scalar_function("json_object", -1, flags, |given| {
        let fields = (0..given.len()).step_by(2).map(|at| Ok((given.get::<String>(at)?, value(given, at + 1)?)));
        Ok(Value::Object(fields.collect::<Result<Map<_, _>, Error>>()?).to_string())
    })
    .unwrap();
    db.create_scalar_function("json_extract", 2, flags, |given| {
        Ok(object(given)?.get(&field(given, 1)?).and_then(Value::as_str).map(str::to_owned))
    })
    .unwrap();
}

fn object(given: &Context<'_>) -> Result<Map<String, Value>, Error> {
    let text: String = given.get(0)?;
    serde_json::from_str(&text).map_err(|error| Error::UserFunctionError(error.into()))
}

fn field(given: &Context<'_>, at: usize) -> Result<String, Error> {
    let path: String = given.get(at)?;
    Ok(path.strip_prefix("$.").expect("a path begins with $.").to_owned())
}

fn value(given: &Context<'_>, at: usize) -> Result<Value, Error> {
    Ok(match given.get_raw(at) {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        other => panic!("no JSON for {other:?}"),
    })
}
