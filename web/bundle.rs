// Makes the files of the page out of `web/`, and those of the approval page out of `web/approval/`, for build.rs: all modules as one
// script, the hash of each file in its name, gzip.
//
// The sources are modules that a browser could load one by one; a page in one request less per module opens sooner over a slow
// network. All share one scope in the script, so a name that two modules declare is an error of its parser, which a test asks.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::Path,
};

/// One file of the page.
pub struct Made {
    pub path: String,
    pub content_type: &'static str,
    pub gzip: Vec<u8>,
}

/// The page at `/`, then what it loads: files whose paths begin with `prefix`. `main` is its first module; `hash` names content.
pub fn make(web: &Path, prefix: &str, main: &str, hash: impl Fn(&[u8]) -> String) -> io::Result<Vec<Made>> {
    let mut page = fs::read_to_string(web.join("index.html"))?;
    let style = without_comments(&fs::read_to_string(web.join("style.css"))?);
    let mut files = vec![
        (main, script(web, main)?, "text/javascript; charset=utf-8"),
        ("style.css", style, "text/css; charset=utf-8"),
    ];
    if web.join("icon.svg").exists() {
        files.push(("icon.svg", fs::read_to_string(web.join("icon.svg"))?, "image/svg+xml"));
    }
    let mut made = Vec::new();
    for (name, text, content_type) in files {
        let (stem, kind) = name.split_once('.').unwrap_or((name, ""));
        let path = format!("{prefix}{stem}.{}.{kind}", hash(text.as_bytes()));
        if !page.contains(&format!("\"{name}\"")) {
            return Err(io::Error::other(format!("{}/index.html does not load {name}", web.display())));
        }
        page = page.replace(&format!("\"{name}\""), &format!("\"{path}\""));
        made.push(Made { path, content_type, gzip: gzip(text.as_bytes())? });
    }
    made.insert(0, Made { path: "/".into(), content_type: "text/html; charset=utf-8", gzip: gzip(page.as_bytes())? });
    Ok(made)
}

/// All modules, each after those that it imports.
pub fn script(web: &Path, main: &str) -> io::Result<String> {
    let (mut seen, mut all) = (BTreeSet::new(), String::from("\"use strict\";\n"));
    add(web, main, &mut seen, &mut all)?;
    Ok(all)
}

fn add(web: &Path, name: &str, seen: &mut BTreeSet<String>, all: &mut String) -> io::Result<()> {
    if !seen.insert(name.to_owned()) {
        return Ok(());
    }
    let text = fs::read_to_string(web.join(name))
        .map_err(|error| io::Error::other(format!("{}/{name}: {error}", web.display())))?;
    let mut own = String::new();
    for line in text.lines() {
        if let Some(import) = line.strip_prefix("import ") {
            // `import { a, b } from "./other.js";`, in one line: nothing else is understood here.
            let from = import.split_once(" from \"./").and_then(|(_, rest)| rest.strip_suffix("\";"));
            let from = from.ok_or_else(|| {
                io::Error::other(format!("{}/{name}: this import is not understood: {line}", web.display()))
            })?;
            add(web, from, seen, all)?;
        } else {
            own.push_str(line.strip_prefix("export ").unwrap_or(line));
            own.push('\n');
        }
    }
    all.push_str(&without_comments(&own));
    Ok(())
}

/// Without lines that are a comment, and without indentation: no string of ours goes over several lines.
fn without_comments(text: &str) -> String {
    let is_comment = |line: &str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
