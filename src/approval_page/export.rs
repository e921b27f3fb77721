//! The approval page as files for any web server: one page, at a name of the owner's, for many devices.

use super::assets::ASSETS;
use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
};

/// The list of devices that the page reads, beside it.
const DEVICES: &str = "devices.json";
const EXAMPLE: &str = r#"[
  { "name": "porch", "url": "https://porch.example.org:8444", "id": "the device's ID: 64 digits, from `raspi-mcp approver add` or the claim" }
]
"#;
/// As that of a device's own page, with devices of any name. A `meta` element cannot forbid frames; the page does.
const HEAD: &str = r#"<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' https:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
<meta name="referrer" content="no-referrer">
<meta name="devices" content="devices.json">"#;

/// Writes the page into `folder`, which is made if there is none. A list of devices that is there already stays.
///
/// # Errors
/// A file that cannot be written, named; `gzip` is missing.
pub fn export(folder: &Path) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| named(folder, error))?;
    let mut files = vec![(DEVICES, EXAMPLE.to_owned())];
    for asset in ASSETS {
        let text = unpacked(asset.gzip)?;
        files.push(match asset.path {
            // Relative, so that it may lie in any folder of the web server.
            "/" => ("index.html", text.replacen(r#"<meta charset="utf-8">"#, HEAD, 1).replace(r#"="/"#, r#"=""#)),
            path => (path.trim_start_matches('/'), text),
        });
    }
    for (name, text) in files {
        let path = folder.join(name);
        if name != DEVICES || !path.exists() {
            fs::write(&path, text).map_err(|error| named(&path, error))?;
        }
    }
    Ok(())
}

/// By `gzip`, which every system has: the program itself packs and unpacks none.
fn unpacked(gzip: &[u8]) -> io::Result<String> {
    let mut command = Command::new("gzip");
    let mut child = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("gzip cannot be started ({error}); install it, then try again"))
    })?;
    // Less than a pipe holds, so neither waits for the other.
    if let Some(mut input) = child.stdin.take() {
        input.write_all(gzip)?;
    }
    String::from_utf8(child.wait_with_output()?.stdout).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_the_page_with_its_policy_and_a_list_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("www/approvals");
        export(&at).unwrap();
        let page = fs::read_to_string(at.join("index.html")).unwrap();
        assert!(page.contains("connect-src 'self' https:;") && page.contains(r#"name="devices""#), "{page}");
        assert_eq!(page.matches("charset").count(), 1);
        for asset in &ASSETS[1..] {
            let name = asset.path.trim_start_matches('/');
            assert!(page.contains(&format!("=\"{name}\"")), "{name} in {page}");
            let text = fs::read_to_string(at.join(name)).unwrap();
            assert!(text.len() > asset.gzip.len(), "{name} is unpacked");
        }
        let list: serde_json::Value = serde_json::from_slice(&fs::read(at.join(DEVICES)).unwrap()).unwrap();
        assert!(list[0]["url"].as_str().unwrap().starts_with("https://"));
        fs::write(at.join(DEVICES), "[]").unwrap();
        export(&at).unwrap();
        assert_eq!(fs::read_to_string(at.join(DEVICES)).unwrap(), "[]");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(export(&file).unwrap_err().to_string().contains("file"));
    }
}
