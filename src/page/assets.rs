//! The files of the page, built from `web/` by build.rs and compressed there.

/// One file.
#[derive(Debug)]
pub struct Asset {
    /// Its whole path. All but the page itself have a hash of their content in it, so they never change.
    pub path: &'static str,
    pub content_type: &'static str,
    /// The content, compressed with gzip: every browser takes it.
    pub gzip: &'static [u8],
}

/// The page first, then what it loads.
pub static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The file at this path.
pub fn at(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
