//! `[[files.roots]]`: what a folder for `files.*` may be, and what it must never lay open.

use super::Machine;
use std::{fs, os::unix::fs::symlink};

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

fn root(name: &str, path: &str) -> String {
    format!("[[files.roots]]\nname = \"{name}\"\npath = \"{path}\"\n")
}

impl Machine {
    /// A root at a folder of this machine.
    fn with_root(self, path: &str) -> Self {
        let text = root("data", &self.path(path).display().to_string());
        self.site(&text)
    }
}

#[test]
fn there_are_none_until_somebody_names_one() {
    assert!(Machine::new().starts().files.roots.is_empty());
}

#[test]
fn those_of_all_files_count_together_and_names_differ() {
    let pi = Machine::new();
    let (data, music) = (pi.path("/srv/data").display().to_string(), pi.path("/srv/music").display().to_string());
    let more = root("music", &music) + "writable = true\nmax_bytes = 4096\n";
    let settings = pi.site(&root("data", &data)).file("/etc/raspi-mcp/20.toml", more).starts();
    let roots = &settings.files.roots;
    assert_eq!((roots[0].name.as_str(), roots[0].writable, roots[0].max_bytes), ("data", false, 16 << 20));
    assert_eq!((roots[1].name.as_str(), roots[1].writable, roots[1].max_bytes), ("music", true, 4096));

    let twice = Machine::new().site(&root("data", "/srv/a")).file("/etc/raspi-mcp/20.toml", root("data", "/srv/b"));
    assert_eq!(
        twice.refuses(),
        ["/etc/raspi-mcp/20.toml:1:9: there is a root named \"data\" already; names must differ"]
    );
}

#[test]
fn every_field_says_what_it_wants() {
    let pi = Machine::new().site(
        "[[files.roots]]\nname = \"My Data\"\npath = \"srv/../data\"\nwritable = \"yes\"\nmax_bytes = 5\nreadonly = true\n\
         [[files.roots]]\n",
    );
    assert_eq!(
        pi.refuses(),
        [
            format!("{SITE}:2:8: files.roots.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\""),
            format!(
                "{SITE}:3:8: files.roots.path must be a full path without \"..\", like \"/var/lib/raspi-mcp\", not \"srv/../data\""
            ),
            format!("{SITE}:4:12: files.roots.writable must be true or false, not \"yes\""),
            format!(
                "{SITE}:5:13: files.roots.max_bytes must be a whole number of bytes from 1024 (1 KiB) to 1073741824 (1 GiB), not 5"
            ),
            format!("{SITE}:6:1: unknown key \"readonly\" in [[files.roots]]"),
            format!("{SITE}:7:1: this root has no name; every [[files.roots]] needs name and path"),
            format!("{SITE}:7:1: this root has no path; every [[files.roots]] needs name and path"),
        ]
    );
    let plain = Machine::new().site("[files]\nroots = \"/srv\"\n").refuses().concat();
    assert!(plain.contains("files.roots must be tables [[files.roots]]"), "{plain}");
    let many: String = (0..33).map(|n| root(&format!("r{n}"), &format!("/srv/{n}"))).collect();
    assert!(Machine::new().site(&many).refuses().concat().contains("at most 32"), "33 roots");
}

#[test]
fn only_a_file_names_them() {
    let by_variable = Machine::new().variable("RASPI_MCP__FILES__ROOTS", "/srv").refuses().concat();
    assert!(by_variable.contains("can only be set in a file"), "{by_variable}");
    let by_state = Machine::new().state(&root("data", "/srv")).restricted().concat();
    assert!(by_state.contains("a state fragment may not set files.roots"), "{by_state}");
}

#[test]
fn none_overlaps_what_is_not_for_callers_in_either_direction() {
    // The folder itself, one inside it, and one around it.
    for path in ["/var/lib/raspi-mcp", "/var/lib/raspi-mcp/files", "/var/lib", "/etc/raspi-mcp", "/etc", "/usr/lib"] {
        let refused = Machine::new().with_root(path).refuses().concat();
        assert!(refused.contains("files.roots: data is") && refused.contains("which overlaps"), "{path}: {refused}");
    }
    for path in ["/", "/run", "/run/raspi-mcp", "/dev/shm", "/proc/self", "/sys/class/gpio", "/var/run/user"] {
        let refused = Machine::new().site(&root("data", path)).refuses().concat();
        assert!(refused.contains("which overlaps"), "{path}: {refused}");
    }
    assert_eq!(Machine::new().with_root("/srv/data").starts().files.roots.len(), 1, "and this one is fine");
}

#[test]
fn a_symbolic_link_does_not_hide_an_overlap() {
    let pi = Machine::new();
    fs::create_dir_all(pi.path("/var/lib/raspi-mcp")).unwrap();
    fs::create_dir_all(pi.path("/srv")).unwrap();
    symlink(pi.path("/var/lib/raspi-mcp"), pi.path("/srv/innocent")).unwrap();
    let refused = pi.with_root("/srv/innocent/files").refuses().concat();
    assert!(refused.contains("which overlaps the state"), "{refused}");
}

#[test]
fn the_private_key_the_named_configuration_and_other_roots_are_guarded_too() {
    let pi = Machine::new();
    let key = pi.path("/srv/keys/key.pem").display().to_string();
    let refused = pi.with_root("/srv/keys").file("/etc/raspi-mcp/20.toml", format!("[tls]\nkey = \"{key}\"\n"));
    assert!(refused.refuses().concat().contains("overlaps the private key"));

    let mut pi = Machine::new();
    let (file, folder) = (pi.path("/srv/mine.toml"), pi.path("/srv").display().to_string());
    pi = pi.file("/srv/mine.toml", root("data", &folder));
    pi.sources.file = Some(file);
    assert!(pi.refuses().concat().contains("overlaps the configuration"));

    let pi = Machine::new();
    let (outer, inner) = (pi.path("/srv").display().to_string(), pi.path("/srv/in").display().to_string());
    let refused = pi.site(&(root("outer", &outer) + &root("inner", &inner))).refuses();
    assert_eq!(
        refused,
        [format!("{SITE}:1:9: files.roots: inner is /srv/in, which overlaps outer in /srv; a file must have one root")]
    );
}
