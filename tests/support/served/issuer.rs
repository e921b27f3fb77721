//! Somebody who makes JWTs for a server under test, good ones and bad ones.

use base::base64url::encode;
use contract::config::Settings;
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};
use std::path::Path;
use time::OffsetDateTime;

pub const NAME: &str = "https://issuer.example";
pub const AUDIENCE: &str = "https://pi.example:8765/mcp";

/// Two fresh keys, `ed` and `ec`.
pub struct Issuer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl Issuer {
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
        }
    }

    /// What it publishes.
    pub fn jwks(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": encode(self.ed.public_key().as_ref()) },
            { "kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..]) },
            { "kty": "RSA", "kid": "for-encryption", "use": "enc", "n": "AQAB", "e": "AQAB" },
        ] })
    }

    /// Makes a server believe it. The key set goes to `folder`.
    pub fn is_believed(&self, settings: &mut Settings, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        settings.jwt.issuer = NAME.into();
        settings.jwt.audience = AUDIENCE.into();
        settings.jwt.keys_file = folder.join("jwks.json");
        std::fs::write(&settings.jwt.keys_file, self.jwks().to_string()).unwrap();
    }

    /// The claims of a good token for `role`.
    pub fn claims(role: &str) -> Value {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        json!({ "iss": NAME, "aud": AUDIENCE, "sub": "alice", "role": role, "iat": now, "exp": now + 600 })
    }

    pub fn good(&self, role: &str) -> String {
        self.signed(&json!({ "alg": "EdDSA", "kid": "ed", "typ": "at+jwt" }), &Self::claims(role))
    }

    /// Signed with the key that `kid` names, whatever the header says about how.
    pub fn signed(&self, header: &Value, claims: &Value) -> String {
        let input = input(header, claims);
        let signature = match header["kid"].as_str() {
            Some("ec") => self.ec.sign(&SystemRandom::new(), input.as_bytes()).unwrap().as_ref().to_vec(),
            _ => self.ed.sign(input.as_bytes()).as_ref().to_vec(),
        };
        format!("{input}.{}", encode(&signature))
    }

    /// The oldest trick: an HMAC keyed with the public key, for validators that let the token choose.
    pub fn confused(&self, claims: &Value) -> String {
        let input = input(&json!({ "alg": "HS256", "kid": "ed" }), claims);
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.ed.public_key().as_ref());
        format!("{input}.{}", encode(hmac::sign(&key, input.as_bytes()).as_ref()))
    }

    /// No signature at all.
    pub fn unsigned(claims: &Value) -> String {
        format!("{}.", input(&json!({ "alg": "none" }), claims))
    }
}

fn input(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}
