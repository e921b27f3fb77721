//! Whose tokens `fleet.call` uses.

use base::error::ErrorCode;
use raspi_mcp::fleet_port::callers::FleetCallers;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;

/// A folder of four devices where "stdio" has a token for the kitchen.
pub fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("devices")).unwrap();
    for device in ["attic", "garage", "kitchen", "shed"] {
        fs::write(folder.path().join("devices").join(format!("{device}.json")), "{}").unwrap();
    }
    fs::write(folder.path().join("serve.toml"), "[[callers]]\nname = \"stdio\"\ntokens = \"tokens/ann\"\n").unwrap();
    fs::create_dir_all(folder.path().join("tokens/ann")).unwrap();
    token(folder.path(), "kitchen", "secret-of-ann\n", 0o600);
    folder
}

fn token(folder: &Path, device: &str, text: &str, mode: u32) {
    let file = folder.join("tokens/ann").join(device);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_token_is_the_callers_own_and_nobody_elses_to_read() {
    let folder = folder();
    let callers = FleetCallers::read(folder.path()).unwrap();
    assert_eq!(callers.token("stdio", "kitchen").unwrap(), "secret-of-ann");
    token(folder.path(), "attic", "open", 0o644);
    token(folder.path(), "garage", "two words", 0o600);
    for (caller, device, says) in [
        ("stdio", "shed", "tokens/ann/shed: this file is missing"),
        ("stdio", "attic", "everybody on this machine may read this token"),
        ("stdio", "garage", "it holds no token"),
        ("bob", "kitchen", "has no [[callers]] with the name \"bob\""),
    ] {
        let error = callers.token(caller, device).unwrap_err();
        assert!(error.code == ErrorCode::PermissionDenied && error.message.contains(says), "{}", error.message);
    }
    // A device that there is not is no question of tokens, even if a file of it was left behind.
    token(folder.path(), "barn", "secret", 0o600);
    for device in ["barn", "cellar"] {
        let error = callers.token("stdio", device).unwrap_err();
        assert!(error.code == ErrorCode::NotFound && error.message.contains(device), "{error}");
    }
    // No path leaves the folder.
    for device in ["../ann/kitchen", "/etc/passwd", ".", "..", ""] {
        assert_eq!(callers.token("stdio", device).unwrap_err().code, ErrorCode::InvalidArgument, "{device}");
    }
}

#[test]
fn serve_toml_is_read_strictly() {
    let folder = TempDir::new().unwrap();
    assert!(FleetCallers::read(folder.path()).unwrap().token("ann", "kitchen").is_err(), "no file, no token");
    for text in [
        "[[callers]]\nname = \"ann\"",
        "[[callers]]\nname = \"ann\"\ntokens = \"t\"\ntoken = \"x\"",
        "caller = 1",
        "[[callers]]\nname = \"\"\ntokens = \"t\"",
        "[[callers]]\nname = \"ann\"\ntokens = \"t\"\n[[callers]]\nname = \"ann\"\ntokens = \"u\"",
        "[[callers",
    ] {
        fs::write(folder.path().join("serve.toml"), text).unwrap();
        let error = FleetCallers::read(folder.path()).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(error.code == ErrorCode::InvalidArgument && error.message.contains("serve.toml"), "{}", error.message);
    }
}
