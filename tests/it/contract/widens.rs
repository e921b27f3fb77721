//! Whether a new descriptor keeps what an old one promised: inputs only widen, outputs keep every field.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Every promise of `old` that `new` breaks. A raised `schemaVersion` is a new promise: `name@N` tells them apart.
pub fn broken(old: &Value, new: &Value) -> Vec<String> {
    let name = old["name"].as_str().unwrap_or("?");
    let version = |descriptor: &Value| descriptor["_meta"]["schemaVersion"].as_u64().unwrap_or(0);
    if version(new) > version(old) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if version(new) < version(old) {
        found.push("schemaVersion went back".to_owned());
    }
    if old["name"] != new["name"] {
        found.push(format!("renamed to {}", new["name"]));
    }
    accepts(&executed(old), &executed(new), "arguments", &mut found);
    keeps(&old["outputSchema"], &new["outputSchema"], "result", &mut found);
    if old["annotations"]["readOnlyHint"] == true && new["annotations"]["readOnlyHint"] != true {
        found.push("it was a read and now changes something".to_owned());
    }
    let rank = |descriptor: &Value| {
        let role = descriptor["_meta"]["required_role"].as_str().unwrap_or("").to_owned();
        ["read_only", "ops_rw", "admin"].iter().position(|known| *known == role)
    };
    if rank(new) > rank(old) {
        found.push("it needs a higher role".to_owned());
    }
    found.into_iter().map(|what| format!("{name}: {what}")).collect()
}

/// The arguments that a descriptor promises to accept: all that it advertises, and more where `accepts` says so.
fn executed(descriptor: &Value) -> Value {
    let accepts = descriptor["accepts"].as_object().cloned().unwrap_or_default();
    contract::schema::advertised::executed(descriptor["inputSchema"].clone(), accepts)
}

/// Whatever `old` accepts, `new` must accept.
fn accepts(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    let (was, is) = (types(old), types(new));
    let wider =
        is.is_empty() || (!was.is_empty() && was.is_subset(&is)) || (is.contains("number") && only_integer(&was));
    if !wider {
        found.push(format!("{at}: type {} became {}", show(old.get("type")), show(new.get("type"))));
    }
    for (bound, low) in BOUNDS {
        let narrower = match (old[bound].as_f64(), new[bound].as_f64()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(was), Some(is)) => {
                if *low {
                    is > was
                } else {
                    is < was
                }
            }
        };
        if narrower {
            found.push(format!("{at}: {bound} {} became {}", show(old.get(bound)), show(new.get(bound))));
        }
    }
    if let Some(is) = members(new) {
        let kept = members(old).is_some_and(|was| was.iter().all(|member| is.contains(member)));
        if !kept {
            found.push(format!("{at}: fewer values are allowed, {}", show(new.get("enum").or(new.get("const")))));
        }
    }
    for exact in ["pattern", "format", "multipleOf", "uniqueItems", "anyOf", "oneOf", "allOf", "not", "default"] {
        // A default that comes or changes changes what a call without the argument means.
        let (was, is) = (old.get(exact), new.get(exact));
        if was != is && (is.is_some() || exact == "default") {
            found.push(format!("{at}: {exact} {} became {}", show(was), show(is)));
        }
    }
    if new["additionalProperties"] == false && old["additionalProperties"] != false {
        found.push(format!("{at}: unknown parameters were allowed"));
    }
    let (was, is) = (properties(old), properties(new));
    for (name, old) in &was {
        match is.get(name) {
            Some(new) => accepts(old, new, &format!("{at}.{name}"), found),
            None => found.push(format!("{at}.{name} is gone")),
        }
    }
    for name in required(new).difference(&required(old)) {
        found.push(format!("{at}.{name} became required"));
    }
    if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
        accepts(old, new, &format!("{at}[]"), found);
    }
}

/// Whatever `old` promised to be there is there, of the same kind.
fn keeps(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    let (was, is) = (types(old), types(new));
    let integer_now = was.contains("number") && only_integer(&is);
    if !was.is_empty() && (is.is_empty() || !is.is_subset(&was)) && !integer_now {
        found.push(format!("{at}: type {} became {}", show(old.get("type")), show(new.get("type"))));
    }
    if let Some(was) = members(old)
        && !members(new).is_some_and(|is| is.iter().all(|member| was.contains(member)))
    {
        found.push(format!("{at}: more values than {} may come", show(old.get("enum").or(old.get("const")))));
    }
    let (was, is) = (properties(old), properties(new));
    for (name, old) in &was {
        match is.get(name) {
            Some(new) => keeps(old, new, &format!("{at}.{name}"), found),
            None => found.push(format!("{at}.{name} is gone")),
        }
    }
    for name in required(old).difference(&required(new)) {
        found.push(format!("{at}.{name} may now be missing"));
    }
    if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
        keeps(old, new, &format!("{at}[]"), found);
    }
}

/// Bounds, and whether they bound from below.
const BOUNDS: &[(&str, bool)] = &[
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("minLength", true),
    ("minItems", true),
    ("maximum", false),
    ("exclusiveMaximum", false),
    ("maxLength", false),
    ("maxItems", false),
];

