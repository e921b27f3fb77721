//! A page in somebody's browser that reaches the port under another name, or from another page.

use crate::support::served::{
    request,
    secure::{Owner, Secure},
};
use base::os::{Root, kernel};
use serde_json::json;

/// The status of a call under these headers, with the right token: a browser that was tricked may have it, too.
async fn status(secure: &Secure, headers: &[(&str, &str)]) -> u16 {
    let mut post = secure.client().post(secure.url("/api/mcp")).bearer_auth(&secure.token);
    post = post.header("content-type", "application/json").body(request(&json!(1), "test.echo", &json!({})));
    for (name, value) in headers {
        post = post.header(*name, *value);
    }
    post.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn the_certificate_says_which_names_are_ours() {
    let secure = Secure::start().await;
    let port = secure.address().port();
    for ours in ["pi.test", &format!("PI.test:{port}"), "localhost", &format!("127.0.0.1:{port}"), "127.0.0.1"] {
        assert_eq!(status(&secure, &[("host", ours)]).await, 200, "{ours}");
    }
    for rebound in ["evil.example", "pi.test.evil.example", "xpi.test", "192.0.2.1", "127.0.0.2", "user@pi.test"] {
        assert_eq!(status(&secure, &[("host", rebound)]).await, 403, "{rebound}");
    }
}

#[tokio::test]
async fn what_the_machine_is_called_is_ours() {
    let secure = Secure::start().await;
    let name = kernel::hostname(&Root::system()).unwrap();
    let alone = name.split('.').next().unwrap();
    for ours in [name.clone(), alone.to_uppercase(), format!("{alone}.local:8443")] {
        assert_eq!(status(&secure, &[("host", &ours)]).await, 200, "{ours}");
    }
    for rebound in
        [format!("{alone}.evil.example"), format!("{alone}.local.example"), format!("x{alone}"), ".local".into()]
    {
        assert_eq!(status(&secure, &[("host", &rebound)]).await, 403, "{rebound}");
    }
}

#[tokio::test]
async fn the_configuration_can_add_names() {
    let owner = Owner::new();
    let secure = owner.starts(|settings| settings.http.allowed_hosts = vec!["pi.lan".into()]).await;
    assert_eq!(status(&secure, &[("host", "pi.lan:8765")]).await, 200);
    assert_eq!(status(&secure, &[("host", "pi2.lan")]).await, 403);
}

#[tokio::test]
async fn pages_of_other_origins_are_turned_away() {
    let owner = Owner::new();
    let secure = owner.starts(|settings| settings.http.allowed_origins = vec!["https://desk.example".into()]).await;
    for foreign in
        ["https://evil.example", "null", "https://desk.example.evil", "http://desk.example", "https://pi.test"]
    {
        assert_eq!(status(&secure, &[("origin", foreign)]).await, 403, "{foreign}");
    }
    assert_eq!(status(&secure, &[("origin", "https://desk.example")]).await, 200);
    assert_eq!(secure.pi.audit().await.len(), 1, "a call was made once");
}
