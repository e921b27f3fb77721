//! Values made by a schema: most of them fit it. For outputs, of which no parser says what is right, and for whole calls.

use super::{oracle, probe};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::{Value, json};

/// Values made by `schema`: most of them fit it. Beside the probe's values at the edges, objects and lists of such values, and
/// texts by their pattern.
fn made(schema: &Value) -> BoxedStrategy<Value> {
    let one_of = |list: &[Value]| prop::strategy::Union::new(list.iter().map(made).collect::<Vec<_>>()).boxed();
    for word in ["anyOf", "oneOf"] {
        if let Some(list) = schema[word].as_array() {
            return one_of(list);
        }
    }
    if let Some(types) = schema["type"].as_array() {
        let each = types.iter().map(|kind| {
            let mut one = schema.clone();
            one["type"] = kind.clone();
            one
        });
        return one_of(&each.collect::<Vec<_>>());
    }
    match schema["type"].as_str() {
        Some("object") => an_object(schema),
        Some("array") if schema["items"].is_object() => {
            let bound = |word: &str| schema[word].as_u64().and_then(|count| usize::try_from(count).ok());
            let (fewest, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(4));
            prop::collection::vec(made(&schema["items"]), fewest..=most.min(fewest + 4)).prop_map(Value::from).boxed()
        }
        _ => {
            let executed = oracle::oracle(schema);
            let mut edges = probe::values(schema);
            edges.extend(schema["examples"].as_array().into_iter().flatten().cloned());
            edges.extend(["192.0.2.1", "2001:db8::1", "123e4567-e89b-12d3-a456-426614174000"].map(Value::from));
            edges.retain(|value| executed.is_valid(value));
            let by_pattern = schema["pattern"].as_str().map(|pattern| {
                let middle = pattern.strip_prefix('^').unwrap_or(pattern);
                let middle = middle.strip_suffix('$').unwrap_or(middle);
                prop::string::string_regex(middle)
                    .unwrap_or_else(|error| panic!("{pattern}: {error}"))
                    .prop_map(Value::from)
            });
            match (by_pattern, edges.is_empty()) {
                (Some(texts), true) => texts.boxed(),
                (Some(texts), false) => prop_oneof![texts, prop::sample::select(edges)].boxed(),
                (None, false) => prop::sample::select(edges).boxed(),
                (None, true) => panic!("nobody knows a valid value: {schema}"),
            }
        }
    }
}

fn an_object(schema: &Value) -> BoxedStrategy<Value> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let field = |name: &str, part: &Value, always: bool| {
        let name = name.to_owned();
        let there = if always { Just(true).boxed() } else { any::<bool>().boxed() };
        (there, made(part)).prop_map(move |(there, value)| there.then(|| (name.clone(), value))).boxed()
    };
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut fields: Vec<_> = properties.iter().map(|(name, part)| field(name, part, required(name))).collect();
    match &schema["additionalProperties"] {
        Value::Bool(false) => {}
        Value::Object(part) if !part.is_empty() => fields.push(field("another", &part.clone().into(), false)),
        _ => fields.push(field("another", &json!({}), false)),
    }
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect())).boxed()
}

/// Has `check` look at values that fit `schema`; returns how many there were.
pub fn with_made(name: &str, schema: &Value, check: impl Fn(Value) -> Result<(), String>) -> usize {
    let (executed, tried) = (oracle::oracle(schema), std::cell::Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let told = runner.run(&made(schema), |value| {
        if executed.is_valid(&value) {
            tried.set(tried.get() + 1);
            check(value).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    told.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(tried.get() >= 16, "{name}: of what was made only {} fit", tried.get());
    tried.get()
}
