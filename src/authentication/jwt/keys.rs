//! The public keys that verify JWTs: a JWK set (RFC 7517) read from a file. Each key is used with one algorithm.

use base::{base64url, signing::is_small_order};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use std::path::Path;

/// Largest key set file, in bytes; a real one is a few KiB.
const LARGEST_FILE: u64 = 256 * 1024;
/// Most keys: more than an issuer uses at once during a rotation.
const MOST_KEYS: usize = 64;

/// The supported signature algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// Ed25519 (RFC 8037; by RFC 9864 the name is `Ed25519`).
    EdDsa,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

impl Signer {
    /// Looks up an algorithm by its name in a header or key.
    pub fn of(alg: &str) -> Option<Self> {
        match alg {
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            "ES256" => Some(Self::Es256),
            "RS256" => Some(Self::Rs256),
            _ => None,
        }
    }
}

/// One public key.
pub struct JwtKey {
    kid: Option<String>,
    signer: Signer,
    material: Material,
}

enum Material {
    /// Ed25519: 32 bytes. P-256: an uncompressed point.
    Plain(Vec<u8>),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl JwtKey {
    /// Whether `signature` over `message` was made with this key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.material, self.signer) {
            (Material::Rsa { n, e }, _) => {
                RsaPublicKeyComponents { n, e }.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Material::Plain(key), Signer::Es256) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
            (Material::Plain(key), _) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

/// All keys of an issuer.
pub struct Keys(Vec<JwtKey>);

impl Keys {
    /// Reads the keys from a file.
    ///
    /// # Errors
    /// A sentence that names the file, if it cannot be read or [`Keys::parse`] refuses it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let named = |why: String| format!("jwt.keys_file {}: {why}", path.display());
        let size = path.metadata().map_err(|error| named(error.to_string()))?.len();
        if size > LARGEST_FILE {
            return Err(named(format!("it has {size} bytes; a key set of at most {LARGEST_FILE} is read")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        Self::parse(&text).map_err(named)
    }

    /// Parses a JWK set. Keys for other purposes (encryption, other curves) are skipped.
    ///
    /// # Errors
    /// A sentence, if it is not a JWK set, contains a secret or an invalid key, or has no usable key.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Jwk>,
        }
        let set: Set = serde_json::from_str(text).map_err(|error| format!("it is no JWK set: {error}"))?;
        if set.keys.len() > MOST_KEYS {
            return Err(format!("it has {} keys; at most {MOST_KEYS} are read", set.keys.len()));
        }
        let mut keys = Vec::new();
        for (index, jwk) in set.keys.into_iter().enumerate() {
            if let Some(key) = jwk.key().map_err(|why| format!("key {} {why}", index + 1))? {
                keys.push(key);
            }
        }
        if keys.is_empty() {
            return Err("it has no key that signs with EdDSA, ES256 or RS256".into());
        }
        Ok(Self(keys))
    }

    /// The key for this algorithm named by `kid`; without a `kid`, the only key for the algorithm.
    pub fn find(&self, signer: Signer, kid: Option<&str>) -> Option<&JwtKey> {
        let mut fitting =
            self.0.iter().filter(|key| key.signer == signer && (kid.is_none() || key.kid.as_deref() == kid));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

/// A key as serialized (RFC 7517, 7518 and 8037).
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    /// The private part or a shared secret: neither belongs in this file.
    d: Option<serde::de::IgnoredAny>,
    k: Option<serde::de::IgnoredAny>,
}

impl Jwk {
    /// The key; `None` if it is for another purpose.
    fn key(self) -> Result<Option<JwtKey>, String> {
        if self.d.is_some() || self.k.is_some() || self.kty == "oct" {
            return Err("holds a secret; only public keys belong into this file".into());
        }
        let signer = match (self.kty.as_str(), self.crv.as_deref()) {
            ("OKP", Some("Ed25519")) => Signer::EdDsa,
            ("EC", Some("P-256")) => Signer::Es256,
            ("RSA", _) => Signer::Rs256,
            _ => return Ok(None),
        };
        let other_use = self.usage.as_deref().is_some_and(|usage| usage != "sig");
        if other_use || self.alg.as_deref().is_some_and(|alg| Signer::of(alg) != Some(signer)) {
            return Ok(None);
        }
        let material = match signer {
            Signer::EdDsa => {
                let key = fixed("x", self.x.as_deref(), 32)?;
                if is_small_order(&key) {
                    return Err("is a point of small order, under which anybody can sign".into());
                }
                Material::Plain(key)
            }
            Signer::Es256 => {
                // SEC 1, 2.3.3: an uncompressed point is 4, x, y.
                let mut point = vec![4];
                point.extend(fixed("x", self.x.as_deref(), 32)?);
                point.extend(fixed("y", self.y.as_deref(), 32)?);
                Material::Plain(point)
            }
            Signer::Rs256 => {
                let n = bytes("n", self.n.as_deref())?;
                if !(256..=1024).contains(&n.len()) {
                    return Err(format!("has an RSA modulus of {} bits; 2048 to 8192 are accepted", n.len() * 8));
                }
                let e = bytes("e", self.e.as_deref())?;
                // RFC 7518, 6.3.1.1; ring would refuse every signature.
                if n[0] == 0 || e[0] == 0 {
                    return Err("has an RSA number with a leading zero byte".into());
                }
                Material::Rsa { n, e }
            }
        };
        Ok(Some(JwtKey { kid: self.kid, signer, material }))
    }
}

fn bytes(name: &str, text: Option<&str>) -> Result<Vec<u8>, String> {
    text.and_then(base64url::decode)
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| format!("has no \"{name}\" in base64url without padding"))
}

fn fixed(name: &str, text: Option<&str>, length: usize) -> Result<Vec<u8>, String> {
    let bytes = bytes(name, text)?;
    if bytes.len() != length {
        return Err(format!("has a \"{name}\" of {} bytes where {length} are right", bytes.len()));
    }
    Ok(bytes)
}
