//! Validates a value against a schema, and reports what is wrong where.
//!
//! JSON Schema 2020-12, with only the keywords that this program's types generate. An unknown keyword is an error when
//! the schema is compiled and is never ignored. `format` is enforced here; the draft makes it an annotation. The
//! `jsonschema` crate did this before, but with its five drafts and two regular expression engines it was an eighth of
//! the binary. The contract tests now compare with it.

use super::{
    fault::{SchemaError, Wrong},
    format::StringFormat,
    number::NumberBounds,
};
use regex_lite::Regex;
use serde_json::{Map, Value};

/// A compiled schema.
#[derive(Debug)]
pub struct Checker(pub(super) SchemaNode);

/// One schema of the tree. Absent keywords are empty.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// The schema `false`, which no value fits.
    pub(super) never: bool,
    pub(super) types: Vec<JsonType>,
    pub(super) one_of_these: Option<Vec<Value>>,
    pub(super) bounds: Option<Box<NumberBounds>>,
    pub(super) text: Option<Box<StringKeywords>>,
    pub(super) list: Option<Box<ArrayKeywords>>,
    pub(super) object: Option<Box<ObjectKeywords>>,
    pub(super) all: Vec<SchemaNode>,
    pub(super) any: Vec<SchemaNode>,
    pub(super) one: Vec<SchemaNode>,
    pub(super) not: Option<Box<SchemaNode>>,
    pub(super) condition: Option<Box<[SchemaNode; 3]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

#[derive(Debug, Default)]
pub(super) struct StringKeywords {
    pub(super) shortest: Option<u64>,
    pub(super) longest: Option<u64>,
    pub(super) pattern: Option<Regex>,
    pub(super) format: Option<StringFormat>,
}

#[derive(Debug, Default)]
pub(super) struct ArrayKeywords {
    pub(super) fewest: Option<u64>,
    pub(super) most: Option<u64>,
    pub(super) unique: bool,
    pub(super) items: Option<SchemaNode>,
}

#[derive(Debug, Default)]
pub(super) struct ObjectKeywords {
    pub(super) required: Vec<String>,
    pub(super) properties: Vec<(String, SchemaNode)>,
    pub(super) others: Option<SchemaNode>,
    pub(super) fewest: Option<u64>,
    pub(super) most: Option<u64>,
    pub(super) names: Option<SchemaNode>,
}

impl Checker {
    /// # Errors
    /// The first fault.
    pub fn check<'v>(&self, value: &'v Value) -> Result<(), SchemaError<'v>> {
        self.0.check(value)
    }

    pub fn fits(&self, value: &Value) -> bool {
        self.check(value).is_ok()
    }

    /// Removes optional properties that are null from `value`, where their schema has no null: models with strict schemas send
    /// every property, and null for those they do not use. A null for a required property stays, and is refused by [`Checker::check`].
    pub fn without_nulls(&self, value: &mut Value) {
        self.0.without_nulls(value);
    }
}

impl SchemaNode {
    fn without_nulls(&self, value: &mut Value) {
        let (Some(rules), Value::Object(map)) = (&self.object, value) else { return };
        for (name, property) in &rules.properties {
            match map.get_mut(name) {
                Some(Value::Null) if !rules.required.contains(name) && property.check(&Value::Null).is_err() => {
                    map.shift_remove(name);
                }
                Some(item) => property.without_nulls(item),
                None => {}
            }
        }
    }

    fn check<'v>(&self, value: &'v Value) -> Result<(), SchemaError<'v>> {
        let wrong = |wrong| Err(SchemaError::new(value, wrong));
        if self.never {
            return wrong(Wrong::Never);
        }
        if !self.types.is_empty() && !self.types.iter().any(|wanted| wanted.has(value)) {
            return wrong(Wrong::Type(self.types.clone()));
        }
        if let Some(these) = self.one_of_these.as_ref().filter(|these| !these.iter().any(|this| same(this, value))) {
            return wrong(Wrong::NoneOf(these.clone()));
        }
        match value {
            Value::Number(number) => {
                if let Some(said) = self.bounds.as_ref().and_then(|bounds| bounds.complaint(number)) {
                    return wrong(Wrong::Said(said));
                }
            }
            Value::String(text) => {
                if let Some(said) = self.text.as_ref().and_then(|rules| rules.complaint(text)) {
                    return wrong(Wrong::Said(said));
                }
            }
            Value::Array(items) => self.list.as_ref().map_or(Ok(()), |rules| rules.check(value, items))?,
            Value::Object(map) => self.object.as_ref().map_or(Ok(()), |rules| rules.check(value, map))?,
            Value::Null | Value::Bool(_) => {}
        }
        self.all.iter().try_for_each(|part| part.check(value))?;
        if !self.any.is_empty() && !self.any.iter().any(|part| part.check(value).is_ok()) {
            return wrong(Wrong::Said("fits none of the forms it can have".into()));
        }
        if !self.one.is_empty() && self.one.iter().filter(|part| part.check(value).is_ok()).count() != 1 {
            return wrong(Wrong::Said("does not fit exactly one of the forms it can have".into()));
        }
        if self.not.as_ref().is_some_and(|part| part.check(value).is_ok()) {
            return wrong(Wrong::Said("has a form that is not allowed".into()));
        }
        if let Some([condition, then, otherwise]) = self.condition.as_deref() {
            return if condition.check(value).is_ok() { then.check(value) } else { otherwise.check(value) };
        }
        Ok(())
    }
}

