//! `[camera]`: which cameras may be used, and what is kept of their photos.

use super::own_folder::own_folder;
use crate::config::{
    declare::section,
    key::InState,
    kind::{GIB, MIB, SettingKind, bytes, count},
    settings::Settings,
};
use base::redact::shown_address;
use std::path::PathBuf;

section! {
    /// Cameras that `camera.*` may use, and limits for the photos that are kept.
    [camera] pub struct CameraSettings given places {
        /// Cameras that may take pictures, by path, name or location as `camera.list_cameras` shows them; `*` allows
        /// all. An empty list allows none; on a simulated board, all of its own.
        allow: Vec<String> = Vec::new(), SettingKind::Cameras, InState::Fewer;
        /// Folder in which photos are kept; by default `photos` in `places.state_dir`. Created with the first photo.
        /// For the service, a folder elsewhere also needs `ReadWritePaths=` in a drop-in (`systemctl edit raspi-mcp`).
        dir: PathBuf = places.state_dir.join("photos"), SettingKind::Folder, InState::Never;
        /// Maximum number of photos kept; the oldest are deleted first. Other files in the folder are left alone.
        max_photos: u32 = 500, count(1, 100_000), InState::Lower;
        /// Maximum size of all photos together.
        max_bytes: u64 = 256 * 1024 * 1024, bytes(MIB, 1024 * GIB), InState::Lower;
        /// Maximum age of photos. Older ones are deleted when the next one is taken.
        max_age_days: u32 = 30, count(1, 36_500), InState::Lower;
        /// Number of frames discarded before one is kept, so that exposure and colours have settled.
        // A third of a second of a webcam: exposure has settled by then.
        warmup_frames: u32 = 10, count(0, 120), InState::Free;
        /// Address of this server as others see it, like "https://pi.local:8765". Photos are served there under
        /// `/photos/`, to callers with a token. Empty: `public_url` is null.
        public_url: String = String::new(), SettingKind::Text, InState::Never;
    }
}

impl CameraSettings {
    /// The cameras that may be used. On a simulated board an empty list allows all.
    pub fn allowed(&self, simulated: bool) -> Vec<String> {
        if simulated && self.allow.is_empty() { vec!["*".into()] } else { self.allow.clone() }
    }
}

/// The violated rules between `[camera]` and other settings, each with its key.
pub fn faults(settings: &Settings) -> Vec<(&'static str, String)> {
    let camera = &settings.camera;
    let dir = own_folder("camera.dir", &camera.dir, settings, "give photos a folder of their own");
    let mut faults: Vec<_> = dir.into_iter().map(|message| ("camera.dir", message)).collect();
    if !camera.public_url.is_empty() && !is_base(&camera.public_url) {
        faults.push((
            "camera.public_url",
            format!(
                "camera.public_url is \"{}\"; it must look like \"https://pi.local:8765\"",
                shown_address(&camera.public_url)
            ),
        ));
    }
    faults
}

/// Whether it is a scheme and a host, optionally with port and path, in plain characters only.
fn is_base(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.starts_with(['/', ':']) && rest.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_scheme_a_host_and_a_way() {
        for good in ["https://pi.local:8765", "http://[::1]:8765", "https://example.org/pi/"] {
            assert!(is_base(good), "{good}");
        }
        for bad in [
            "pi.local",
            "ftp://pi",
            "https://",
            "https:///x",
            "https://pi?x=",
            "https://a@b",
            "https://pi#x",
            "https://p i",
        ] {
            assert!(!is_base(bad), "{bad}");
        }
    }
}
