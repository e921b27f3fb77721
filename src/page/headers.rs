//! The headers of every answer that a browser may show or run.

use axum::http::{HeaderMap, HeaderValue, header};

/// No script or style but our own files, no inline code, no other server, no frame around it, and no text that becomes
/// markup: `trusted-types 'none'` lets no script write HTML, whatever name a process or file has.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                          frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; \
                          trusted-types 'none'";

const ALL: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), usb=(), serial=()"),
];

/// Adds them. What says nothing of caching is not kept: it may be private.
pub fn add(headers: &mut HeaderMap) {
    for (name, value) in ALL {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
