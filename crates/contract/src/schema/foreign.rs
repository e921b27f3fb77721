//! Schemas of other people's tools, as far as they can be executed here. What cannot be is left to the tool itself, which gets
//! the arguments: the result accepts whatever the schema accepts, and perhaps more.

use super::{check::JsonType, format::StringFormat};
use regex_lite::Regex;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// Maximum parts of the result, references written out. What is beyond is not executed.
const MOST: usize = 2_000;
/// Maximum nesting of the result.
const DEEPEST: usize = 24;

/// `schema` with references written out, and without keywords and values that are not executed: unknown ones, annotations,
/// formats and patterns of other dialects, references to itself or elsewhere. `nullable` of OpenAPI adds null. A member with a
/// default is not required: generators of schemas list both, and their programs fill it in. Without a type it is one of an object,
/// which arguments and results are.
pub fn executable(schema: &Value) -> Value {
    let walk = Walk { root: schema, parts: Cell::new(0) };
    let mut found = walk.schema(schema, &mut Vec::new(), 0).value;
    if let Value::Object(words) = &mut found {
        words.entry("type").or_insert_with(|| "object".into());
    }
    found
}

/// A part that is executed, and whether it says all that the original does.
struct Part {
    value: Value,
    is_exact: bool,
}

struct Walk<'a> {
    root: &'a Value,
    parts: Cell<usize>,
}

impl<'a> Walk<'a> {
    fn schema(&self, schema: &'a Value, refs: &mut Vec<&'a str>, depth: usize) -> Part {
        self.parts.set(self.parts.get() + 1);
        let words = match schema {
            Value::Bool(_) => return Part { value: schema.clone(), is_exact: true },
            Value::Object(words) if depth <= DEEPEST && self.parts.get() <= MOST => words,
            _ => return Part { value: Value::Bool(true), is_exact: false },
        };
        let (mut kept, mut is_exact) = (Map::new(), true);
        for (word, value) in words {
            is_exact &= self.word(word, value, words, &mut kept, refs, depth);
        }
        if words.get("nullable") == Some(&Value::Bool(true)) {
            add_null(&mut kept);
        }
        Part { value: kept.into(), is_exact }
    }

    /// Takes one keyword over. Returns whether nothing was lost.
    fn word(
        &self,
        word: &str,
        value: &'a Value,
        words: &'a Map<String, Value>,
        kept: &mut Map<String, Value>,
        refs: &mut Vec<&'a str>,
        depth: usize,
    ) -> bool {
        let tuple = words.contains_key("prefixItems") || words.get("items").is_some_and(Value::is_array);
        if let Some(is_well_formed) = plain(word, value) {
            if is_well_formed {
                kept.insert(word.to_owned(), value.clone());
            }
            return is_well_formed;
        }
        let mut put = |value: Value| kept.insert(word.to_owned(), value);
        match word {
            "required" => {
                let Some(names) = value.as_array().filter(|names| names.iter().all(Value::is_string)) else {
                    return false;
                };
                let has_default = |name: &&Value| {
                    words.get("properties").and_then(|all| all.get(name.as_str()?)?.get("default")).is_some()
                };
                let needed: Vec<Value> = names.iter().filter(|name| !has_default(name)).cloned().collect();
                let is_exact = needed.len() == names.len();
                put(needed.into());
                is_exact
            }
            "format" => {
                let is_known = value.as_str().and_then(StringFormat::named).is_some();
                if is_known {
                    put(value.clone());
                }
                // An annotation (JSON Schema 2020-12, section 7.2.1).
                true
            }
            "items" if tuple => false,
            "additionalProperties" if words.contains_key("patternProperties") => false,
            "items" | "additionalProperties" | "propertyNames" => {
                let part = self.schema(value, refs, depth + 1);
                put(part.value);
                part.is_exact
            }
            // The opposite of less is more.
            "not" => {
                let part = self.schema(value, refs, depth + 1);
                part.is_exact && put(part.value).is_none()
            }
            "if" => self.condition(value, words, kept, refs, depth),
            "then" | "else" => true,
            "properties" => {
                let Some(properties) = value.as_object() else { return false };
                let (mut parts, mut is_exact) = (Map::new(), true);
                for (name, schema) in properties {
                    let part = self.schema(schema, refs, depth + 1);
                    is_exact &= part.is_exact;
                    parts.insert(name.clone(), part.value);
                }
                put(parts.into());
                is_exact
            }
            "allOf" | "anyOf" | "oneOf" => {
                let Some(parts) = value.as_array() else { return false };
                let parts: Vec<Part> = parts.iter().map(|part| self.schema(part, refs, depth + 1)).collect();
                let is_exact = parts.iter().all(|part| part.is_exact);
                let parts: Vec<Value> = parts.into_iter().map(|part| part.value).collect();
                // Of forms that say less, more than one may fit.
                let word = if word == "oneOf" && !is_exact { "anyOf" } else { word };
                add(kept, word, parts);
                is_exact
            }
            "$ref" => {
                let Some(pointer) = value.as_str().filter(|pointer| !refs.contains(pointer)) else { return false };
                let Some(target) = pointer.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) else {
                    return false;
                };
                refs.push(pointer);
                let part = self.schema(target, refs, depth + 1);
                refs.pop();
                add(kept, "allOf", vec![part.value]);
                part.is_exact
            }
            "patternProperties"
            | "prefixItems"
            | "contains"
            | "minContains"
            | "maxContains"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "$dynamicRef" => false,
            // Annotations, and keywords that JSON Schema does not have.
            _ => true,
        }
    }

    /// `if` with its branches, or nothing of them.
    fn condition(
        &self,
        condition: &'a Value,
        words: &'a Map<String, Value>,
        kept: &mut Map<String, Value>,
        refs: &mut Vec<&'a str>,
        depth: usize,
    ) -> bool {
        let condition = self.schema(condition, refs, depth + 1);
        if !condition.is_exact {
            return false;
        }
        kept.insert("if".to_owned(), condition.value);
        let mut is_exact = true;
        for branch in ["then", "else"] {
            if let Some(schema) = words.get(branch) {
                let part = self.schema(schema, refs, depth + 1);
                is_exact &= part.is_exact;
                kept.insert(branch.to_owned(), part.value);
            }
        }
        is_exact
    }
}

