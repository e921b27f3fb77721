//! Compiles schemas.

use super::{
    check::{ArrayKeywords, Checker, JsonType, ObjectKeywords, SchemaNode, StringKeywords},
    format::StringFormat,
};
use regex_lite::Regex;
use serde_json::{Map, Value};
use std::cell::Cell;

/// Maximum nesting of schemas, including `$ref`. This program's schemas are inlined, and one that refers to itself
/// would not end.
const DEEPEST: usize = 32;
/// How many parts a schema may have, each `$ref` counted as often as it is used: references to references double with each
/// step. Our largest has a few hundred.
const LARGEST: usize = 10_000;

/// The schema as a whole, for `$ref`.
struct Root<'a> {
    schema: &'a Value,
    parts: Cell<usize>,
}

impl Checker {
    /// # Errors
    /// A sentence naming the keyword that is unknown or has an invalid value.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let root = Root { schema, parts: Cell::new(0) };
        SchemaNode::of(schema, &root, 0).map(Self)
    }
}

impl SchemaNode {
    fn of(schema: &Value, root: &Root<'_>, depth: usize) -> Result<Self, String> {
        if depth > DEEPEST {
            return Err(format!("a schema nests more than {DEEPEST} deep"));
        }
        root.parts.set(root.parts.get() + 1);
        if root.parts.get() > LARGEST {
            return Err(format!("a schema has more than {LARGEST} parts"));
        }
        let words = match schema {
            Value::Bool(all) => return Ok(Self { never: !all, ..Self::default() }),
            Value::Object(words) => words,
            other => return Err(format!("{other} is no schema")),
        };
        let mut node = Self::default();
        let of = |part: &Value| Self::of(part, root, depth + 1);
        for (word, value) in words {
            node.read(word, value, words, root, &of)?;
        }
        Ok(node)
    }

    fn read(
        &mut self,
        word: &str,
        value: &Value,
        words: &Map<String, Value>,
        root: &Root<'_>,
        of: &impl Fn(&Value) -> Result<SchemaNode, String>,
    ) -> Result<(), String> {
        let bad = || format!("{word} cannot be {value}");
        let count = || value.as_u64().map(Some).ok_or_else(bad);
        let several = || value.as_array().ok_or_else(bad)?.iter().map(of).collect::<Result<Vec<_>, _>>();
        match word {
            // Annotations, and containers of schemas for `$ref`.
            "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" | "$schema"
            | "$id" | "$comment" | "$defs" | "definitions" | "$anchor" => {}
            // Extensions of MCP (`x-mcp-header`).
            _ if word.starts_with("x-") => {}
            "$ref" => {
                let pointer = value.as_str().and_then(|text| text.strip_prefix('#')).ok_or_else(bad)?;
                self.all.push(of(root.schema.pointer(pointer).ok_or_else(bad)?)?);
            }
            "type" => {
                let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                self.types =
                    names.iter().map(|name| JsonType::named(name).ok_or_else(bad)).collect::<Result<_, _>>()?;
            }
            "enum" => self.one_of_these = Some(value.as_array().ok_or_else(bad)?.clone()),
            "const" => self.one_of_these = Some(vec![value.clone()]),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.bounds.get_or_insert_default().read(word, value.as_number().ok_or_else(bad)?);
            }
            "minLength" => self.text().shortest = count()?,
            "maxLength" => self.text().longest = count()?,
            "pattern" => {
                let pattern = value.as_str().ok_or_else(bad)?;
                self.text().pattern = Some(Regex::new(pattern).map_err(|error| format!("pattern {pattern}: {error}"))?);
            }
            "format" => self.text().format = Some(value.as_str().and_then(StringFormat::named).ok_or_else(bad)?),
            "items" => self.list().items = Some(of(value)?),
            "minItems" => self.list().fewest = count()?,
            "maxItems" => self.list().most = count()?,
            "uniqueItems" => self.list().unique = value.as_bool().ok_or_else(bad)?,
            "required" => {
                let names = value.as_array().ok_or_else(bad)?;
                let name = |name: &Value| name.as_str().map(str::to_owned).ok_or_else(bad);
                self.object().required = names.iter().map(name).collect::<Result<_, _>>()?;
            }
            "properties" => {
                let of = |(name, part): (&String, &Value)| Ok::<_, String>((name.clone(), of(part)?));
                self.object().properties =
                    value.as_object().ok_or_else(bad)?.iter().map(of).collect::<Result<_, _>>()?;
            }
            "additionalProperties" => self.object().others = Some(of(value)?),
            "propertyNames" => self.object().names = Some(of(value)?),
            "minProperties" => self.object().fewest = count()?,
            "maxProperties" => self.object().most = count()?,
            "allOf" => self.all.extend(several()?),
            "anyOf" => self.any = several()?,
            "oneOf" => self.one = several()?,
            "not" => self.not = Some(Box::new(of(value)?)),
            "if" => {
                let part = |word: &str| words.get(word).map_or_else(|| Ok(SchemaNode::default()), of);
                self.condition = Some(Box::new([of(value)?, part("then")?, part("else")?]));
            }
            // No effect without `if`, and read together with it.
            "then" | "else" => {}
            _ => return Err(format!("{word} is not a keyword this server executes")),
        }
        Ok(())
    }

    fn text(&mut self) -> &mut StringKeywords {
        self.text.get_or_insert_default()
    }
    fn list(&mut self) -> &mut ArrayKeywords {
        self.list.get_or_insert_default()
    }
    fn object(&mut self) -> &mut ObjectKeywords {
        self.object.get_or_insert_default()
    }
}

impl JsonType {
    pub(super) fn named(name: &Value) -> Option<Self> {
        Some(match name.as_str()? {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }
}
