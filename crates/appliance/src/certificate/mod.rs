//! Certificates of this machine's own making, and their fingerprints.

mod fingerprint;
mod made;

pub use fingerprint::Fingerprint;
pub use made::*;
