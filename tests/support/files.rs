//! A server with two folders for `files.*`: one root to write in, one to read.

use super::served::{Answer, Pi};
use contract::config::{FileRoot, Settings};
use ring::digest;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A server with two roots: `data`, writable, up to 1 MiB a file, and `docs`, to be read.
pub struct Files {
    pub pi: Pi,
    home: TempDir,
}

impl Files {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let home = TempDir::new().unwrap();
        let root = |name: &str, writable| {
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            FileRoot { name: name.into(), path, writable, max_bytes: 1 << 20, index: false }
        };
        let roots = vec![root("data", true), root("docs", false)];
        let pi = Pi::standard(|settings| {
            settings.files.roots = roots;
            settings.tools.enable.insert("files".into());
            settings.limits.reads_per_minute = 1_000_000;
            settings.limits.writes_per_minute = 1_000_000;
            change(settings);
        })
        .await;
        Self { pi, home }
    }

    /// A path in the root `data`.
    pub fn data(&self, name: &str) -> PathBuf {
        self.home.path().join("data").join(name)
    }
    pub fn docs(&self, name: &str) -> PathBuf {
        self.home.path().join("docs").join(name)
    }
    /// A path beside both roots, where no call may ever reach.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Makes a file in `data`, with its folders.
    pub fn has(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.data(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        self.pi.call(tool, args).await
    }

    /// Everything below a folder, hidden names too, as sorted paths.
    pub fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        below(&self.data(""), &mut all);
        let mut all: Vec<String> =
            all.iter().map(|path| path.strip_prefix(self.data("")).unwrap().display().to_string()).collect();
        all.sort();
        all
    }
}

fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        all.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            below(&entry.path(), all);
        }
    }
}

/// SHA-256, as the tools write it.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = digest::digest(&digest::SHA256, bytes.as_ref());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
