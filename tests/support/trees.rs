//! The captured trees, and how a test makes one of its own from them.

use base::os::Root;
use hw::{
    board::{Board, Choice},
    machine::Machine,
};
use std::{fs, path::Path};
use tempfile::TempDir;

/// `tests/fixtures/trees/<name>`; `tests/fixtures/trees/SOURCES.md` says where they come from.
pub fn tree(name: &str) -> Root {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/trees").join(name);
    assert!(path.is_dir(), "there is no tree {name}");
    Root::at(path)
}

/// The machine under a root, with the board that `auto` finds.
pub fn machine(root: Root) -> Machine {
    machine_as(Choice::Auto, root)
}

pub fn machine_as(choice: Choice, root: Root) -> Machine {
    let board = Board::detect(choice, &root).unwrap();
    Machine::new(root, board, None)
}

/// A copy of a tree that a test may break.
pub struct Copied {
    dir: TempDir,
}

impl Copied {
    pub fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&tree(name).path(""), dir.path());
        Self { dir }
    }
    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }
    pub fn root(&self) -> Root {
        Root::at(self.dir.path())
    }
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }
    pub fn without(&self, path: &str) -> &Self {
        let path = self.dir.path().join(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        self
    }
    pub fn link(&self, from: &str, to: &str) -> &Self {
        let path = self.dir.path().join(from);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }
    /// A program at `file` that runs `body`.
    pub fn script(&self, file: &str, body: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt;
        self.write(file, format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(self.dir.path().join(file), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
