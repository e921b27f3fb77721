//! Arguments at the edges of a schema: what the schema accepts the parser must accept, and the reverse.

use super::oracle;
use contract::schema::Checker;
use raspi_mcp::registry::{entry::Entry, row::ToolRow};
use serde_json::{Map, Value, json};

/// Tries every probe of `row`; returns how many there were and where schema and parser differ.
pub fn apart(row: &'static ToolRow) -> (usize, Vec<String>) {
    let entry = Entry::from(row);
    let schema = entry.input_schema();
    let executed = oracle(&schema);
    let checker = Checker::new(&schema).unwrap_or_else(|error| panic!("{}: {error}", entry.name()));
    let probes = probes(&schema);
    let valid = probes.iter().filter(|probe| executed.is_valid(probe)).count();
    assert!(valid > 0, "{}: no probe is valid, so nothing is proven", entry.name());
    let mut apart = Vec::new();
    for probe in &probes {
        assert_eq!(checker.fits(probe), executed.is_valid(probe), "{}: {}", entry.name(), shown(probe));
        // An optional argument that is null counts as absent, which the schema does not say and the pipeline sees to first.
        let given = without_nulls(&schema, probe);
        let (by_schema, by_parser) = (executed.is_valid(&given), row.parse(probe.clone()).is_ok());
        let prepared = entry.prepare(probe.clone()).is_ok();
        // The pipeline asks both: it must accept whatever the schema does, and of objects the parser alone nothing more
        // (anything else is refused at the door).
        if prepared != by_schema || (by_parser && !by_schema && probe.is_object()) {
            apart.push(format!("schema {by_schema}, parser {by_parser}, pipeline {prepared}: {}", shown(probe)));
        }
    }
    (probes.len(), apart)
}

/// `value` without the properties that `schema` knows, does not require, and finds null.
fn without_nulls(schema: &Value, value: &Value) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    map.iter()
        .filter(|(name, item)| !item.is_null() || required(name) || schema["properties"].get(name).is_none())
        .map(|(name, item)| (name.clone(), without_nulls(&schema["properties"][name], item)))
        .collect::<Map<_, _>>()
        .into()
}

/// Arguments that are valid: the fewest and all there are.
pub fn good(schema: &Value) -> [Value; 2] {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (mut fewest, mut all) = (Map::new(), Map::new());
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = sample(property);
        if required.contains(&name.as_str()) {
            fewest.insert(name.clone(), value.clone());
        }
        all.insert(name.clone(), value);
    }
    [fewest.into(), all.into()]
}

/// Valid and invalid arguments: each valid object, and each with one thing about it changed.
pub fn probes(schema: &Value) -> Vec<Value> {
    let mut probes = vec![json!({}), json!([]), json!(null), json!("text"), json!(7), json!(true)];
    for base in good(schema) {
        probes.push(base.clone());
        let Value::Object(map) = &base else { continue };
        let mut extra = map.clone();
        extra.insert("no_such_parameter".into(), json!(1));
        probes.push(extra.into());
        for name in map.keys() {
            let mut without = map.clone();
            without.remove(name);
            probes.push(without.into());
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            for value in values(property) {
                let mut changed = map.clone();
                changed.insert(name.clone(), value);
                probes.push(changed.into());
            }
        }
    }
    probes
}

/// One value that `schema` accepts.
fn sample(schema: &Value) -> Value {
    // A property's schema stands alone: schemas are inlined.
    let executed = oracle(schema);
    let mut candidates = Vec::new();
    candidates.extend(schema.get("default").filter(|value| !value.is_null()).cloned());
    candidates.extend(schema["examples"].as_array().into_iter().flatten().cloned());
    candidates.extend(values(schema));
    candidates
        .into_iter()
        .find(|value| !value.is_null() && executed.is_valid(value))
        .unwrap_or_else(|| panic!("the probe knows no valid value; give the schema an example: {schema}"))
}