impl JsonType {
    fn has(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            // 7.0 is an integer (2020-12, section 6.1.1).
            (Self::Integer, Value::Number(number)) => {
                !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            _ => false,
        }
    }
}

/// Equality as in JSON Schema: 1 equals 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

impl StringKeywords {
    fn complaint(&self, text: &str) -> Option<String> {
        let length = (self.shortest.is_some() || self.longest.is_some()).then(|| text.chars().count() as u64);
        if let (Some(length), Some(shortest)) = (length, self.shortest.filter(|least| length < Some(*least))) {
            return Some(format!("has {length} characters, and {shortest} is the fewest"));
        }
        if let (Some(length), Some(longest)) = (length, self.longest.filter(|most| length > Some(*most))) {
            return Some(format!("has {length} characters, and {longest} is the most"));
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            return Some(format!("does not match {}", pattern.as_str()));
        }
        let format = self.format.filter(|format| !format.has(text))?;
        Some(format!("is no {}", format.name()))
    }
}

impl ArrayKeywords {
    fn check<'v>(&self, value: &'v Value, items: &'v [Value]) -> Result<(), SchemaError<'v>> {
        let wrong = |said: String| Err(SchemaError::new(value, Wrong::Said(said)));
        let length = items.len() as u64;
        if let Some(fewest) = self.fewest.filter(|fewest| length < *fewest) {
            return wrong(format!("has {length} items, and {fewest} is the fewest"));
        }
        if let Some(most) = self.most.filter(|most| length > *most) {
            return wrong(format!("has {length} items, and {most} is the most"));
        }
        if self.unique && (1..items.len()).any(|n| items[..n].iter().any(|before| same(before, &items[n]))) {
            return wrong("holds the same item twice".into());
        }
        let Some(rules) = &self.items else { return Ok(()) };
        let mut numbered = items.iter().enumerate();
        numbered.try_for_each(|(n, item)| rules.check(item).map_err(|fault| fault.inside(&n.to_string())))
    }
}

impl ObjectKeywords {
    fn check<'v>(&self, value: &'v Value, map: &'v Map<String, Value>) -> Result<(), SchemaError<'v>> {
        let wrong = |wrong| Err(SchemaError::new(value, wrong));
        // First, so that a misspelt name is not reported as a missing one.
        if let Some(others) = &self.others {
            for (name, item) in map {
                if self.properties.iter().any(|(known, _)| known == name) {
                    continue;
                }
                if others.never {
                    return wrong(Wrong::Unknown(name.clone()));
                }
                others.check(item).map_err(|fault| fault.inside(name))?;
            }
        }
        if let Some(missing) = self.required.iter().find(|name| !map.contains_key(*name)) {
            return wrong(Wrong::Missing(missing.clone()));
        }
        for (name, rules) in &self.properties {
            if let Some(item) = map.get(name) {
                rules.check(item).map_err(|fault| fault.inside(name))?;
            }
        }
        let count = map.len() as u64;
        if self.fewest.is_some_and(|fewest| count < fewest) || self.most.is_some_and(|most| count > most) {
            return wrong(Wrong::Said(format!("has {count} fields, which is not as many as it can have")));
        }
        let Some(names) = &self.names else { return Ok(()) };
        let unnamed = |name: &&String| names.check(&Value::String((*name).clone())).is_err();
        match map.keys().find(unnamed) {
            Some(name) => wrong(Wrong::Said(format!("cannot have a field called '{name}'"))),
            None => Ok(()),
        }
    }
}
