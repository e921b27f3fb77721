//! The operations table, and how a request is parsed with it: by its name, then its fields.

use super::{
    OPERATIONS,
    row::{AnyRequest, OperationRow},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, Visitor},
};
use std::fmt;

/// Builds [`OPERATIONS`](super::OPERATIONS) from `module::Operation` rows, in the order in which a refusal lists them.
macro_rules! operations {
    ($($module:ident::$operation:ident,)*) => {
        /// Every operation of the agent.
        pub static OPERATIONS: &[OperationRow] = &[$(OperationRow::of::<super::$module::$operation>(),)*];

        /// Their names on the wire.
        pub(super) const TAGS: &[&str] = &[$(<super::$module::$operation as Operation>::TAG,)*];

        /// Parses the fields of the operation `row`.
        pub(super) fn read<'de, A: VariantAccess<'de>>(row: &OperationRow, fields: A) -> Result<AnyRequest, A::Error> {
            $(if row.tag == <super::$module::$operation as Operation>::TAG {
                return AnyRequest::read::<super::$module::$operation, A>(fields);
            })*
            Err(A::Error::unknown_variant(row.tag, TAGS))
        }
    };
}
pub(super) use operations;

impl<'de> Deserialize<'de> for AnyRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Op", super::rows::TAGS, Request)
    }
}

struct Request;

impl<'de> Visitor<'de> for Request {
    type Value = AnyRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("enum Op")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<AnyRequest, A::Error> {
        let (row, fields) = data.variant_seed(Name)?;
        super::rows::read(row, fields)
    }
}

/// The name of an operation.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = &'static OperationRow;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static OperationRow, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = &'static OperationRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<&'static OperationRow, E> {
        let found = OPERATIONS.iter().find(|row| row.tag == name);
        found.ok_or_else(|| E::unknown_variant(name, super::rows::TAGS))
    }
}
