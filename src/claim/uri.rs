//! Everything that a claim needs in one line, as in the QR code: `raspi-mcp://HOST:PORT/FINGERPRINT/CODE/DEVICE`. Older
//! machines leave the device's ID out.
//!
//! Unregistered scheme: a camera app that reads it shows text, and no browser opens an address that a person would then
//! have to trust. All letters are capitals, which QR codes store more compactly.

use appliance::{Code, certificate::Fingerprint};
use base::{error::ToolError, redact::shown_address};
use reqwest::Url;

pub const SCHEME: &str = "raspi-mcp://";
/// Longest accepted line, in bytes.
const LONGEST: usize = 512;

/// A device, its certificate's fingerprint, and the code it shows.
#[derive(Debug)]
pub struct ClaimUri {
    /// Always `https`, without a path.
    pub url: Url,
    pub pin: Fingerprint,
    pub code: Code,
    /// The device's ID, 64 lower-case hexadecimal digits: the machine must sign with this key.
    pub device: Option<String>,
}

impl ClaimUri {
    /// # Errors
    /// `invalid_argument` naming the invalid part; the code is never repeated.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let refused = |why: &str| {
            ToolError::invalid(format!("the address of the claim is wrong: {why}"))
                .hint("copy the whole line that begins with raspi-mcp://, as the device shows it")
        };
        let text = text.trim();
        let rest = text.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        let rest = rest.and_then(|scheme| text.get(scheme.len()..)).filter(|_| text.len() <= LONGEST);
        let mut parts = rest.ok_or_else(|| refused("it does not begin with raspi-mcp://"))?.split('/');
        let (Some(host), Some(pin), Some(code), device, None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refused("it is not raspi-mcp://HOST:PORT/FINGERPRINT/CODE/DEVICE"));
        };
        let device =
            device.map(|id| device_id(id).ok_or_else(|| refused("the device's ID is not 64 hexadecimal digits")));
        let pin = Fingerprint::parse(&format!("sha256:{pin}"))
            .ok_or_else(|| refused("the fingerprint is not 64 hexadecimal digits"))?;
        let code = Code::parse(code).map_err(ToolError::from)?;
        let url = address(&format!("https://{}", host.to_ascii_lowercase()))?;
        Ok(Self { url, pin, code, device: device.transpose()? })
    }

    /// The line for `host`, a name or an address with its port.
    pub fn line(host: &str, pin: Fingerprint, code: &Code, device: Option<&str>) -> String {
        let pin = pin.to_string();
        let digits = pin.strip_prefix("sha256:").unwrap_or(&pin);
        let (code, device) = (code.to_string().replace('-', ""), device.map(|id| format!("/{id}")).unwrap_or_default());
        format!("{SCHEME}{host}/{digits}/{code}{device}").to_ascii_uppercase()
    }
}

/// A device's ID in lower case; `None` unless it has 64 hexadecimal digits.
pub fn device_id(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

/// The base URL of a device: `https://HOST[:PORT]` only.
///
/// # Errors
/// `invalid_argument`: another scheme (the code would be sent unencrypted), a user, a path, no host.
pub fn address(text: &str) -> Result<Url, ToolError> {
    let refused = |why: String| ToolError::invalid(format!("the address {}: {why}", shown_address(text)));
    let url: Url = text.parse().map_err(|error| refused(format!("{error}")).hint("write https://HOST:PORT"))?;
    if url.scheme() != "https" {
        return Err(refused(format!("it begins with {}://, and a code is sent through TLS only", url.scheme()))
            .hint("write it with https://, as the device shows it"));
    }
    let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !bare || url.fragment().is_some() || !matches!(url.path(), "/" | "/claim") {
        return Err(refused("it holds more than a host and a port".into()).hint("write https://HOST:PORT"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Fingerprint {
        Fingerprint::of(b"a certificate")
    }

    #[test]
    fn the_line_is_read_back() {
        let code = Code::of([7; 16]);
        for host in ["192.0.2.7:8765", "[2001:db8::7]:8765", "raspi-mcp.local:8443"] {
            let id = "0f".repeat(32);
            let line = ClaimUri::line(host, pin(), &code, Some(&id));
            assert_eq!(line, line.to_uppercase());
            let of_an_older_machine = ClaimUri::line(host, pin(), &code, None);
            assert_eq!(ClaimUri::parse(&of_an_older_machine).unwrap().device, None);
            for copy in [line.clone(), line.to_lowercase(), format!(" {line}\n")] {
                let claim = ClaimUri::parse(&copy).unwrap();
                assert_eq!(claim.device.as_deref(), Some(id.as_str()));
                assert_eq!(claim.url.as_str(), format!("https://{host}/"));
                assert!(claim.pin == pin() && claim.code.is(&code));
                assert!(!format!("{claim:?}").contains(&code.to_string()));
            }
        }
    }

    #[test]
    fn what_is_no_such_line_is_refused_without_the_code() {
        let code = Code::of([7; 16]);
        let line = ClaimUri::line("192.0.2.7:8765", pin(), &code, None);
        for bad in [
            "".into(),
            "raspi-mcp://".into(),
            line.replace("RASPI-MCP", "HTTP"),
            format!("{line}/x"),
            format!("{line}/{}/x", "0f".repeat(32)),
            line.replace("192", "user@192"),
            line.replace("192.0.2.7:8765", ""),
            line.replace("192.0.2.7:8765", "192.0.2.7:99999"),
            line.replace("192.0.2.7:8765", "192.0.2.7?x=1"),
            line.replace("192.0.2.7:8765", "192.0.2.7#"),
            line[..line.len() - 1].into(),
            line.replacen("/", "", 1),
            format!("{line}{}", " ".repeat(600) + "x"),
        ] {
            let refusal = ClaimUri::parse(&bad).unwrap_err();
            assert_eq!(refusal.code, base::error::ErrorCode::InvalidArgument, "{bad}");
            assert!(!refusal.advice().contains(&code.to_string().replace('-', "")), "{}", refusal.advice());
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port_behind_tls() {
        for good in ["https://pi.local", "https://192.0.2.7:8765/", "https://[::1]:1/claim"] {
            address(good).unwrap();
        }
        for bad in
            ["http://192.0.2.7:8765", "pi.local", "ftp://pi", "https://", "https://a@b", "https://b/mcp", "https://b?c"]
        {
            address(bad).unwrap_err();
        }
    }
}
