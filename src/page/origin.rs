//! Requests of the page come from the page: by the headers that browsers set and no script can forge.

use axum::http::{HeaderMap, Method, header};
use base::error::ToolError;

/// The site that a request came from, as the browser says.
const FETCH_SITE: &str = "sec-fetch-site";

/// Checks that a request below `/page/` was made by this server's own page. `scheme` is that of the listener.
///
/// `Sec-Fetch-Site` must be `same-origin`. `Origin` must be this server's own, as the `Host` header names it; browsers
/// leave it out of a GET to the page's own origin, and so may such a request.
///
/// # Errors
/// `permission_denied` naming the header.
pub fn check(method: &Method, headers: &HeaderMap, scheme: &str) -> Result<(), ToolError> {
    let text = |name: &str| {
        let mut all = headers.get_all(name).iter();
        match (all.next(), all.next()) {
            (Some(value), None) => Ok(Some(value.to_str().unwrap_or_default())),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(refused(name, "several")),
        }
    };
    match text(FETCH_SITE)? {
        Some("same-origin") => {}
        site => return Err(refused(FETCH_SITE, site.unwrap_or("absent"))),
    }
    let host = text(header::HOST.as_str())?.unwrap_or_default();
    match text(header::ORIGIN.as_str())? {
        Some(origin) if is_own(origin, scheme, host) => Ok(()),
        None if *method == Method::GET => Ok(()),
        origin => Err(refused(header::ORIGIN.as_str(), origin.unwrap_or("absent"))),
    }
}

/// Whether `origin` is `scheme://host`, in which host names the port too unless it is the scheme's own.
fn is_own(origin: &str, scheme: &str, host: &str) -> bool {
    let Some((own, rest)) = origin.split_once("://") else { return false };
    !host.is_empty() && own == scheme && rest.eq_ignore_ascii_case(host)
}

fn refused(name: &str, value: &str) -> ToolError {
    let value: String = value.chars().take(256).collect();
    ToolError::denied("only this server's own page may send this request")
        .with("header", name)
        .with("value", value)
        .hint("open / in a browser that sends Sec-Fetch-Site; programs use /mcp or /api/mcp with a token")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn check(method: Method, pairs: &[(&str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        super::check(&method, &headers, "https").is_ok()
    }

    const HERE: (&str, &str) = ("host", "porch.local:8443");
    const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");

    #[test]
    fn the_own_page_passes() {
        let own = ("origin", "https://porch.local:8443");
        assert!(check(Method::POST, &[HERE, SAME, own]));
        assert!(check(Method::GET, &[HERE, SAME, own]));
        assert!(check(Method::GET, &[HERE, SAME]));
        assert!(check(Method::POST, &[("host", "Porch.local:8443"), SAME, own]));
    }

    #[test]
    fn all_else_does_not() {
        let own = ("origin", "https://porch.local:8443");
        assert!(!check(Method::POST, &[HERE, SAME]), "a POST always has an Origin");
        assert!(!check(Method::DELETE, &[HERE, SAME]));
        assert!(!check(Method::POST, &[HERE, own]), "no Sec-Fetch-Site");
        assert!(!check(Method::GET, &[HERE]));
        for site in ["cross-site", "same-site", "none", "", "Same-Origin"] {
            assert!(!check(Method::POST, &[HERE, own, ("sec-fetch-site", site)]), "{site}");
        }
        for origin in [
            "null",
            "https://porch.local",
            "https://porch.local:8444",
            "http://porch.local:8443",
            "https://evil.example",
            "https://porch.local:8443.evil.example",
            "https://x@porch.local:8443",
            "porch.local:8443",
        ] {
            assert!(!check(Method::POST, &[HERE, SAME, ("origin", origin)]), "{origin}");
            assert!(!check(Method::GET, &[HERE, SAME, ("origin", origin)]), "{origin}");
        }
        assert!(!check(Method::POST, &[SAME, ("origin", "https://")]), "no Host");
        assert!(!check(Method::POST, &[HERE, SAME, own, own]));
        assert!(!check(Method::POST, &[HERE, HERE, SAME, own]));
        assert!(!check(Method::POST, &[HERE, SAME, SAME, own]));
    }
}
