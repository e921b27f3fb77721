//! Whether a request began on this machine. A tunnel or a proxy on this machine connects from loopback on behalf of anybody,
//! so the address of the peer alone says nothing.

use super::peer::PeerAddress;
use axum::http::{HeaderMap, HeaderName, Uri, header, uri::Authority};
use contract::config::{is_loopback, is_loopback_host};

/// Headers that proxies, tunnels and networks of caches add, and clients do not. Sorted, since each request is compared.
const ADDED: &[&str] = &[
    "cdn-loop",
    "client-ip",
    "fastly-client-ip",
    "fastly-ff",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    "incap-client-ip",
    "proxy-client-ip",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-amzn-trace-id",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-host",
    "x-nginx-proxy",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-real-port",
    "x-rewrite-url",
    "x-scheme",
    "x-url-scheme",
];

/// How whole families of such headers begin. Sorted, and none begins with another.
const FAMILIES: &[&str] = &[
    "akamai-",
    "cf-",
    "cloudfront-",
    "ngrok-",
    "tailscale-",
    "x-amz-cf-",
    "x-appengine-",
    "x-arr-",
    "x-azure-",
    "x-envoy-",
    "x-forward",
    "x-ngrok-",
    "x-original-",
    "x-remote-",
    "x-sucuri-",
    "x-tailscale-",
    "x-tunnel-",
    "x-vercel-",
];

/// What shows that a request came from elsewhere, for people: a header, or the name by which it was addressed.
pub fn sign(uri: &Uri, headers: &HeaderMap, peer: PeerAddress) -> Option<String> {
    if !is_loopback(peer.address) {
        return Some("its address".into());
    }
    if let Some(name) = headers.keys().find(|name| is_added(name)) {
        return Some(format!("the header {name}"));
    }
    let named = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let mut named = named.chain(uri.authority().map(Authority::as_str));
    named.find(|host| !is_loopback_host(host)).map(|host| format!("the name {host}"))
}

fn is_added(name: &HeaderName) -> bool {
    let name = name.as_str();
    // What clients send by themselves is told apart by two letters.
    let begins = name.get(..2).unwrap_or_default();
    if !matches!(
        begins,
        "ak" | "cd" | "cf" | "cl" | "fa" | "fl" | "fo" | "fr" | "in" | "ng" | "pr" | "ta" | "tr" | "vi" | "wl" | "x-"
    ) {
        return false;
    }
    let family = FAMILIES.partition_point(|family| *family <= name).checked_sub(1).map(|before| FAMILIES[before]);
    family.is_some_and(|family| name.starts_with(family)) || ADDED.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(host: &str, more: &[(&str, &str)]) -> bool {
        let here = "127.0.0.1:1".parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in [("host", host)].iter().chain(more) {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        sign(&Uri::from_static("/mcp"), &headers, PeerAddress::new(here, here)).is_some()
    }

    #[test]
    fn the_lists_are_sorted_as_they_are_searched() {
        assert!(ADDED.is_sorted() && FAMILIES.is_sorted());
        for pair in FAMILIES.windows(2) {
            assert!(!pair[1].starts_with(pair[0]), "{pair:?}");
        }
        for name in
            ADDED.iter().map(|name| (*name).to_owned()).chain(FAMILIES.iter().map(|family| format!("{family}x")))
        {
            assert!(is_added(&HeaderName::from_bytes(name.as_bytes()).unwrap()), "{name}");
        }
    }

    #[test]
    fn what_a_program_on_this_machine_sends_is_its_own() {
        for host in ["localhost", "LOCALHOST:8765", "127.0.0.1:1", "127.0.1.1", "[::1]:8765", "[::ffff:127.0.0.1]:1"] {
            assert!(!signs(host, &[]), "{host}");
        }
        for name in [
            "origin",
            "user-agent",
            "accept",
            "cookie",
            "mcp-session-id",
            "x-request-id",
            "traceparent",
            "sec-fetch-site",
        ] {
            assert!(!signs("localhost", &[(name, "x")]), "{name}");
        }
    }

    #[test]
    fn what_a_tunnel_or_a_proxy_adds_or_a_name_beyond_loopback_is_from_elsewhere() {
        for name in [
            "Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded",
            "CF-Connecting-IP",
            "Cf-Ray",
            "X-Real-IP",
            "Via",
            "True-Client-IP",
            "Tailscale-User-Login",
            "X-Original-URL",
            "X-Original-Host",
            "X-Client-IP",
            "Ngrok-Trace-Id",
        ] {
            assert!(signs("localhost", &[(name, "192.0.2.1")]), "{name}");
            assert!(signs("localhost", &[(name, "127.0.0.1")]), "{name}: whatever it says");
            assert!(signs("localhost", &[(name, "")]), "{name}: empty");
        }
        for host in ["pi.example", "pi.local", "192.0.2.1:8765", "localhost.example", "", "127.0.0.1.example"] {
            assert!(signs(host, &[]), "{host:?}");
        }
        let (here, far) = ("127.0.0.1:1".parse().unwrap(), "192.0.2.1:1".parse().unwrap());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        assert!(sign(&Uri::from_static("/"), &headers, PeerAddress::new(far, here)).is_some(), "an address");
        let absolute = Uri::from_static("http://pi.example/mcp");
        assert!(sign(&absolute, &headers, PeerAddress::new(here, here)).is_some(), "the name in the target");
    }
}
