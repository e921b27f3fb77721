//! `[camera]`: which cameras may be used, and what is kept of their photos.

use crate::{config::settings::Settings, os::real_path::resolved};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CameraSettings {
    /// Paths, names or places of cameras, with `*` and `?` in them. Any may be listed.
    pub allow: Vec<String>,
    /// Where photos are kept.
    pub dir: PathBuf,
    pub max_photos: u32,
    pub max_bytes: u64,
    pub max_age_days: u32,
    /// Frames that are let go before one is kept.
    pub warmup_frames: u32,
    /// What stands before `/photos/…` for those who fetch photos over HTTP; empty: no address is given.
    pub public_url: String,
}

impl CameraSettings {
    /// What holds when nobody sets anything: a month of photos, of the size of a small database.
    pub fn below(state_dir: &Path) -> Self {
        Self {
            allow: Vec::new(),
            dir: state_dir.join("photos"),
            max_photos: 500,
            max_bytes: 256 << 20,
            max_age_days: 30,
            // A third of a second of a webcam: exposure has settled by then.
            warmup_frames: 10,
            public_url: String::new(),
        }
    }

    /// What may be used: on a simulated board all it has, where nothing is said.
    pub fn allowed(&self, simulated: bool) -> Vec<String> {
        if simulated && self.allow.is_empty() { vec!["*".into()] } else { self.allow.clone() }
    }
}

/// Rules between `[camera]` and the rest: which keys, and what is wrong.
pub fn faults(settings: &Settings) -> Vec<(&'static str, String)> {
    let (camera, places) = (&settings.camera, &settings.places);
    let mut faults = Vec::new();
    let guarded = [&places.runtime_dir, &places.agent_state_dir].into_iter().cloned();
    let system = ["/etc", "/usr", "/run", "/dev", "/proc", "/sys"].map(PathBuf::from);
    let (dir, state) = (resolved(&camera.dir), resolved(&places.state_dir));
    // Wherever the state is, a folder in it is as good.
    let in_state = dir.starts_with(&state) && dir != state;
    let lies_in = |other: &PathBuf| !in_state && dir.starts_with(resolved(other));
    if let Some(other) = guarded.chain(system).find(lies_in) {
        faults.push((
            "camera.dir",
            format!(
                "camera.dir is {}, which lies in {}; give photos a folder of their own",
                camera.dir.display(),
                other.display()
            ),
        ));
    }
    if state.starts_with(&dir) {
        faults.push((
            "camera.dir",
            format!(
                "camera.dir is {}, which holds the server's state; give photos a folder of their own",
                camera.dir.display()
            ),
        ));
    }
    if !camera.public_url.is_empty() && !is_base(&camera.public_url) {
        faults.push((
            "camera.public_url",
            format!("camera.public_url is \"{}\"; it must look like \"https://pi.local:8765\"", camera.public_url),
        ));
    }
    faults
}

/// Scheme, host, perhaps a port and a path; nothing that something else could be hidden behind.
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
