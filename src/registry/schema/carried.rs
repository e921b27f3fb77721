//! The schemas that the files of `schemas/` promise, as a release carries them (build.rs says why).

use serde_json::Value;

/// Names of tools, sorted; the length of each one's schemas as JSON, and that JSON compressed by zstd.
const FILES: &[(&str, (usize, &[u8]))] = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// What the file of `tool` holds as `part`: `inputSchema` or `outputSchema`.
pub fn part(tool: &str, part: &str) -> Value {
    let at = FILES.binary_search_by_key(&tool, |(name, _)| *name).expect("a contract test finds tools without a file");
    let (length, compressed) = FILES[at].1;
    let json = zstd::bulk::decompress(compressed, length).expect("build.rs compressed it, to this length");
    let mut schemas: Value = serde_json::from_slice(&json).expect("build.rs wrote it");
    schemas[part].take()
}
