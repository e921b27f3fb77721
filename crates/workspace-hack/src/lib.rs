//! No code. Cargo gives a dependency the features that the packages of one command ask for, dev-dependencies included, so `cargo test`
//! compiled nearly everything again that `cargo build` had just compiled. This package asks for them in both. `cargo hakari` calls such a
//! package a workspace hack; this one is written by hand, since only dev-dependencies differ. Nothing depends on it.
//!
//! A new dev-dependency gets a line in this Cargo.toml: `./ci/test tests` fails if a test compiles anything that the build has compiled.
