//! Only the page's own requests are served below `/page/`.

use super::{Browser, served};
use reqwest::Method;
use serde_json::Value;

#[tokio::test]
async fn requests_of_other_sites_are_refused_with_the_cookie_and_without() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let own = browser.url("");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"test.echo","params":{"text":"x"}}"#;
    for (site, origin) in [
        (Some("cross-site"), Some("https://evil.example")),
        (Some("same-site"), Some(own.as_str())),
        (Some("none"), Some(own.as_str())),
        (None, Some(own.as_str())),
        (Some("same-origin"), None),
        (Some("same-origin"), Some("null")),
        // Another port of this machine is another origin; loopback origins are known at the other doors.
        (Some("same-origin"), Some("http://127.0.0.1:1")),
        (Some("same-origin"), Some("http://localhost")),
    ] {
        for (method, path) in
            [(Method::POST, "/page/call"), (Method::POST, "/page/session"), (Method::DELETE, "/page/session")]
        {
            let mut request = browser.bare(method, path).header("content-type", "application/json").bearer_auth(&admin);
            for (name, value) in [("sec-fetch-site", site), ("origin", origin)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let answer = request.body(body).send().await.unwrap();
            let (status, set) = (answer.status(), answer.headers().contains_key("set-cookie"));
            let refusal: Value = answer.json().await.unwrap();
            assert_eq!((status.as_u16(), set), (403, false), "{path} {site:?} {origin:?}: {refusal}");
            assert_eq!(refusal["error"]["data"]["error_code"], "permission_denied");
        }
    }
    assert_eq!(browser.session().await["open"], true, "nothing of that signed it out");
}

#[tokio::test]
async fn events_and_the_session_are_told_to_the_page_alone() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    for path in ["/page/events", "/page/session"] {
        for site in [None, Some("cross-site"), Some("none")] {
            let request = browser.bare(Method::GET, path);
            let request = if let Some(site) = site { request.header("sec-fetch-site", site) } else { request };
            assert_eq!(request.send().await.unwrap().status(), 403, "{path} {site:?}");
        }
    }
    assert_eq!(pi.server().subscriptions.count(), 0);
}

#[tokio::test]
async fn an_allowed_origin_of_programs_is_no_page_of_ours() {
    let (pi, admin, _) = served(|settings| settings.http.allowed_origins = vec!["https://tools.example".into()]).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let request = browser.bare(Method::POST, "/page/call").header("sec-fetch-site", "same-origin");
    let request = request.header("origin", "https://tools.example").header("content-type", "application/json");
    assert_eq!(request.body("{}").send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn another_host_name_is_refused_and_a_browser_is_told_so_as_a_page() {
    let (pi, ..) = served(|_| {}).await;
    let browser = Browser::of(&pi);
    let request = browser.bare(Method::GET, "/").header("host", "rebound.example").header("accept", "text/html");
    let answer = request.send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()),
        (403, "text/html; charset=utf-8")
    );
    assert!(answer.text().await.unwrap().contains("http.allowed_hosts"));
    let request = browser.ask(Method::GET, "/page/session").header("host", "rebound.example");
    assert_eq!(request.send().await.unwrap().status(), 403);
}