fn types(schema: &Value) -> BTreeSet<String> {
    match &schema["type"] {
        Value::String(one) => [one.clone()].into(),
        Value::Array(many) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

fn only_integer(types: &BTreeSet<String>) -> bool {
    types.iter().all(|one| one == "integer" || one == "number") && !types.is_empty()
}

fn members(schema: &Value) -> Option<Vec<Value>> {
    schema["enum"].as_array().cloned().or_else(|| schema.get("const").map(|only| vec![only.clone()]))
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}

fn required(schema: &Value) -> BTreeSet<String> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".into(), Value::to_string)
}

fn tool(input: Value, output: Value) -> Value {
    json!({
        "name": "a.b", "inputSchema": input, "outputSchema": output,
        "annotations": { "readOnlyHint": true }, "_meta": { "schemaVersion": 1, "required_role": "read_only" },
    })
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[test]
fn inputs_may_widen_and_not_narrow() {
    let pin = json!({ "type": "integer", "minimum": 0, "maximum": 27 });
    let old = object(
        json!({ "pin": pin, "mode": { "enum": ["in", "out"] }, "n": { "type": "integer", "default": 1 } }),
        &["pin"],
    );
    let check = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        broken(&tool(old.clone(), object(json!({}), &[])), &tool(new, object(json!({}), &[])))
    };
    let wider: [&dyn Fn(&mut Value); 8] = [
        &|_| {},
        &|new| new["properties"]["pin"]["maximum"] = json!(53),
        &|new| new["properties"]["pin"]["minimum"] = json!(-1),
        &|new| drop(new["properties"]["pin"].as_object_mut().unwrap().remove("maximum")),
        &|new| new["properties"]["pin"]["type"] = json!(["integer", "string"]),
        &|new| new["properties"]["mode"]["enum"] = json!(["in", "out", "alt"]),
        &|new| new["required"] = json!([]),
        &|new| new["properties"]["why"] = json!({ "type": "string" }),
    ];
    for (nth, change) in wider.iter().enumerate() {
        assert_eq!(check(change), [] as [String; 0], "wider {nth}");
    }
    let narrower: [&dyn Fn(&mut Value); 10] = [
        &|new| new["properties"]["pin"]["maximum"] = json!(26),
        &|new| new["properties"]["pin"]["minimum"] = json!(1),
        &|new| new["properties"]["pin"]["type"] = json!("string"),
        &|new| new["properties"]["mode"]["enum"] = json!(["in"]),
        &|new| new["properties"]["mode"]["pattern"] = json!("^i"),
        &|new| new["required"] = json!(["pin", "mode"]),
        &|new| drop(new["properties"].as_object_mut().unwrap().remove("mode")),
        &|new| new["properties"]["n"]["default"] = json!(2),
        &|new| drop(new["properties"]["n"].as_object_mut().unwrap().remove("default")),
        &|new| new["properties"]["n"]["maximum"] = json!(9),
    ];
    for (nth, change) in narrower.iter().enumerate() {
        assert_eq!(check(change).len(), 1, "narrower {nth}: {:?}", check(change));
    }
}

#[test]
fn what_is_accepted_beyond_the_advertised_may_not_narrow_either() {
    let list = json!({ "type": "array" });
    let mut old = tool(object(json!({ "env": list }), &[]), object(json!({}), &[]));
    old["accepts"] = json!({ "env": { "type": ["object", "array"] } });
    let mut new = old.clone();
    new["inputSchema"]["properties"]["env"]["maxItems"] = json!(9);
    assert_eq!(broken(&old, &new), [] as [String; 0], "it is advertised only");
    new["accepts"]["env"]["maxItems"] = json!(9);
    assert_eq!(broken(&old, &new).len(), 1);
    new["accepts"] = json!({});
    assert!(!broken(&old, &new).is_empty());
}

#[test]
fn outputs_keep_every_field_of_its_kind() {
    let entry = object(json!({ "name": { "type": "string" }, "state": { "enum": ["on", "off"] } }), &["name"]);
    let old = object(
        json!({ "items": { "type": "array", "items": entry }, "t": { "type": ["number", "null"] } }),
        &["items"],
    );
    let check = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        broken(&tool(object(json!({}), &[]), old.clone()), &tool(object(json!({}), &[]), new))
    };
    let same: [&dyn Fn(&mut Value); 4] = [
        &|new| new["properties"]["more"] = json!({ "type": "string" }),
        &|new| new["required"] = json!(["items", "t"]),
        &|new| new["properties"]["t"]["type"] = json!("number"),
        &|new| new["properties"]["items"]["items"]["properties"]["state"]["enum"] = json!(["on"]),
    ];
    for (nth, change) in same.iter().enumerate() {
        assert_eq!(check(change), [] as [String; 0], "same {nth}");
    }
    let lost: [&dyn Fn(&mut Value); 5] = [
        &|new| drop(new["properties"].as_object_mut().unwrap().remove("t")),
        &|new| new["required"] = json!([]),
        &|new| new["properties"]["t"]["type"] = json!(["number", "null", "string"]),
        &|new| drop(new["properties"]["items"]["items"]["properties"].as_object_mut().unwrap().remove("state")),
        &|new| new["properties"]["items"]["items"]["properties"]["state"]["enum"] = json!(["on", "off", "odd"]),
    ];
    for (nth, change) in lost.iter().enumerate() {
        assert_eq!(check(change).len(), 1, "lost {nth}: {:?}", check(change));
    }
}

#[test]
fn a_new_version_is_a_new_promise_and_the_rest_of_a_descriptor_counts_too() {
    let old = tool(object(json!({ "a": { "type": "string" } }), &[]), object(json!({}), &[]));
    let mut new = tool(object(json!({}), &[]), object(json!({}), &[]));
    assert_eq!(broken(&old, &new).len(), 1);
    new["_meta"]["schemaVersion"] = json!(2);
    assert!(broken(&old, &new).is_empty());
    for (path, value) in [
        ("/annotations/readOnlyHint", json!(false)),
        ("/_meta/required_role", json!("admin")),
        ("/_meta/schemaVersion", json!(0)),
        ("/name", json!("a.c")),
    ] {
        let mut new = old.clone();
        *new.pointer_mut(path).unwrap() = value;
        assert_eq!(broken(&old, &new).len(), 1, "{path}");
    }
}