/// Whether the value of a keyword without schemas in it can be executed; `None`: another keyword.
fn plain(word: &str, value: &Value) -> Option<bool> {
    Some(match word {
        "type" => {
            let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            names.iter().all(|name| JsonType::named(name).is_some())
        }
        "enum" => value.is_array(),
        "const" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.is_u64(),
        "uniqueItems" => value.is_boolean(),
        "pattern" => value.as_str().is_some_and(|pattern| Regex::new(pattern).is_ok()),
        _ => return None,
    })
}

/// Adds the parts to those of the same keyword; a second "anyOf" is one more condition.
fn add(kept: &mut Map<String, Value>, word: &str, parts: Vec<Value>) {
    match (word, kept.get_mut(word)) {
        ("allOf", Some(Value::Array(all))) => all.extend(parts),
        (_, Some(_)) => add(kept, "allOf", vec![json!({ word: parts })]),
        (_, None) => drop(kept.insert(word.to_owned(), parts.into())),
    }
}

fn add_null(kept: &mut Map<String, Value>) {
    match kept.get_mut("type") {
        Some(Value::Array(names)) => names.push("null".into()),
        Some(one) => *one = json!([one.take(), "null"]),
        None => {}
    }
    if let Some(Value::Array(members)) = kept.get_mut("enum")
        && !members.contains(&Value::Null)
    {
        members.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Checker, *};

    #[track_caller]
    fn checker(schema: &Value) -> Checker {
        Checker::new(&executable(schema)).unwrap_or_else(|why| panic!("{schema}: {why}"))
    }

    #[track_caller]
    fn fits(schema: &Value, good: &[Value], bad: &[Value]) {
        let checker = checker(schema);
        for value in good {
            assert!(checker.check(value).is_ok(), "{schema} refuses {value}");
        }
        for value in bad {
            assert!(checker.check(value).is_err(), "{schema} takes {value}");
        }
    }

    /// As zod writes schemas of what it fills in, for @playwright/mcp and others.
    #[test]
    fn a_member_with_a_default_is_not_required() {
        let properties =
            json!({ "scale": { "default": "css", "enum": ["css", "device"] }, "target": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["scale", "target"] });
        fits(
            &schema,
            &[json!({ "target": "e2" }), json!({ "target": "e2", "scale": "css" })],
            &[json!({ "scale": "css" }), json!({ "target": "e2", "scale": "x" })],
        );
        let other = json!({ "not": schema });
        fits(&other, &[json!({}), json!({ "target": "e2" })], &[]);
    }

    #[test]
    fn annotations_and_other_dialects_are_no_reason_to_refuse_a_tool() {
        fits(
            &json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "title": "X", "additionalProperties": false, "required": ["url"],
                "properties": {
                    "url": {"type": "string", "format": "uri", "minLength": 1},
                    "data": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
                    "at": {"type": "string", "format": "date-time"},
                    "size": {"type": "integer", "exclusiveMinimum": true, "minimum": 0, "markdownDescription": "x"},
                    "name": {"type": "string", "pattern": "^(?!x)\\p{L}+$"},
                    "mode": {"type": "string", "nullable": true, "enum": ["a", "b"]},
                },
            }),
            &[
                json!({"url": "a:b", "data": "Zm9v", "size": 0, "name": "xx", "mode": null}),
                json!({"url": "a:b", "mode": "a", "at": "2026-11-29T00:00:00Z"}),
            ],
            &[
                json!({}),
                json!({"url": ""}),
                json!({"url": "a", "more": 1}),
                json!({"url": "a", "mode": "c"}),
                json!([]),
            ],
        );
    }

    #[test]
    fn references_are_followed_and_those_to_itself_once() {
        let tree = json!({
            "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
            "properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"],
        });
        let deep = json!({"root": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}});
        fits(
            &tree,
            &[deep],
            &[
                json!({}),
                json!({"root": {}}),
                json!({"root": {"name": 1}}),
                json!({"root": {"name": "a", "children": 1}}),
            ],
        );
        let elsewhere =
            json!({"properties": {"a": {"$ref": "https://example.com/schema"}, "b": {"$ref": "#/nowhere"}}});
        fits(&elsewhere, &[json!({"a": 1, "b": "x"})], &[]);
        // Each reference doubles the parts: what is too large is not executed, and ends.
        let mut defs = Map::new();
        defs.insert("n0".into(), json!({"type": "string"}));
        for n in 1..40 {
            let below = json!({"$ref": format!("#/$defs/n{}", n - 1)});
            defs.insert(format!("n{n}"), json!({"properties": {"a": below, "b": below}}));
        }
        checker(&json!({"$defs": defs, "properties": {"x": {"$ref": "#/$defs/n39"}}}));
    }

    #[test]
    fn what_is_not_executed_never_makes_a_schema_stricter() {
        let pattern = json!({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false});
        fits(&pattern, &[json!({"x1": "a"}), json!({"x1": 1})], &[json!(1)]);
        fits(&json!({"properties": {"a": {"not": pattern}}}), &[json!({"a": 1}), json!({"a": {}})], &[]);
        let one = json!({"properties": {"a": {"oneOf": [{"prefixItems": [{"type": "string"}]}, {"type": "array"}]}}});
        fits(&one, &[json!({"a": [1]}), json!({"a": ["x"]})], &[]);
        let conditional =
            json!({"if": {"dependentRequired": {"a": ["b"]}}, "then": false, "else": {"required": ["c"]}});
        fits(&conditional, &[json!({})], &[]);
        let tuple = json!({"properties": {"t": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}}});
        fits(&tuple, &[json!({"t": ["a", 1]})], &[json!({"t": "a"})]);
    }

    #[test]
    fn several_conditions_of_one_kind_all_hold() {
        let schema = json!({
            "$defs": {"a": {"required": ["a"]}},
            "anyOf": [{"required": ["x"]}, {"required": ["y"]}],
            "oneOf": [{"required": ["p"], "contains": {}}, {"required": ["q"]}],
            "$ref": "#/$defs/a", "allOf": [{"required": ["z"]}],
        });
        let all = json!({"a": 1, "x": 1, "p": 1, "z": 1});
        fits(&schema, std::slice::from_ref(&all), &[]);
        for name in ["a", "x", "p", "z"] {
            let mut less = all.clone();
            less.as_object_mut().unwrap().remove(name);
            fits(&schema, &[], &[less]);
        }
    }

    #[test]
    fn nulls_that_a_schema_has_are_passed_on_and_others_taken_out() {
        let schema = json!({"properties": {
            "a": {"type": ["string", "null"]}, "b": {"type": "string"}, "c": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "d": {"type": "string", "nullable": true},
        }});
        let mut args = json!({"a": null, "b": null, "c": null, "d": null});
        checker(&schema).without_nulls(&mut args);
        assert_eq!(args, json!({"a": null, "c": null, "d": null}));
    }
}
