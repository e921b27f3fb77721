//! What may be written down, and what may not.

use base::redact::{is_secret_name, redact, redact_own, redact_text};
use serde_json::{Value, json};

#[test]
fn names_of_secrets_are_known_in_every_spelling() {
    for name in [
        "token",
        "password",
        "PASSWORD",
        "api_key",
        "apiKey",
        "api-key",
        "X-Api-Key",
        "authorization",
        "Cookie",
        "set-cookie",
        "psk",
        "wifi_psk",
        "private_key",
        "credentials",
        "access_token",
        "/network/0/passphrase",
        "a.b.client_secret",
        "password_hash",
    ] {
        assert!(is_secret_name(name), "{name} is secret");
    }
    for name in ["pin", "tokenizer", "estimated_tokens_used", "progressToken", "path", "key", "/token/name", "value"] {
        assert!(!is_secret_name(name), "{name} is no secret");
    }
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let args =
        json!({"ssid": "home", "psk": "hunter2", "list": [{"token": "abc"}], "note": "use rmcp_abcDEF-123_x now"});
    let safe = redact(&args);
    assert_eq!(
        safe,
        json!({
            "ssid": "home", "psk": "[redacted]", "list": [{"token": "[redacted]"}], "note": "use rmcp_[redacted] now",
        })
    );
}

#[test]
fn who_called_is_no_secret_and_a_token_in_its_place_is() {
    let jwt = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl";
    for name in
        ["token:fleet", "token:kitchen-pi.2", "jwt:auth0|5f7c", "jwt:alice@example.org", "uid:1000", "page:1a2b"]
    {
        let authorization = json!({"warrant": {"principal": name, "ask_id": null}});
        assert_eq!(redact(&authorization), authorization);
        let text = format!("GPIO 17 is held by {name}, until it is released");
        assert_eq!(redact_own(&text), text);
    }
    for (text, safe) in [
        ("held by token:rmcp_abcDEF-123_x.", "held by token:rmcp_[redacted]"),
        ("token: hunter2", "token: [redacted]"),
        ("token=hunter2", "token=[redacted]"),
        ("{\"token\":\"hunter2\"}", "{\"token\":\"[redacted]\"}"),
        ("access_token:hunter2", "access_token:[redacted]"),
        ("Authorization: Bearer hunter2", "Authorization: [redacted]"),
    ] {
        assert!(!redact_own(text).contains("hunter2") && !redact_own(text).contains("abcDEF"), "{}", redact_own(text));
        if !text.contains("Bearer") {
            assert_eq!(redact_own(text), safe);
        }
    }
    assert_eq!(redact_own(&format!("refused jwt:{jwt}")), "refused jwt:[redacted]");
    assert_eq!(
        redact(&json!({"principal": format!("token:rmcp_{}", "a".repeat(43))}))["principal"],
        "token:rmcp_[redacted]"
    );
    assert_eq!(redact_text("a line of another program: token:hunter2"), "a line of another program: token:[redacted]");
}

#[test]
fn copies_are_bounded_in_every_direction() {
    let long = redact(&json!("ä".repeat(1000)));
    assert_eq!(long.as_str().unwrap().chars().count(), 257);
    let wide = redact(&json!((0..1000).collect::<Vec<_>>()));
    assert_eq!(wide.as_array().unwrap().len(), 65);
    assert_eq!(wide[64], "… 936 more");
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    assert!(redact(&deep).to_string().len() < 100);
    let row: Vec<Value> = (0..64).map(|n| json!(n)).collect();
    let square = redact(&json!(vec![row; 64]));
    assert!(square.to_string().len() < 8 * 1024, "{}", square.to_string().len());
}

#[test]
fn free_text_loses_its_secrets_and_nothing_else() {
    for (text, safe) in [
        ("GPIO 17 is held by fan; release it", "GPIO 17 is held by fan; release it"),
        ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
        ("sent bearer abc.def, twice", "sent bearer [redacted], twice"),
        ("password=hunter2 user=pi", "password=[redacted] user=pi"),
        (r#"{"token":"a b c","pin":4}"#, r#"{"token":"[redacted]","pin":4}"#),
        ("psk: 'two words' ok", "psk: '[redacted]' ok"),
        ("https://pi:secret@host/x", "https://pi:[redacted]@host/x"),
        ("a token is missing", "a token is missing"),
        ("rmcp_0123456789", "rmcp_[redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\ndone", "[redacted]\ndone"),
        ("temperature 48,2 °C ✓", "temperature 48,2 °C ✓"),
        ("password=", "password="),
        ("token: \"unfinished", "token: \"[redacted]"),
    ] {
        assert_eq!(redact_text(text), safe);
    }
}

proptest::proptest! {
    /// Whatever stands around it, the value of a secret never comes through, and no text makes it stumble.
    #[test]
    fn a_token_of_ours_never_comes_through(before in "\\PC{0,20}", after in "[ ,;]\\PC{0,20}") {
        let text = format!("{before} rmcp_S3cretValue{after}");
        proptest::prop_assert!(!redact_text(&text).contains("S3cretValue"));
    }

    #[test]
    fn any_text_is_taken(text in "\\PC*") {
        let _ = redact_text(&text);
    }
}
