//! Checks Host and Origin: a web page that uses DNS rebinding must not reach this machine (MCP, "Security Warning").

use axum::http::{HeaderMap, Uri, header, uri::Authority};
use base::error::ToolError;

/// Names under which a loopback listener may be addressed.
const LOOPBACK: &[&str] = &["localhost", "127.0.0.1", "[::1]", "::1"];

/// The accepted hosts and origins.
pub struct OriginGuard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl OriginGuard {
    /// `hosts` and `origins` are added to the loopback names. A host may have a port; an origin is `scheme://host[:port]`.
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        let lower = |list: &[String]| list.iter().map(|entry| entry.to_ascii_lowercase()).collect();
        Self { hosts: lower(hosts), origins: lower(origins) }
    }

    /// `goes_by`: whether a host that is on no list, given without its port, is another name of this server.
    ///
    /// # Errors
    /// `permission_denied` naming the header and the setting that would allow it.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, goes_by: impl Fn(&str) -> bool) -> Result<(), ToolError> {
        self.check_host(uri, headers, goes_by)?;
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.knows_origin(origin) {
                return Err(ToolError::denied("web pages of this Origin may not call this server")
                    .with("origin", origin)
                    .with("required_permission", format!("http:origin:{origin}"))
                    .hint("add the origin to http.allowed_origins"));
            }
        }
        Ok(())
    }

    /// Checks Host alone.
    ///
    /// # Errors
    /// As [`OriginGuard::check`].
    pub fn check_host(&self, uri: &Uri, headers: &HeaderMap, goes_by: impl Fn(&str) -> bool) -> Result<(), ToolError> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (Some(_), Some(_)) => None,
            (None, _) => uri.authority().map(Authority::as_str),
        };
        if !host.is_some_and(|host| self.knows_host(host, goes_by)) {
            let host = host.unwrap_or_default();
            return Err(ToolError::denied("this server does not answer to the Host of the request")
                .with("host", host)
                .with("required_permission", format!("http:host:{host}"))
                .hint("add the name to http.allowed_hosts"));
        }
        Ok(())
    }

    fn knows_host(&self, host: &str, goes_by: impl Fn(&str) -> bool) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let (name, whole) = (authority.host().to_ascii_lowercase(), host.to_ascii_lowercase());
        // No browser or client of ours sends `user@host` in a Host header.
        !whole.contains('@')
            && (LOOPBACK.contains(&name.as_str())
                || self.hosts.iter().any(|known| *known == name || *known == whole)
                || goes_by(&name))
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let lower = origin.to_ascii_lowercase();
        if self.origins.contains(&lower) {
            return true;
        }
        let Ok(uri) = lower.parse::<Uri>() else { return false };
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        web && uri
            .authority()
            .is_some_and(|authority| !authority.as_str().contains('@') && LOOPBACK.contains(&authority.host()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn check(pairs: &[(HeaderName, &str)]) -> bool {
        let guard = OriginGuard::new(&["pi.example:8443".into(), "pi.local".into()], &["https://desk.example".into()]);
        let headers = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        guard.check(&Uri::from_static("/mcp"), &headers, |host| host == "pi.lan").is_ok()
    }

    #[test]
    fn only_known_hosts() {
        for good in [
            "localhost",
            "LOCALHOST:8765",
            "127.0.0.1:1",
            "[::1]:8765",
            "pi.local",
            "pi.local:80",
            "pi.example:8443",
            "PI.lan:1",
        ] {
            assert!(check(&[(header::HOST, good)]), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "pi.example",
            "evil@localhost",
            "a b",
        ] {
            assert!(!check(&[(header::HOST, bad)]), "{bad}");
        }
        assert!(!check(&[]));
    }

    #[test]
    fn only_known_origins() {
        for good in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "https://desk.example"] {
            assert!(check(&[(header::HOST, "localhost"), (header::ORIGIN, good)]), "{good}");
        }
        for bad in [
            "null",
            "https://evil.example",
            "http://localhost.evil.example",
            "https://desk.example:444",
            "file://localhost",
            "http://x@localhost",
        ] {
            assert!(!check(&[(header::HOST, "localhost"), (header::ORIGIN, bad)]), "{bad}");
        }
    }
}
