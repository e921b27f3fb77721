//! Checks what a passkey signed (WebAuthn Level 3, section 7.2).

use base::{base64url, error::ToolError};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Bytes of `authenticatorData` before its extensions: hash of the relying party's id, flags, counter.
const HEAD: usize = 37;
/// User present and user verified.
const PRESENT_AND_VERIFIED: u8 = 0b101;

/// What a browser says that it was asked to sign. It may have more fields.
#[derive(Deserialize)]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

/// What was signed, once everything in it was checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub message: Vec<u8>,
    /// How often the authenticator has signed; 0 where it does not count.
    pub counter: u32,
}

/// Checks that `authenticator_data` and `client_data` are about `challenge`, at exactly `origin`, by a verified user.
///
/// # Errors
/// `permission_denied` naming what differs.
pub(super) fn check(
    authenticator_data: &str,
    client_data: &str,
    challenge: &[u8],
    origin: &str,
) -> Result<Checked, ToolError> {
    let denied = |why: &str| {
        ToolError::denied(format!("the passkey's answer does not count: {why}"))
            .hint("sign again on the page at which the passkey was enrolled")
    };
    let (Some(authenticator), Some(client)) = (base64url::decode(authenticator_data), base64url::decode(client_data))
    else {
        return Err(denied("its data are not base64url"));
    };
    let said: ClientData = serde_json::from_slice(&client).map_err(|_| denied("its client data cannot be read"))?;
    if said.r#type != "webauthn.get" {
        return Err(denied("it is no assertion"));
    }
    if said.challenge != base64url::encode(challenge) {
        return Err(denied("it signed something else"));
    }
    // In full, port included: the relying party's id ignores ports.
    if said.origin != origin {
        return Err(denied("it was given at another origin"));
    }
    if said.cross_origin {
        return Err(denied("it was given inside another page"));
    }
    let Some((head, _)) = authenticator.split_at_checked(HEAD) else {
        return Err(denied("its authenticator data are too short"));
    };
    if head[..32] != *Sha256::digest(host(origin).as_bytes()) {
        return Err(denied("it is for another site"));
    }
    if head[32] & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED {
        return Err(denied("nobody was verified by the authenticator"));
    }
    let counter = u32::from_be_bytes([head[33], head[34], head[35], head[36]]);
    let message = [authenticator.as_slice(), &Sha256::digest(&client)].concat();
    Ok(Checked { message, counter })
}

/// The host name of an origin, which is the id of its relying party here.
pub(super) fn host(origin: &str) -> &str {
    let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    rest.rsplit_once(':').map_or(rest, |(host, _)| host)
}
