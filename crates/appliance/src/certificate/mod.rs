//! Self-signed certificates of this machine, and their fingerprints.

mod fingerprint;
mod made;

pub use fingerprint::Fingerprint;
pub use made::*;
