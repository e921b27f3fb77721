//! How a device becomes a member of a fleet: its request, signed by its agent, and what its owner answers.

use crate::{name, signed};
use base::{
    error::{ErrorCode, ToolError},
    signing::{PublicKey, SigningKey},
};
use serde::{Deserialize, Serialize};

/// What a request is signed for.
pub const PURPOSE: &str = "raspi-mcp fleet request 1";
/// Longest request, in bytes, with its signature.
pub const MAX_REQUEST: usize = 2048;

/// A request of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrolmentRequest {
    /// [`PURPOSE`].
    pub purpose: String,
    /// The name that the device shall have in the fleet.
    pub name: String,
    /// The key of its agent, which signs its statuses: base64url of the SubjectPublicKeyInfo. The request is signed with it.
    pub key: PublicKey,
    /// The key of its connection to the broker: base64url of the SubjectPublicKeyInfo.
    pub public_key: String,
    /// The fingerprint of its listener's certificate, by which the console knows it; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

impl EnrolmentRequest {
    /// Signs a request of this device.
    ///
    /// # Errors
    /// `invalid_argument` for the name.
    pub fn sign(name: &str, public_key: &str, pin: Option<String>, key: &SigningKey) -> Result<String, ToolError> {
        name::check("device", name)?;
        let request =
            Self { purpose: PURPOSE.into(), name: name.into(), key: key.public(), public_key: public_key.into(), pin };
        let document = serde_json::to_string(&request)
            .map_err(|error| ToolError::internal(format!("a request cannot be written: {error}")))?;
        Ok(signed::sign(PURPOSE, &document, key))
    }

    /// Reads a request. Its signature says that the sender has the key in it; whose key that is, a person has to say.
    ///
    /// # Errors
    /// `invalid_argument` for something else; `verification_failed` for a request that another key signed.
    pub fn read(message: &str) -> Result<Self, ToolError> {
        let message = message.trim_end();
        let other = |why: &str| {
            ToolError::invalid(format!("this is no request of a device: {why}"))
                .hint("`raspi-mcp fleet enroll` at the device writes one")
        };
        let document = signed::unverified(message.as_bytes()).ok_or_else(|| other("it has no signature"))?;
        let request: Self = serde_json::from_str(document).map_err(|error| other(&error.to_string()))?;
        signed::verified(PURPOSE, message.as_bytes(), MAX_REQUEST, &request.key)?;
        if request.purpose != PURPOSE || !request.key.is_ed25519() {
            return Err(ToolError::new(ErrorCode::VerificationFailed, "the request is for something else"));
        }
        name::check("device", &request.name)?;
        Ok(request)
    }
}

/// The owner's answer: what a device needs as a member. It has no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    pub fleet: String,
    /// The device's name.
    pub device: String,
    /// Addresses of the broker.
    pub servers: Vec<String>,
    /// The authority of the fleet's certificates, in PEM.
    pub ca: String,
    /// The device's certificate, in PEM.
    pub certificate: String,
    /// The key that signs the fleet's orders: base64url of its SubjectPublicKeyInfo.
    pub owner_key: String,
}

impl Membership {
    /// # Errors
    /// `invalid_argument` naming what is wrong with it.
    pub fn check(&self) -> Result<(), ToolError> {
        name::check("fleet", &self.fleet)?;
        name::check("device", &self.device)?;
        let wrong = |why: &str| {
            Err(ToolError::invalid(format!("this is no answer of a fleet's owner: {why}"))
                .hint("`raspi-mcp fleet sign` writes one"))
        };
        if self.servers.is_empty() || !self.servers.iter().all(|server| is_address(server)) {
            return wrong("servers has no addresses like \"tls://broker.example.org:4222\"");
        }
        if !PublicKey::parse(&self.owner_key).is_some_and(|key| key.is_ed25519()) {
            return wrong("owner_key is no Ed25519 key");
        }
        if [&self.ca, &self.certificate].iter().any(|pem| !pem.starts_with("-----BEGIN CERTIFICATE-----")) {
            return wrong("ca and certificate are not in PEM");
        }
        Ok(())
    }

    /// The section `[fleet]` of the configuration. The names of its files begin with `prefix`, such as
    /// `/etc/raspi-mcp/fleet/`.
    pub fn fragment(&self, prefix: &str) -> String {
        // JSON strings and lists of them are also valid TOML.
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let file = |name: &str| text(&format!("{prefix}{name}"));
        format!(
            "# Written by `raspi-mcp fleet join`.\n[fleet]\nservers = {}\nname = {}\ndevice = {}\nca = {}\ncertificate = {}\n\
             key = {}\nowner_key = {}\n",
            serde_json::Value::from(self.servers.clone()),
            text(&self.fleet),
            text(&self.device),
            file("ca.pem"),
            file("certificate.pem"),
            file("key.pem"),
            text(&self.owner_key),
        )
    }
}

/// Whether it is `tls://` and a host, perhaps with a port.
pub fn is_address(server: &str) -> bool {
    server.strip_prefix("tls://").is_some_and(|host| {
        !host.is_empty()
            && host.len() <= 255
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_of_the_holder_of_its_key() {
        let key = || SigningKey::from_pkcs8(&SigningKey::generate().expect("random bytes")).expect("its own key");
        let (own, other) = (key(), key());
        let request = EnrolmentRequest::sign("kitchen", "abc", None, &own).expect("a name");
        assert_eq!(EnrolmentRequest::read(&format!("{request}\n")).expect("valid").key, own.public());
        let replaced = request.replace(own.public().text(), other.public().text());
        assert!(EnrolmentRequest::read(&replaced).is_err());
        assert!(EnrolmentRequest::read(&request.replace("kitchen", "kitchem")).is_err());
        assert!(EnrolmentRequest::sign("Kitchen", "abc", None, &own).is_err());
        assert!(EnrolmentRequest::read("{}").is_err());
    }

    #[test]
    fn a_fragment_is_what_the_configuration_reads() {
        assert!(is_address("tls://broker.example.org:4222") && is_address("tls://[::1]:4222"));
        for other in ["", "tls://", "nats://a:1", "tls://a b", "tls://a\"b"] {
            assert!(!is_address(other), "{other}");
        }
        let membership = Membership { fleet: "home".into(), device: "shed".into(), ..Membership::default() };
        assert!(membership.check().is_err());
        assert!(membership.fragment("/etc/raspi-mcp/fleet/").contains("key = \"/etc/raspi-mcp/fleet/key.pem\"\n"));
    }
}
