//! What a release changes: the file that says so, and a comparison of two roots that finds what it does not say.

use super::files::{self, failed, read};
use crate::cli::exit::Failure;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};
use update::bundle::{BundleContent, Changes, MAX_MANIFEST, Manifest, ServiceChanges, strict};

/// Where systemd looks for the files of units, below a root.
const UNITS: [&str; 4] =
    ["etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];

/// Reads the file for the manifest's `changes`.
pub(super) fn of_file(path: &Path) -> Result<Changes, Failure> {
    strict(&read(path, MAX_MANIFEST as u64)?, "the file of changes").map_err(|problem| failed(path, problem))
}

/// Warns of services that start with the machine in one root only and that `changes` does not name, and of what it names wrongly.
pub(super) fn warn_of_services(previous: &Path, root: &Path, changes: &ServiceChanges) -> Result<(), Failure> {
    let [before, after] = [previous, root].map(|root| enabled(root).map_err(|error| failed(root, error)));
    for warning in unsaid(&before?, &after?, changes) {
        eprintln!("warning: {warning}");
    }
    Ok(())
}

/// Warns of settings that the previous release knows, the new one does not, and `plan` does not name.
pub(super) fn warn_of_settings(previous: &Path, plan: &BundleContent) -> Result<(), Failure> {
    let before = Manifest::parse(&files::head(previous, &mut files::open(previous)?)?.manifest)?;
    for key in unsaid_settings(&before.config_keys, plan) {
        eprintln!(
            "warning: version {} knows {key}, and this one does not: devices on which it is set do not fetch the release. Name it in changes, in settings.drops or settings.renames, and they say why",
            before.version
        );
    }
    Ok(())
}

fn unsaid_settings<'a>(before: &'a [String], plan: &BundleContent) -> Vec<&'a String> {
    let said = |key: &&String| plan.changes.settings.describe(key, &plan.version).is_some();
    before.iter().filter(|key| !plan.config_keys.contains(key) && !said(key)).collect()
}

fn unsaid(before: &BTreeSet<String>, after: &BTreeSet<String>, changes: &ServiceChanges) -> Vec<String> {
    let gone = |name: &String| changes.drops.contains(name) || changes.renames.iter().any(|one| one.from == *name);
    let lost = before.difference(after).filter(|name| !gone(name)).map(|name| {
        format!("{name} does not start with the machine any more: where it was active, the trial fails. Keep it, or name it in changes, in services.drops or services.renames")
    });
    let wrong = changes.drops.iter().chain(changes.renames.iter().map(|one| &one.from));
    let there = wrong
        .filter(|name| after.contains(*name))
        .map(|name| format!("changes says that {name} is gone, and it still starts with the machine"));
    let come = changes.adds.iter().chain(changes.renames.iter().map(|one| &one.to));
    let missing = come.filter(|name| !after.contains(*name)).map(|name| {
        format!("changes says that {name} has to be active, and it does not start with the machine: each trial that expects it fails")
    });
    lost.chain(there).chain(missing).collect()
}

/// The services that start with the machine: those that a `.wants` or `.requires` folder of `/etc/systemd/system` names, whose unit is
/// there and not masked. A trial counts these.
fn enabled(root: &Path) -> io::Result<BTreeSet<String>> {
    let folder = root.join(UNITS[0]);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".wants") && !name.ends_with(".requires") || !entry.file_type()?.is_dir() {
            continue;
        }
        for link in fs::read_dir(entry.path())? {
            let name = link?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".service") && is_unit(root, &name) {
                found.insert(name);
            }
        }
    }
    Ok(found)
}

fn is_unit(root: &Path, name: &str) -> bool {
    let masked = |file: &PathBuf| fs::read_link(file).is_ok_and(|target| target == Path::new("/dev/null"));
    if masked(&root.join(UNITS[0]).join(name)) {
        return false;
    }
    // `getty@tty1.service` is an instance of `getty@.service`.
    let template = name.split_once('@').map(|(stem, _)| format!("{stem}@.service"));
    let names = [Some(name.to_owned()), template];
    let folders = UNITS.iter().map(|folder| root.join(folder));
    let mut files = folders.flat_map(|folder| names.iter().flatten().map(move |name| folder.join(name)));
    // Not followed: an absolute link in a root that is mounted elsewhere leads out of it.
    files.any(|file| fs::symlink_metadata(file).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;
    use update::bundle::Renamed;

    /// A root in which these services start with the machine.
    fn root(names: &[&str]) -> TempDir {
        let dir = TempDir::new().unwrap();
        let (wants, units) = (dir.path().join("etc/systemd/system/multi-user.target.wants"), dir.path().join(UNITS[2]));
        fs::create_dir_all(&wants).unwrap();
        fs::create_dir_all(&units).unwrap();
        for name in names {
            fs::write(units.join(name.replace("@tty1", "@")), "").unwrap();
            symlink(format!("/usr/lib/systemd/system/{name}"), wants.join(name)).unwrap();
        }
        dir
    }

    #[test]
    fn what_starts_with_the_machine_is_read_from_the_links() {
        let dir = root(&["web.service", "getty@tty1.service", "masked.service"]);
        let system = dir.path().join(UNITS[0]);
        symlink("/dev/null", system.join("masked.service")).unwrap();
        symlink("/usr/lib/systemd/system/gone.service", system.join("multi-user.target.wants/gone.service")).unwrap();
        fs::write(dir.path().join(UNITS[2]).join("off.service"), "").unwrap();
        assert_eq!(Vec::from_iter(enabled(dir.path()).unwrap()), ["getty@tty1.service", "web.service"]);
        let none = TempDir::new().unwrap();
        assert_eq!(enabled(none.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_the_changes_do_not_say_is_told() {
        let sets = [&["a.service", "b.service", "c.service"][..], &["c.service", "d.service"]];
        let [before, after] = sets.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
        let told = unsaid(&before, &after, &ServiceChanges::default());
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("a.service does not start") && told[1].starts_with("b.service"), "{told:?}");
        let said = ServiceChanges {
            drops: vec!["a.service".into()],
            renames: vec![Renamed { from: "b.service".into(), to: "d.service".into() }],
            adds: Vec::new(),
        };
        assert!(unsaid(&before, &after, &said).is_empty());
        let wrong = ServiceChanges { drops: vec!["c.service".into()], adds: vec!["e.service".into()], ..said };
        let told = unsaid(&before, &after, &wrong);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[1].contains("c.service is gone") && told[2].contains("e.service has to be active"), "{told:?}");
    }
}
