//! The files of the page, as they are in `web/approval`.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};

/// Scripts and styles of this origin only, no inline ones, inside no other page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static str,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[Asset] = &[
    Asset { path: "/", kind: "text/html; charset=utf-8", content: include_str!("../../web/approval/index.html") },
    Asset {
        path: "/style.css",
        kind: "text/css; charset=utf-8",
        content: include_str!("../../web/approval/style.css"),
    },
    Asset { path: "/page.js", kind: JAVASCRIPT, content: include_str!("../../web/approval/page.js") },
    Asset { path: "/protocol.js", kind: JAVASCRIPT, content: include_str!("../../web/approval/protocol.js") },
    Asset { path: "/keys.js", kind: JAVASCRIPT, content: include_str!("../../web/approval/keys.js") },
    Asset { path: "/ask.js", kind: JAVASCRIPT, content: include_str!("../../web/approval/ask.js") },
];

/// The file at `path`, or 404.
pub(super) fn answer(path: &str) -> Response<Body> {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) else {
        return protected((StatusCode::NOT_FOUND, "there is nothing at this path\n").into_response());
    };
    // Checked again at each visit: an update of the device brings another page.
    let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "no-cache")];
    protected((headers, asset.content).into_response())
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

    #[test]
    fn the_page_is_small_and_has_nothing_inline() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        assert!(bytes < 20_000 && ASSETS.len() <= 6, "{bytes} bytes in {} files", ASSETS.len());
        let html = ASSETS[0].content;
        assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onclick"));
        for script in html.split("<script").skip(1) {
            assert!(script.starts_with(" type=\"module\" src=\""), "{script}");
        }
        for asset in ASSETS {
            for unsafe_word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://"] {
                assert!(!asset.content.contains(unsafe_word), "{}: {unsafe_word}", asset.path);
            }
        }
    }
}
