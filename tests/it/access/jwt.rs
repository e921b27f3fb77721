//! JWTs: the examples of the specifications, and everything that must not pass for one.

use crate::support::served::issuer::Issuer;
use base::base64url::{decode, encode};
use contract::{
    access::token::EARLIEST,
    config::{Places, Settings},
    meta::Role,
};
use raspi_mcp::authentication::jwt::{JwtError, Keys, Signer, Validator};
use serde_json::{Value, json};
use std::fs;
use time::{Duration, OffsetDateTime};

/// RFC 7515, A.2 and A.3; RFC 8037, A.2 and A.4.
const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const RSA: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-\
    SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg66\
    5xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const RSA_SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGb\
    ds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi\
    12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

#[test]
fn the_examples_of_the_specifications_verify() {
    let keys = json!({ "keys": [
        { "kty": "RSA", "n": RSA, "e": "AQAB" },
        { "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" },
        { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    ] });
    let keys = Keys::parse(&keys.to_string()).unwrap();
    for (alg, input, signature) in [
        ("RS256", format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}"), RSA_SIGNATURE),
        (
            "ES256",
            format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            "EdDSA",
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let key = keys.find(Signer::of(alg).unwrap(), None).unwrap();
        let mut signature = decode(signature).unwrap();
        assert!(key.verifies(input.as_bytes(), &signature), "{alg}");
        assert!(!key.verifies(input.replace("eyJ", "eyK").as_bytes(), &signature), "{alg}: another text");
        signature[7] ^= 1;
        assert!(!key.verifies(input.as_bytes(), &signature), "{alg}: another signature");
    }
    for alg in ["none", "None", "HS256", "RS512", "PS256", "ES384", ""] {
        assert_eq!(Signer::of(alg), None, "{alg}");
    }
}

/// A validator that believes `issuer`.
fn validator(issuer: &Issuer, change: impl FnOnce(&mut Settings)) -> (Validator, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::default_for(&Places::below(folder.path()));
    issuer.is_believed(&mut settings, folder.path());
    change(&mut settings);
    (Validator::load(&settings.jwt).unwrap(), folder)
}

fn header(alg: &str, kid: &str) -> Value {
    json!({ "alg": alg, "kid": kid })
}

#[test]
fn a_good_one_says_who_and_what_and_until_when() {
    let issuer = Issuer::new();
    let (judge, _folder) = validator(&issuer, |_| {});
    let now = OffsetDateTime::now_utc();
    for header in [header("EdDSA", "ed"), header("Ed25519", "ed"), header("ES256", "ec"), json!({ "alg": "EdDSA" })] {
        let bearer = judge.judge(&issuer.signed(&header, &Issuer::claims("ops_rw")), now).unwrap();
        assert_eq!((bearer.subject.as_str(), bearer.role), ("alice", Role::OpsRw), "{header}");
        let lasts = bearer.until - now;
        assert!((Duration::seconds(655)..=Duration::seconds(661)).contains(&lasts), "600 s and the skew: {lasts}");
    }
}

#[test]
fn whatever_is_wrong_with_one_is_found() {
    let issuer = Issuer::new();
    let (judge, _folder) = validator(&issuer, |_| {});
    let now = OffsetDateTime::now_utc();
    let good = header("EdDSA", "ed");
    let claims = |change: &dyn Fn(&mut Value)| {
        let mut claims = Issuer::claims("admin");
        change(&mut claims);
        issuer.signed(&good, &claims)
    };
    let seconds = now.unix_timestamp();
    let part = |index: usize| issuer.good("admin").split('.').nth(index).unwrap().to_owned();
    let cases: Vec<(&str, String, JwtError)> = vec![
        ("no token", "".into(), JwtError::Malformed),
        ("two parts", format!("{}.{}", part(0), part(1)), JwtError::Malformed),
        ("four parts", format!("{}.x", issuer.good("admin")), JwtError::Malformed),
        ("too long", "a".repeat(9000), JwtError::Malformed),
        ("padding", format!("{}=", issuer.good("admin")), JwtError::Malformed),
        ("not JSON", issuer.signed(&json!("EdDSA"), &json!({})), JwtError::Malformed),
        ("alg none", Issuer::unsigned(&Issuer::claims("admin")), JwtError::Algorithm),
        ("HS256 with the public key", issuer.confused(&Issuer::claims("admin")), JwtError::Algorithm),
        (
            "an extension",
            issuer.signed(&json!({"alg": "EdDSA", "crit": ["b64"], "b64": false}), &json!({})),
            JwtError::Algorithm,
        ),
        ("another type", issuer.signed(&json!({"alg": "EdDSA", "typ": "logout+jwt"}), &json!({})), JwtError::Algorithm),
        ("a key of another kind", issuer.signed(&header("ES256", "ed"), &Issuer::claims("admin")), JwtError::Key),
        ("an unknown key", issuer.signed(&header("EdDSA", "old"), &Issuer::claims("admin")), JwtError::Key),
        ("another issuer's key", Issuer::new().good("admin"), JwtError::Signature),
        (
            "a changed role",
            format!("{}.{}.{}", part(0), encode(Issuer::claims("admin").to_string().as_bytes()), {
                let low = issuer.good("read_only");
                low.rsplit('.').next().unwrap().to_owned()
            }),
            JwtError::Signature,
        ),
        ("no signature", format!("{}.{}.", part(0), part(1)), JwtError::Signature),
        ("another issuer", claims(&|claims| claims["iss"] = json!("https://evil.example")), JwtError::Issuer),
        ("another audience", claims(&|claims| claims["aud"] = json!("https://other.example/mcp")), JwtError::Audience),
        ("other audiences", claims(&|claims| claims["aud"] = json!(["a", "b"])), JwtError::Audience),
        ("no audience", claims(&|claims| claims["aud"] = Value::Null), JwtError::Audience),
        ("expired", claims(&|claims| claims["exp"] = json!(seconds - 61)), JwtError::Expired),
        ("long expired", claims(&|claims| claims["exp"] = json!(1.5)), JwtError::Expired),
        ("never expires", claims(&|claims| drop(claims.as_object_mut().unwrap().remove("exp"))), JwtError::Claims),
        ("expires never", claims(&|claims| claims["exp"] = json!("tomorrow")), JwtError::Claims),
        ("expires beyond all time", claims(&|claims| claims["exp"] = json!(i64::MAX)), JwtError::Claims),
        ("not yet", claims(&|claims| claims["nbf"] = json!(seconds + 120)), JwtError::NotYet),
        ("nobody", claims(&|claims| claims["sub"] = json!("")), JwtError::Claims),
        ("a name that is none", claims(&|claims| claims["sub"] = json!("a\u{1b}[2Jb")), JwtError::Claims),
        ("a long name", claims(&|claims| claims["sub"] = json!("a".repeat(129))), JwtError::Claims),
        ("no role", claims(&|claims| claims["role"] = json!("superuser")), JwtError::Role),
        ("a role that is no text", claims(&|claims| claims["role"] = json!({"admin": true})), JwtError::Role),
    ];
    for (what, token, fault) in cases {
        assert_eq!(judge.judge(&token, now).expect_err(what), fault, "{what}");
    }
}

#[test]
fn clocks_may_differ_by_the_skew_and_must_have_been_set() {
    let issuer = Issuer::new();
    let (judge, _folder) = validator(&issuer, |settings| settings.jwt.clock_skew_seconds = 30);
    let now = OffsetDateTime::now_utc();
    let mut claims = Issuer::claims("admin");
    claims["nbf"] = json!(now.unix_timestamp());
    claims["exp"] = json!(now.unix_timestamp() + 100);
    let token = issuer.signed(&header("EdDSA", "ed"), &claims);
    let now = OffsetDateTime::from_unix_timestamp(now.unix_timestamp()).unwrap();
    let at = |seconds| judge.judge(&token, now + Duration::seconds(seconds)).map(|bearer| bearer.role);
    assert_eq!([at(-30), at(0), at(129)], [Ok(Role::Admin); 3]);
    assert_eq!([at(-31), at(130)], [Err(JwtError::NotYet), Err(JwtError::Expired)]);
    assert_eq!(judge.judge(&token, EARLIEST - Duration::seconds(1)), Err(JwtError::Clock), "1970 is no time to judge");
}

#[test]
fn roles_come_from_a_text_a_list_or_a_scope() {
    let issuer = Issuer::new();
    let (judge, _folder) = validator(&issuer, |settings| settings.jwt.role_claim = "scope".into());
    for (scope, role) in [
        (json!("ops_rw"), Ok(Role::OpsRw)),
        (json!("openid read_only ops_rw"), Ok(Role::OpsRw)),
        (json!(["profile", "admin", "read_only"]), Ok(Role::Admin)),
        (json!("openid administrator"), Err(JwtError::Role)),
        (json!("admin,read_only"), Err(JwtError::Role)),
        (json!("openid\tadmin\u{a0}ops_rw\nread_only"), Err(JwtError::Role)),
        (json!([1, null]), Err(JwtError::Role)),
        (json!(["not admin"]), Err(JwtError::Role)),
    ] {
        let mut claims = Issuer::claims("admin");
        claims["scope"] = scope.clone();
        let judged = judge.judge(&issuer.signed(&header("EdDSA", "ed"), &claims), OffsetDateTime::now_utc());
        assert_eq!(judged.map(|bearer| bearer.role), role, "{scope}");
    }
}

#[test]
fn a_group_whose_name_holds_a_role_gives_none() {
    let issuer = Issuer::new();
    for name in ["role", "groups"] {
        let (judge, _folder) = validator(&issuer, |settings| settings.jwt.role_claim = name.into());
        for (claim, role) in [
            (json!("admin"), Ok(Role::Admin)),
            (json!(["users", "ops_rw", "read_only"]), Ok(Role::OpsRw)),
            (json!("not admin"), Err(JwtError::Role)),
            (json!(["not admin", "ops_rw"]), Ok(Role::OpsRw)),
            (json!(["read_only admin"]), Err(JwtError::Role)),
            (json!(["admin of nothing", "former admin"]), Err(JwtError::Role)),
            (json!(" admin "), Err(JwtError::Role)),
            (json!("admin\n"), Err(JwtError::Role)),
            (json!("Admin"), Err(JwtError::Role)),
            (json!("administrator"), Err(JwtError::Role)),
            (json!("\u{430}dmin"), Err(JwtError::Role)),
            (json!("admin\u{200b}"), Err(JwtError::Role)),
            (json!([["admin"]]), Err(JwtError::Role)),
            (json!([{"name": "admin"}]), Err(JwtError::Role)),
            (json!([2, true, null]), Err(JwtError::Role)),
            (json!(2), Err(JwtError::Role)),
            (json!([]), Err(JwtError::Role)),
            (json!(""), Err(JwtError::Role)),
        ] {
            let mut claims = Issuer::claims("admin");
            claims[name] = claim.clone();
            let judged = judge.judge(&issuer.signed(&header("EdDSA", "ed"), &claims), OffsetDateTime::now_utc());
            assert_eq!(judged.map(|bearer| bearer.role), role, "{name}: {claim}");
        }
    }
}

#[test]
fn keys_are_rotated_by_replacing_the_file() {
    let (old, new) = (Issuer::new(), Issuer::new());
    let (judge, folder) = validator(&old, |_| {});
    let now = OffsetDateTime::now_utc();
    assert!(judge.judge(&old.good("admin"), now).is_ok());
    let beside = folder.path().join("new.json");
    fs::write(&beside, new.jwks().to_string()).unwrap();
    fs::rename(&beside, folder.path().join("jwks.json")).unwrap();
    assert_eq!(judge.judge(&old.good("admin"), now), Err(JwtError::Signature));
    assert!(judge.judge(&new.good("admin"), now).is_ok());
    fs::write(&beside, "{").unwrap();
    fs::rename(&beside, folder.path().join("jwks.json")).unwrap();
    assert!(judge.judge(&new.good("admin"), now).is_ok(), "half a file changes nothing");
}

#[test]
fn key_sets_that_cannot_be_meant_are_refused() {
    let one = |key: Value| Keys::parse(&json!({ "keys": [key] }).to_string()).err().unwrap_or_default();
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    for (key, why) in [
        (json!({"kty": "oct", "k": "c2VjcmV0"}), "key 1 holds a secret; only public keys belong into this file"),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": x, "d": x}), "holds a secret"),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": "c2hvcnQ"}), "has a \"x\" of 5 bytes where 32 are right"),
        (json!({"kty": "OKP", "crv": "Ed25519"}), "has no \"x\" in base64url without padding"),
        (json!({"kty": "EC", "crv": "P-256", "x": x}), "has no \"y\""),
        (json!({"kty": "RSA", "n": encode(&[255; 128]), "e": "AQAB"}), "1024 bits; 2048 to 8192 are accepted"),
        (json!({"kty": "RSA", "n": encode(&[0; 256]), "e": "AQAB"}), "leading zero"),
        (json!({"kty": "OKP", "crv": "X25519", "x": x}), "no key that signs"),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": x, "alg": "ES256"}), "no key that signs"),
    ] {
        let found = one(key.clone());
        assert!(found.contains(why), "{key}: {found}");
    }
    assert!(Keys::parse("[]").err().unwrap().contains("no JWK set"));
    let two = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}, {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "b"}]});
    let keys = Keys::parse(&two.to_string()).unwrap();
    assert!(keys.find(Signer::EdDsa, None).is_none(), "which one?");
    assert!(keys.find(Signer::EdDsa, Some("b")).is_some());
    let missing = Keys::read(std::path::Path::new("/nowhere/jwks.json")).err().unwrap();
    assert!(missing.starts_with("jwt.keys_file /nowhere/jwks.json: "), "{missing}");
}

