//! What executes schemas here, beside the official word: the `jsonschema` crate, at 2020-12 with formats.

use super::probe;
use contract::schema::Checker;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The crate's validator of `schema`.
pub fn oracle(schema: &Value) -> jsonschema::Validator {
    let options = jsonschema::options().should_validate_formats(true).with_draft(jsonschema::Draft::Draft202012);
    options.build(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Every keyword this server executes, in schemas no tool has.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"])
            .prop_map(|name| json!({ "type": name })),
        Just(json!({"type": ["string", "null"]})),
        prop::sample::subsequence(
            vec![json!(null), json!(1), json!("a"), json!(1.5), json!([1]), json!({"a": 1})],
            1..4
        )
        .prop_map(|these| json!({ "enum": these })),
        Just(json!({"const": 1.0})),
        (-3i64..3, -3i64..3).prop_map(|(least, most)| json!({"minimum": least, "maximum": most})),
        (-3i64..3, -3i64..3).prop_map(|(above, below)| json!({"exclusiveMinimum": above, "exclusiveMaximum": below})),
        (1i64..5).prop_map(|step| json!({ "multipleOf": step })),
        (0u8..3, 0u8..4).prop_map(|(least, most)| json!({"minLength": least, "maxLength": most})),
        prop::sample::select(vec!["^a", "b$", "^[a-z0-9_-]+$", "[0-9]{2,}", "^(on|off)$", "^[^/]*$"])
            .prop_map(|pattern| json!({ "pattern": pattern })),
        prop::sample::select(vec!["date-time", "ipv4", "ipv6", "uuid"]).prop_map(|name| json!({ "format": name })),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        let property = prop::sample::select(vec!["a", "b", "no_such_parameter"]);
        let properties = prop::collection::btree_map(property.clone(), inner.clone(), 0..3);
        prop_oneof![
            (inner.clone(), 0u8..3, 0u8..4, any::<bool>()).prop_map(|(items, least, most, unique)| json!({
                "items": items, "minItems": least, "maxItems": most, "uniqueItems": unique
            })),
            (properties, prop::collection::vec(property, 0..2), inner.clone(), 0u8..2, 1u8..4).prop_map(
                |(properties, required, others, least, most)| json!({
                    "properties": properties, "required": required, "additionalProperties": others,
                    "minProperties": least, "maxProperties": most
                })
            ),
            inner.clone().prop_map(|names| json!({ "propertyNames": names })),
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf"]), several)
                .prop_map(|(word, these)| Value::Object(Map::from_iter([(word.to_owned(), these.into())]))),
            inner.clone().prop_map(|part| json!({ "not": part })),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(condition, then, otherwise)| json!({"if": condition, "then": then, "else": otherwise})),
        ]
    })
}

/// Values of every type, small enough to be hit by such schemas; one level of nesting more than [`probe::values`].
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4i64..5).prop_map(Value::from),
        (-8i32..8).prop_map(|eighths| json!(f64::from(eighths) / 2.0)),
        prop::sample::select(vec![
            "",
            "a",
            "b",
            "ab",
            "on",
            "12",
            "😀",
            "a/b",
            "1.2.3.4",
            "::1",
            "01.2.3.4",
            "2026-01-15T14:30:00Z",
            "2026-01-15",
            "123e4567-e89b-12d3-a456-426614174000",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let name = prop::sample::select(vec!["a", "b", "no_such_parameter", "c"]).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn ours_says_what_the_oracle_says(schema in any_schema(), values in prop::collection::vec(any_value(), 1..8), apart: bool) {
        let schema = if apart { json!({"$defs": {"part": schema}, "$ref": "#/$defs/part"}) } else { schema };
        let (ours, theirs) = (Checker::new(&schema).unwrap(), oracle(&schema));
        for value in &values {
            prop_assert_eq!(ours.fits(value), theirs.is_valid(value), "{} of {}", value, schema);
            if let Err(fault) = ours.check(value) {
                // Where it points there is something, or the fault is that there is nothing.
                prop_assert!(value.pointer(fault.path()).is_some(), "{} of {}", fault.path(), value);
            }
        }
    }
}

#[test]
fn a_keyword_that_is_not_executed_is_an_error_not_a_comment() {
    for schema in [
        json!({"patternProperties": {"^a": {}}}),
        json!({"properties": {"a": {"contains": {}}}}),
        json!({"format": "email"}),
        json!({"minimum": "1"}),
        json!({"$ref": "elsewhere"}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "#"}),
        json!({"pattern": "("}),
        json!(7),
    ] {
        Checker::new(&schema).expect_err(&schema.to_string());
    }
}

#[test]
fn large_integers_are_not_rounded() {
    let edge = (1i64 << 53) + 1;
    let checker = Checker::new(&json!({ "maximum": edge - 1 })).unwrap();
    assert!(checker.fits(&json!(edge - 1)) && !checker.fits(&json!(edge)), "{}", probe::shown(&json!(edge)));
}
