//! The schemas that the files of `schemas/` promise, as a release carries them (build.rs says why).

use serde_json::Value;

/// Names of tools, sorted, and the text of each one's file.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// What the file of `tool` holds as `part`: `inputSchema` or `outputSchema`.
pub fn part(tool: &str, part: &str) -> Value {
    let at = FILES.binary_search_by_key(&tool, |(name, _)| *name).expect("a contract test finds tools without a file");
    let mut file: Value = serde_json::from_str(FILES[at].1).expect("a contract test writes and reads them");
    file[part].take()
}
