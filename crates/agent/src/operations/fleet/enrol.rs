//! Signs the request of this device to become a member of a fleet.

use crate::{context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use fleet_protocol::enrolment::EnrolmentRequest;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembershipWish {
    /// The name that the device shall have.
    pub name: String,
    /// Base64url of the SubjectPublicKeyInfo of the connection's key.
    pub public_key: String,
    /// The fingerprint of the listener's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// The signed request, for `raspi-mcp fleet sign`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembershipRequest {
    pub request: String,
}

/// It changes nothing: the device is a member once its configuration says so.
pub struct SignEnrolment;

impl Operation for SignEnrolment {
    const TAG: &'static str = "sign_enrolment";
    const ANSWER: &'static str = "enrolment";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp fleet enroll" };
    type Request = MembershipWish;
    type Answer = MembershipRequest;

    async fn run(cx: &Context<'_>, wish: MembershipWish) -> Result<MembershipRequest, ToolError> {
        let about = json!({ "name": wish.name });
        let signed = cx
            .approvers
            .sign_as_device(|_, _, key| EnrolmentRequest::sign(&wish.name, &wish.public_key, wish.pin, key));
        cx.noted("sign_enrolment", about, signed.map(|request| MembershipRequest { request }))
    }
}
