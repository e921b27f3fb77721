//! The root of trust: keys, thresholds, versions, rotation.
