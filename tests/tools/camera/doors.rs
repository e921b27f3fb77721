//! Photos that were taken: by their tool, as resources, and over HTTP.

use super::{enabled, folder, from_base64, image, shows_the_card};
use crate::support::served::{Door, Pi, soon, token};
use contract::meta::Role;
use serde_json::{Value, json};
use std::fs;

/// A server with a photo, its name, and a token of each of two roles.
async fn taken() -> (Pi, String, String, String) {
    let ((operator, first), (reader, second)) = (token("operator", Role::OpsRw), token("reader", Role::ReadOnly));
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.access.loopback_role = Role::Admin;
        settings.access.tokens = vec![first, second];
        settings.camera.public_url = "https://pi.local:8765/".into();
    })
    .await;
    let out = pi.call("camera.take_photo", json!({"resolution": "640x480"})).await.ok().clone();
    let name = out["name"].as_str().unwrap().to_owned();
    assert_eq!(out["public_url"], format!("https://pi.local:8765/photos/{name}"));
    (pi, name, operator, reader)
}

async fn get(pi: &Pi, path: &str, token: Option<&str>) -> reqwest::Response {
    ask(pi, reqwest::Method::GET, path, token).await
}

async fn ask(pi: &Pi, method: reqwest::Method, path: &str, token: Option<&str>) -> reqwest::Response {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut request = reqwest::Client::new().request(method, format!("http://{}{path}", pi.address()));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    soon(request.send()).await.unwrap()
}

#[tokio::test]
async fn a_photo_is_got_by_its_name() {
    let (pi, name, ..) = taken().await;
    let answer = pi.call("camera.get_photo", json!({ "name": name })).await;
    let (bytes, mime) = image(&answer);
    shows_the_card(&bytes);
    assert_eq!((mime.as_str(), bytes), ("image/jpeg", fs::read(folder(&pi).join(&name)).unwrap()));
    assert_eq!(answer.meta()["resource_uri"], Value::Null, "a form of addresses is none");
    let stamp = answer.ok()["timestamp"].as_str().unwrap().replace(['-', ':', '.'], "");
    assert!(name.starts_with(&stamp), "{stamp} {name}");
    let bare = pi.on(Door::Stdio).await.request("camera.get_photo", json!({ "name": name })).await;
    shows_the_card(&from_base64(bare.result()["image_data"].as_str().unwrap()));
    fs::remove_file(folder(&pi).join(&name)).unwrap();
    pi.call("camera.get_photo", json!({ "name": name })).await.failed("not_found");
}

#[tokio::test]
async fn it_is_a_resource_of_bytes() {
    let (pi, name, ..) = taken().await;
    let mut wire = pi.on(Door::Http).await;
    wire.initialize("2025-11-25", "test").await;
    let uri = format!("raspi://camera/photos/{name}");
    let read = wire.request("resources/read", json!({ "uri": uri })).await;
    let contents = &read.result()["contents"][0];
    assert_eq!(
        (&contents["uri"], &contents["mimeType"], contents.get("text")),
        (&json!(uri), &json!("image/jpeg"), None)
    );
    shows_the_card(&from_base64(contents["blob"].as_str().unwrap()));
    assert_eq!(contents["_meta"]["simulated"], true);
    let templates = wire.request("resources/templates/list", json!({})).await;
    let listed = templates.result()["resourceTemplates"].as_array().unwrap();
    let photos = listed.iter().find(|each| each["uriTemplate"] == "raspi://camera/photos/{name}").unwrap();
    assert!(photos.get("mimeType").is_none(), "each has its own: {photos}");
    for bad in ["raspi://camera/photos/", "raspi://camera/photos/../../x", "raspi://camera/photos/a/b"] {
        wire.request("resources/read", json!({ "uri": bad })).await.fault(-32002);
    }
    for bad in ["raspi://camera/photos/..%2F..%2Fetc%2Fpasswd", "raspi://camera/photos/x.jpg"] {
        wire.request("resources/read", json!({ "uri": bad })).await.fault(-32602);
    }
    wire.request("resources/subscribe", json!({ "uri": uri })).await.result();
}

#[tokio::test]
async fn over_http_it_takes_a_token_even_on_loopback() {
    let (pi, name, operator, reader) = taken().await;
    let path = format!("/photos/{name}");
    let refused = get(&pi, &path, None).await;
    assert_eq!(refused.status(), 401, "though anybody on loopback is an administrator here");
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    assert_eq!(get(&pi, &path, Some("rmcp_nonsense")).await.status(), 401);
    assert_eq!(get(&pi, &path, Some(&reader)).await.status(), 403);
    let photo = get(&pi, &path, Some(&operator)).await;
    assert_eq!((photo.status().as_u16(), &photo.headers()["content-type"]), (200, &"image/jpeg".parse().unwrap()));
    assert_eq!(photo.headers()["cache-control"], "private, no-store");
    assert_eq!(photo.headers()["x-content-type-options"], "nosniff");
    shows_the_card(&photo.bytes().await.unwrap());
    let head = ask(&pi, reqwest::Method::HEAD, &path, Some(&operator)).await;
    assert_eq!(head.status(), 200);
    assert_eq!(ask(&pi, reqwest::Method::POST, &path, Some(&operator)).await.status(), 405);
    assert_eq!(ask(&pi, reqwest::Method::DELETE, &path, Some(&operator)).await.status(), 405);
    pi.audited(|record| record["tool"] == "camera.get_photo" && record["principal"] == "token:operator").await;
    pi.audited(|record| record["tool"] == "camera.get_photo" && record["outcome"] == "permission_denied").await;
    pi.audited(|record| record["tool"] == "access.authenticate").await;
}

#[tokio::test]
async fn with_the_namespace_off_there_are_no_photos_to_see() {
    let (operator, setting) = token("operator", Role::OpsRw);
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting]).await;
    let name = "20261122T081600123Z-1f9a03c7.jpg";
    fs::create_dir_all(folder(&pi)).unwrap();
    fs::write(folder(&pi).join(name), "SECRET").unwrap();
    assert_eq!(get(&pi, &format!("/photos/{name}"), Some(&operator)).await.status(), 403);
}

#[tokio::test]
async fn the_door_has_its_rate() {
    let (operator, setting) = token("operator", Role::OpsRw);
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.access.tokens = vec![setting];
        settings.limits.reads_per_minute = 2;
    })
    .await;
    let path = "/photos/20261122T081600123Z-1f9a03c7.jpg";
    for status in [404, 404, 429] {
        assert_eq!(get(&pi, path, Some(&operator)).await.status(), status);
    }
}