/// Values around every bound that `schema` names, and one of every type.
pub fn values(schema: &Value) -> Vec<Value> {
    let mut values = vec![json!(null), json!(true), json!([]), json!({}), json!([null]), json!({"a": 1})];
    values.extend(schema["enum"].as_array().into_iter().flatten().cloned());
    values.extend(schema.get("const").cloned());
    numbers(schema, &mut values);
    strings(schema, &mut values);
    if let Some(items) = schema.get("items") {
        arrays(schema, items, &mut values);
    }
    if schema["properties"].is_object() {
        values.extend(probes(schema));
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        values.extend(schema[key].as_array().into_iter().flatten().flat_map(self::values));
    }
    values
}

fn numbers(schema: &Value, values: &mut Vec<Value>) {
    values.extend([
        json!(0),
        json!(1),
        json!(-1),
        json!(0.5),
        json!(1.0),
        json!(-0.0),
        json!(1e3),
        json!(1e300),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
    ]);
    for power in [8, 16, 31, 32, 53] {
        let edge = 1i64 << power;
        values.extend([json!(edge - 1), json!(edge), json!(-edge), json!(edge as f64)]);
    }
    for bound in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        if let Some(bound) = schema[bound].as_i64() {
            values.extend([json!(bound - 1), json!(bound), json!(bound + 1), json!(bound as f64)]);
        } else if let Some(bound) = schema[bound].as_f64() {
            values.extend([json!(bound - 0.5), json!(bound), json!(bound + 0.5)]);
        }
    }
}

fn strings(schema: &Value, values: &mut Vec<Value>) {
    let texts =
        ["", "a", "A", "1", "0", "text", "a\n", "\n", "\0", "ünï", "😀", "a b", "/", "../x", "-", "system.reboot"];
    values.extend(texts.into_iter().map(Value::from));
    values.extend(
        [
            "eth0",
            "1h",
            "15m",
            "2026-01-15",
            "2026-01-15T14:30:00Z",
            "2026-01-15T14:30:00+02:00",
            "2026-01-15t14:30:00z",
            "2026-02-30T00:00:00Z",
            "2026-01-15T24:00:00Z",
            "2026-01-15 14:30:00Z",
            "2026-01-15T14:30:00",
        ]
        .map(Value::from),
    );
    for bound in ["minLength", "maxLength"] {
        let Some(length) = schema[bound].as_u64().and_then(|length| usize::try_from(length).ok()) else { continue };
        for length in [length.saturating_sub(1), length, length + 1] {
            // Characters count, not bytes and not UTF-16 units.
            values.extend(["x", "ü", "😀"].map(|letter| Value::from(letter.repeat(length))));
        }
    }
    // Close to a member is no member.
    for member in schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        values.extend([member.to_uppercase(), format!("{member} "), format!("{member}x")].map(Value::from));
    }
}

fn arrays(schema: &Value, items: &Value, values: &mut Vec<Value>) {
    let one = sample(items);
    values.extend(self::values(items).into_iter().map(|item| json!([item])));
    let bounds = ["minItems", "maxItems"].map(|bound| schema[bound].as_u64().and_then(|n| usize::try_from(n).ok()));
    for length in bounds.into_iter().flatten().flat_map(|n| [n.saturating_sub(1), n, n + 1]) {
        values.push(vec![one.clone(); length].into());
    }
    values.push(json!([one, one]));
}

pub fn shown(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

mod tests {
    use super::*;

    #[test]
    fn edges_are_on_both_sides() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["pin"],
            "properties": {
                "pin": { "type": "integer", "minimum": 0, "maximum": 27 },
                "mode": { "enum": ["in", "out"] },
                "name": { "type": "string", "minLength": 1, "maxLength": 3 },
            },
        });
        let probes = probes(&schema);
        for (name, value) in [
            ("pin", json!(-1)),
            ("pin", json!(0)),
            ("pin", json!(27)),
            ("pin", json!(28)),
            ("pin", json!("text")),
            ("mode", json!("out")),
            ("mode", json!("OUT")),
            ("name", json!("")),
            ("name", json!("üüü")),
            ("name", json!("😀😀😀😀")),
        ] {
            assert!(probes.iter().any(|probe| probe[name] == value), "no probe has {name} = {value}");
        }
        assert!(probes.iter().any(|probe| probe.get("pin").is_none() && probe.get("mode").is_some()));
        let executed = oracle(&schema);
        assert!(good(&schema).iter().all(|good| executed.is_valid(good)));
    }
}
