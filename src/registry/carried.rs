//! The schemas that the files of `schemas/` promise, as a release carries them (build.rs says why).

use serde_json::Value;

/// Names of tools, sorted; the length of each one's schemas as JSON, and that JSON compressed by zstd.
type Files = &'static [(&'static str, (usize, &'static [u8]))];

/// zstd's dictionary for all of them, and the files.
const CARRIED: (&[u8], Files) = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// What the file `schemas/<namespace>/<stem>.json` holds of schemas: `inputSchema`, `outputSchema`, and `accepts` where it
/// has that.
pub fn schemas(namespace: &str, stem: &str) -> Value {
    let name = format!("{namespace}.{stem}");
    let (dictionary, files) = CARRIED;
    let at =
        files.binary_search_by_key(&&*name, |(name, _)| *name).expect("a contract test finds tools without a file");
    let (length, compressed) = files[at].1;
    let json = zstd::bulk::Decompressor::with_dictionary(dictionary)
        .and_then(|mut open| open.decompress(compressed, length))
        .expect("build.rs compressed it, to this length");
    serde_json::from_slice(&json).expect("build.rs wrote it")
}