#[test]
fn many_callers_are_told_apart_whoever_came_before() {
    let issuer = Issuer::new();
    let (judge, _folder) = validator(&issuer, |_| {});
    let now = OffsetDateTime::now_utc();
    let tokens: Vec<String> = (0..40)
        .map(|n| {
            let mut claims = Issuer::claims(if n % 2 == 0 { "admin" } else { "read_only" });
            claims["sub"] = json!(format!("caller {n}"));
            issuer.signed(&header("ES256", "ec"), &claims)
        })
        .collect();
    for _ in 0..3 {
        for (n, token) in tokens.iter().enumerate() {
            let bearer = judge.judge(token, now).unwrap();
            assert_eq!((bearer.subject, bearer.role == Role::Admin), (format!("caller {n}"), n % 2 == 0));
            assert_eq!(
                judge.judge(token, now + Duration::hours(1)),
                Err(JwtError::Expired),
                "accepted once is not for ever"
            );
            let mut other = token.clone().into_bytes();
            *other.last_mut().unwrap() = if other.ends_with(b"A") { b"Q" } else { b"A" }[0];
            assert!(judge.judge(std::str::from_utf8(&other).unwrap(), now).is_err(), "nor is one that looks like it");
        }
    }
}

#[test]
fn a_key_of_small_order_is_refused() {
    for x in ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA"] {
        let set = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": x }] });
        let why = Keys::parse(&set.to_string()).err().expect("it is no key");
        assert!(why.contains("key 1 is a point of small order"), "{why}");
    }
}
