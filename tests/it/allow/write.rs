//! The writer: what it writes, beside whom, and when it writes nothing.

use super::{close, grant, open, perform};
use base::error::ErrorCode;
use contract::{
    config::{self, Places, Sources, fragment_of},
    meta::Mode,
};
use raspi_mcp::{
    allow::{GrantAction, all},
    registry::Registry,
};
use std::{fs, os::unix::fs::MetadataExt};
use tempfile::TempDir;

fn sources(root: &TempDir) -> Sources {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let tools = registry.rows().map(|entry| (entry.name(), entry.meta.mode)).collect();
    Sources::new(Places::below(root.path()), tools)
}

fn site(sources: &Sources, name: &str, text: &str) {
    fs::create_dir_all(&sources.places.site_dir).unwrap();
    fs::write(sources.places.site_dir.join(name), text).unwrap();
}

#[test]
fn a_fragment_adds_to_what_others_say_and_keeps_who_and_when() {
    let root = TempDir::new().unwrap();
    let sources = sources(&root);
    site(&sources, "90-mine.toml", "[tools]\nenable = [\"system\"]\n[gpio]\nallow = [4]\n");
    let mut one = grant("gpio.write_pin", &["loopback"]);
    one.pins.insert(17);
    one.at = "2026-11-24T21:40:00.000Z".into();
    let done = open(one.clone(), &sources).unwrap();
    open(grant("service.restart", &[]), &sources).unwrap();
    let settings = config::load(&sources).unwrap();
    assert_eq!((settings.tools.allow.len(), settings.tools.enable.len(), settings.gpio.allow.len()), (2, 1, 1));
    assert_eq!(settings.tools.allow[0], one);
    assert_eq!(fs::metadata(&done.path).unwrap().mode() & 0o777, 0o644, "the server's user reads it");
    assert_eq!(all(&sources).unwrap().len(), 2);
    assert_eq!(config::load_agent(&sources).unwrap().tools.allow, settings.tools.allow);
}

#[test]
fn a_policy_is_set_only_where_the_default_denies_or_a_person_is_to_be_asked() {
    let root = TempDir::new().unwrap();
    let sources = sources(&root);
    let mode = |tool: &str| config::load(&sources).unwrap().policy.get(tool).copied();
    open(grant("system.reboot", &["stdio"]), &sources).unwrap();
    assert_eq!(mode("system.reboot"), None, "a person is asked still");
    perform(grant("gpio.write_pin", &[]), GrantAction::Open { ask: true }, &sources).unwrap();
    assert_eq!(mode("gpio.write_pin"), Some(Mode::Ask));
    assert_eq!(open(grant("system.shutdown", &[]), &sources).unwrap().mode, Mode::Allow);
    close(grant("gpio.write_pin", &[]), &sources).unwrap();
    assert_eq!(mode("gpio.write_pin"), None);
}

#[test]
fn what_would_not_help_or_would_be_lost_is_not_written() {
    let root = TempDir::new().unwrap();
    let sources = sources(&root);
    let path = fragment_of(&sources.places.site_dir, "gpio");
    let refused = |says: &str, code: ErrorCode| {
        let refused = open(grant("gpio.write_pin", &[]), &sources).unwrap_err();
        assert!(refused.message.contains(says) && refused.code == code, "{refused:?}");
    };
    site(&sources, "90-mine.toml", "[tools]\ndisable = [\"gpio\"]\n");
    refused("tools.disable", ErrorCode::PermissionDenied);
    site(&sources, "90-mine.toml", "[policy]\n\"gpio.write_pin\" = \"deny\"\n");
    refused("would not help", ErrorCode::PermissionDenied);
    site(&sources, "90-mine.toml", "[gpio\n");
    refused("not understood", ErrorCode::InvalidArgument);
    site(&sources, "90-mine.toml", "");
    assert!(!path.exists());
    site(&sources, "50-allow-gpio.toml", "[gpio]\nsafe_low = [17]\n");
    refused("does not write gpio.safe_low", ErrorCode::InvalidArgument);
    assert_eq!(fs::read_to_string(&path).unwrap(), "[gpio]\nsafe_low = [17]\n");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(root.path().join("elsewhere"), &path).unwrap();
    refused("not a regular file", ErrorCode::InvalidArgument);
    assert!(!root.path().join("elsewhere").exists());
    fs::remove_file(&path).unwrap();
    let nothing = close(grant("gpio.write_pin", &[]), &sources).unwrap_err();
    assert_eq!(nothing.code, ErrorCode::NotFound);
}

