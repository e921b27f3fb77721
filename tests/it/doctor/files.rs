//! The folders of `files.*`: there and reachable, and what doctor says when they are not.

use super::{Machine, mode};
use contract::config::{FileRoot, Grant};
use raspi_mcp::doctor::Severity;

impl Machine {
    /// A root at /srv/data, as the configuration names it.
    fn with_files(mut self, path: &str, writable: bool) -> Self {
        let roots =
            vec![FileRoot { name: "data".into(), path: path.into(), writable, max_bytes: 1 << 20, index: false }];
        self.subject.settings.as_mut().expect("understood").0.files.roots = roots;
        self
    }
}

const DROP_IN: &str = "etc/systemd/system/raspi-mcp.service.d/override.conf";

#[test]
fn without_roots_there_is_nothing_to_say() {
    assert!(Machine::well().report().findings.iter().all(|finding| finding.about != "files root"));
}

#[test]
fn a_root_that_is_not_there_or_is_no_folder() {
    let machine = Machine::well().with_files("/srv/data", false);
    let wrong = machine.wrong();
    assert!(wrong.says.contains("/srv/data cannot be looked at"), "{wrong:?}");
    assert!(wrong.mend.unwrap().contains("install -d -o raspi-mcp /srv/data"));
    machine.tree.write("srv/data", "");
    assert!(machine.wrong().says.ends_with("is no folder"));
    machine.tree.without("srv/data").write("srv/data/file", "");
    mode(&machine.subject.root.path("srv/data"), 0o755);
    assert_eq!(machine.finding("files root").state, Severity::Ok);
}

#[test]
fn a_writable_root_needs_the_unit_to_say_so() {
    let machine = Machine::well().with_files("/srv/data", true);
    machine.tree.write("srv/data/file", "");
    mode(&machine.subject.root.path("srv/data"), 0o777);
    let wrong = machine.wrong();
    assert!(wrong.says.contains("read-only for the service"), "{wrong:?}");
    assert!(wrong.mend.unwrap().contains("ReadWritePaths=/srv/data"));
    machine.tree.write(DROP_IN, "[Service]\nReadWritePaths=/srv/database\n");
    assert!(machine.wrong().says.contains("read-only for the service"), "another folder with a longer name");
    for line in ["ReadWritePaths=/var/x -/srv/data", "ReadWritePaths = \"/srv\"", "  ReadWritePaths=+/srv/data"] {
        machine.tree.write(DROP_IN, format!("[Service]\n{line}\n"));
        assert_eq!(machine.finding("files root").state, Severity::Ok, "{line}");
    }
}

#[test]
fn a_granted_folder_is_looked_at_as_a_root_is() {
    let mut machine = Machine::well();
    let granted = Grant { tool: "files.write".into(), paths: vec!["/srv/notes".into()], ..Grant::default() };
    machine.subject.settings.as_mut().expect("understood").0.tools.allow = vec![granted.clone()];
    machine.tree.write("srv/notes/file", "");
    mode(&machine.subject.root.path("srv/notes"), 0o777);
    assert!(machine.wrong().mend.unwrap().contains("ReadWritePaths=/srv/notes"));
    let reads = Grant { tool: "files.read".into(), ..granted };
    machine.subject.settings.as_mut().expect("understood").0.tools.allow = vec![reads];
    assert_eq!(machine.finding("files root").state, Severity::Ok);
}

#[test]
fn a_root_in_a_home_is_hidden_from_the_service() {
    let machine = Machine::well().with_files("/home/ann/files", false);
    machine.tree.write("home/ann/files/file", "");
    mode(&machine.subject.root.path("home/ann/files"), 0o755);
    assert!(machine.wrong().says.contains("ProtectHome="));
    machine.tree.write(DROP_IN, "[Service]\nProtectHome=read-only\n");
    assert_eq!(machine.finding("files root").state, Severity::Ok);
}

#[test]
fn the_account_needs_the_right_to_it() {
    let machine = Machine::well().with_files("/srv/data", false);
    machine.tree.write("srv/data/file", "");
    mode(&machine.subject.root.path("srv/data"), 0o700);
    let wrong = machine.wrong();
    assert!(wrong.says.contains("raspi-mcp may not read /srv/data"), "{wrong:?}");
    mode(&machine.subject.root.path("srv/data"), 0o755);
    assert_eq!(machine.finding("files root").state, Severity::Ok);
    machine.tree.write("proc/sys/fs/protected_hardlinks", "0\n");
    assert!(machine.wrong().says.contains("protected_hardlinks"));
}
