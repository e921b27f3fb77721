//! `[camera]`: which cameras, and where photos may be kept.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

fn refused(text: &str, words: &str) {
    let faults = Machine::new().site(text).refuses();
    assert!(faults.len() == 1 && faults[0].contains(words) && faults[0].starts_with(SITE), "{text}: {faults:?}");
}

#[test]
fn photos_lie_in_the_state_folder_and_no_camera_is_allowed() {
    let pi = Machine::new();
    let camera = pi.starts().camera;
    assert_eq!(camera.dir, pi.path("/var/lib/raspi-mcp/photos"));
    assert!(camera.allow.is_empty() && camera.public_url.is_empty());
    assert_eq!((camera.allowed(false), camera.allowed(true)), (vec![], vec!["*".to_owned()]));
}

#[test]
fn a_folder_of_photos_holds_nothing_else_of_ours() {
    for folder in ["/dev", "/proc/self", "/run", "/sys/x", "/etc/raspi-mcp", "/usr/lib"] {
        refused(&format!("[camera]\ndir = \"{folder}\"\n"), "give photos a folder of their own");
    }
    for folder in ["/var/lib/raspi-mcp", "/var/lib", "/var/lib/raspi-mcp-agent/photos", "/run/raspi-mcp"] {
        let pi = Machine::new();
        let text = format!("[camera]\ndir = \"{}\"\n", pi.path(folder).display());
        let faults = pi.site(&text).refuses();
        assert!(faults[0].contains("give photos a folder of their own"), "{folder}: {faults:?}");
    }
    refused("[camera]\ndir = \"photos\"\n", "must be a full path");
    refused("[camera]\ndir = \"/srv/../etc\"\n", "must be a full path");
    let pi = Machine::new();
    let text = format!("[camera]\ndir = \"{}\"\n", pi.path("/srv/photos").display());
    pi.site(&text).starts();
}

#[test]
fn each_key_has_its_bounds() {
    refused("[camera]\nmax_photos = 0\n", "camera.max_photos");
    refused("[camera]\nmax_bytes = 1000\n", "camera.max_bytes");
    refused("[camera]\nmax_age_days = 0\n", "camera.max_age_days");
    refused("[camera]\nwarmup_frames = 121\n", "camera.warmup_frames");
    refused("[camera]\nallow = [\"\"]\n", "camera.allow");
    refused("[camera]\nallow = \"/dev/video0\"\n", "camera.allow");
    for url in ["pi.local", "https://pi?x=", "javascript://x", "https://user@pi"] {
        refused(&format!("[camera]\npublic_url = \"{url}\"\n"), "camera.public_url");
    }
    let text = "[camera]\nallow = [\"HD Webcam*\", \"usb-0000:01:00.0-1.3\"]\npublic_url = \"https://pi.local:8765\"\n";
    assert_eq!(Machine::new().site(text).starts().camera.allow.len(), 2);
}

#[test]
fn the_state_folder_narrows_and_never_widens() {
    let site = "[camera]\nallow = [\"/dev/video0\", \"/dev/video2\"]\nmax_photos = 100\n";
    let narrowed = Machine::new().site(site).state("[camera]\nallow = [\"/dev/video2\"]\nmax_photos = 10\n").starts();
    assert_eq!((narrowed.camera.allow.len(), narrowed.camera.max_photos), (1, 10));
    for wider in ["allow = [\"*\"]", "max_photos = 101", "dir = \"/srv/x\"", "public_url = \"https://evil\""] {
        let settings = Machine::new().site(site).state(&format!("[camera]\n{wider}\n")).starts();
        assert!(settings.is_restricted(), "{wider}");
        assert_eq!((settings.camera.allow.len(), settings.camera.max_photos), (2, 100));
    }
}