#[test]
fn a_folder_that_is_none_or_that_others_can_write_is_refused() {
    let root = TempDir::new().unwrap();
    let mut sources = sources(&root);
    fs::create_dir_all(root.path().join("etc")).unwrap();
    fs::write(&sources.places.site_dir, "a file").unwrap();
    let refused = open(grant("gpio.write_pin", &[]), &sources).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable, "{refused:?}");
    fs::remove_file(&sources.places.site_dir).unwrap();
    // As on an installed system, with this user in root's place.
    sources.places.policy_owner = Some(rustix::process::getuid().as_raw());
    fs::create_dir(root.path().join("real")).unwrap();
    std::os::unix::fs::symlink(root.path().join("real"), &sources.places.site_dir).unwrap();
    let refused = open(grant("gpio.write_pin", &[]), &sources).unwrap_err();
    assert!(refused.message.contains("symbolic link"), "{refused:?}");
    fs::remove_file(&sources.places.site_dir).unwrap();
    fs::create_dir(&sources.places.site_dir).unwrap();
    let loose = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(&sources.places.site_dir, loose).unwrap();
    let refused = open(grant("gpio.write_pin", &[]), &sources).unwrap_err();
    assert!(refused.message.contains("somebody else"), "{refused:?}");
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let root = TempDir::new().unwrap();
    let sources = sources(&root);
    std::thread::scope(|scope| {
        for pin in 2..=17 {
            let sources = &sources;
            scope.spawn(move || {
                let mut one = grant("gpio.write_pin", &[]);
                one.pins.insert(pin);
                open(one, sources).unwrap();
            });
        }
    });
    let kept = all(&sources).unwrap();
    assert_eq!((kept.len(), kept[0].grants.len(), kept[0].grants[0].pins.len()), (1, 1, 16));
    let files = fs::read_dir(&sources.places.site_dir).unwrap().count();
    assert_eq!(files, 1, "no temporary file is left");
}

#[test]
fn a_grant_is_checked_when_it_is_read() {
    let root = TempDir::new().unwrap();
    let sources = sources(&root);
    for (text, says) in [
        ("tool = \"gpio.write_pins\"", "did you mean \"gpio.write_pin\"?"),
        ("tool = \"gpio.write_pin\"\npins = [1]", "tools.allow.pins"),
        ("tool = \"gpio.write_pin\"\nfor = [\"laptop\"]", "token:NAME"),
        ("tool = \"i2c.read\"\ndevices = [\"1\"]", "1:0x48"),
        ("tool = \"files.read\"\npaths = [\"notes\"]", "full paths of folders"),
        ("tool = \"files.read\"\npaths = [\"/srv/../etc\"]", "full paths of folders"),
        ("tool = \"files.read\"\npaths = [\"/etc/ssl\"]", "apart from /etc"),
        ("tool = \"files.read\"\npaths = [\"/\"]", "apart from /etc"),
        ("pins = [17]", "this grant has no tool"),
        ("tool = \"gpio.write_pin\"\npin = 17", "unknown key"),
    ] {
        site(&sources, "10-site.toml", &format!("[[tools.allow]]\n{text}\n"));
        let faults = config::load(&sources).unwrap_err().to_string();
        assert!(faults.contains(says), "{faults}");
    }
}
