//! The files of the approval page, built from `web/approval` by build.rs and compressed there.

use crate::page::assets::Asset;
use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};

/// Scripts and styles of this origin only, no inline ones, inside no other page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The page first, then what it loads.
pub(super) static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/approval.rs"));

/// The file at `path`, or 404.
pub(super) fn answer(path: &str) -> Response<Body> {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) else {
        return protected((StatusCode::NOT_FOUND, "there is nothing at this path\n").into_response());
    };
    // Checked again at each visit: an update of the device brings another page.
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CONTENT_ENCODING, "gzip"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    protected((headers, asset.gzip).into_response())
}

/// With the headers that every answer of the page has.
pub(super) fn protected(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn the_page_is_small_and_its_sources_have_nothing_inline() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.gzip.len()).sum();
        assert!(bytes < 20_000 && ASSETS.len() <= 6, "{bytes} bytes in {} files", ASSETS.len());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/approval");
        let html = fs::read_to_string(folder.join("index.html")).unwrap();
        assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick"));
        for script in html.split("<script").skip(1) {
            assert!(script.starts_with(" type=\"module\" src=\""), "{script}");
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for unsafe_word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://"] {
                assert!(!text.contains(unsafe_word), "{unsafe_word} in {text}");
            }
        }
    }
}
