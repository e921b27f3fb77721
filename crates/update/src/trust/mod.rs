//! The root of trust: keys, thresholds, versions, rotation.
//!
//! Every signature covers a prefix that names its [`Purpose`] and then the exact bytes, so that a signature is valid
//! for one purpose only.

mod key;
mod purpose;
mod roots;
mod sign;
mod signed;

pub use key::{PublicKey, SecretKey};
pub use purpose::Purpose;
pub use roots::{KeyRole, RootFile, RootOfTrust, VerifiedRelease};
pub use sign::sign;
pub use signed::{MAX_SIGNED, Signed};
