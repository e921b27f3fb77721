//! The files of the page: few, small, and with a policy that lets nothing else run.

use super::{Browser, served};
use crate::{
    appliance::fresh::Fresh,
    support::served::{Pi, secure::pinned},
};
use raspi_mcp::page::{assets::ASSETS, headers::POLICY};
use reqwest::Method;
use serde_json::Value;
use std::{fs, path::Path};

#[test]
fn the_page_is_four_requests_and_less_than_forty_kilobytes() {
    let sizes: Vec<(&str, usize)> = ASSETS.iter().map(|asset| (asset.path, asset.gzip.len())).collect();
    let sum: usize = sizes.iter().map(|(_, size)| size).sum();
    // The fifth and sixth are the session and the events.
    assert!(sizes.len() == 4 && sum < 40_000, "{sum} bytes: {sizes:?}");
    assert_eq!(sizes[0].0, "/");
}

#[tokio::test]
async fn every_file_has_the_policy_and_all_but_the_page_never_change() {
    let (pi, ..) = served(|_| {}).await;
    let browser = Browser::of(&pi);
    for asset in ASSETS {
        // No session and no header of a page: a browser follows a link, or somebody looks.
        let request = browser.bare(Method::GET, asset.path).header("accept", "text/html,*/*;q=0.8");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", asset.path);
        let header = |name: &str| answer.headers()[name].to_str().unwrap();
        assert_eq!(header("content-security-policy"), POLICY);
        for must in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"] {
            assert!(POLICY.contains(must), "{must}");
        }
        assert!(!POLICY.contains("unsafe") && !POLICY.contains("http"), "{POLICY}");
        assert_eq!((header("x-content-type-options"), header("referrer-policy")), ("nosniff", "no-referrer"));
        assert_eq!((header("content-type"), header("content-encoding")), (asset.content_type, "gzip"));
        let kept = if asset.path == "/" { "no-cache" } else { "public, max-age=31536000, immutable" };
        assert_eq!(header("cache-control"), kept);
        assert!(!answer.headers().contains_key("set-cookie"));
        assert_eq!(answer.bytes().await.unwrap(), asset.gzip);
        let head = browser.bare(Method::HEAD, asset.path).header("accept", "text/html").send().await.unwrap();
        assert_eq!(head.status(), 200);
    }
    assert_eq!(browser.ask(Method::POST, ASSETS[1].path).send().await.unwrap().status(), 405);
}

#[tokio::test]
async fn only_a_browser_gets_the_page_and_programs_get_what_they_got() {
    let (pi, ..) = served(|_| {}).await;
    let browser = Browser::of(&pi);
    for accept in ["*/*", "application/json", "text/htmlx"] {
        let answer = browser.bare(Method::GET, "/").header("accept", accept).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{accept}");
        assert_eq!(answer.headers()["content-type"], "application/json");
    }
    let answer = browser.bare(Method::POST, "/").header("accept", "text/html").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn answers_below_page_are_never_kept_and_have_the_policy_too() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    for path in ["/page/session", "/page/nothing"] {
        let answer = browser.ask(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.headers()["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers()["content-security-policy"], POLICY);
    }
}

#[tokio::test]
async fn a_page_that_is_switched_off_is_not_there() {
    let pi = Pi::with(|settings| settings.http.page = false).await;
    let mut browser = Browser::of(&pi);
    let answer = browser.bare(Method::GET, "/").header("accept", "text/html").send().await.unwrap();
    assert_eq!(answer.status(), 404);
    assert!(answer.text().await.unwrap().contains("http.page"));
    assert_eq!(browser.signs_in(None).await.status(), 404);
}

#[tokio::test]
async fn a_machine_without_an_owner_says_how_to_claim_it_and_nothing_else() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let client = pinned(up.pin).build().unwrap();
    let answer = client.get(up.url("/")).header("accept", "text/html").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()),
        (403, "text/html; charset=utf-8")
    );
    assert_eq!(answer.headers()["content-security-policy"], POLICY);
    let text = answer.text().await.unwrap();
    assert!(
        text.contains("raspi-mcp claim https://") && !text.contains("<script") && !text.contains("<form"),
        "{text}"
    );
    // No secret of the screen is on it.
    let shown = [fresh.code().to_string(), up.pin.to_string()];
    assert!(shown.iter().all(|secret| !text.contains(secret.as_str())), "{text}");
    // Nothing of the page is served, and programs get JSON.
    for (path, accept) in [("/", "*/*"), (ASSETS[1].path, "*/*"), ("/page/session", "text/html"), ("/mcp", "text/html")]
    {
        let answer = client.get(up.url(path)).header("accept", accept).send().await.unwrap();
        assert_eq!(answer.status(), 403, "{path}");
        let refusal: Value = answer.json().await.unwrap();
        assert_eq!(refusal["error"]["data"]["details"]["unclaimed"], true, "{path}: {refusal}");
    }
}

/// The sources' own rules: text never becomes markup, nothing comes from elsewhere, no file holds more than one idea.
#[test]
fn the_sources_write_text_as_text_and_load_nothing_from_elsewhere() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let mut modules = 0;
    for entry in fs::read_dir(&web).unwrap() {
        let path = entry.unwrap().path();
        let Some(kind @ ("js" | "html" | "css" | "svg")) = path.extension().and_then(|kind| kind.to_str()) else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        modules += usize::from(kind == "js");
        assert!(text.lines().count() <= 200, "{} is long", path.display());
        for not in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            " style=",
            "javascript:",
        ] {
            assert!(!text.contains(not), "{} has {not}", path.display());
        }
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:"), "{}", path.display());
    }
    assert!(modules > 10, "{modules} modules");
}
