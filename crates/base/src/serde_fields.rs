//! What the fields of stored types have in common.

/// For serde's `skip_serializing_if`: a number that is its default is left out, as in versions that had no such field.
pub fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
