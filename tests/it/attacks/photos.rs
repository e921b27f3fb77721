//! Names that are none, and photos that are something else: what is kept beside the photos stays unseen.

use crate::support::{
    camera::{enabled, folder},
    served::{Door, Pi, soon, token},
};
use contract::meta::Role;
use serde_json::json;
use std::{fs, os::unix::fs::symlink};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const NAME: &str = "20261122T081600123Z-1f9a03c7.jpg";

/// A server with a folder of photos, secrets around it, and a token that may see photos.
async fn guarded() -> (Pi, String) {
    let (operator, setting) = token("operator", Role::OpsRw);
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.access.tokens = vec![setting];
    })
    .await;
    let photos = folder(&pi);
    fs::create_dir_all(photos.join("sub")).unwrap();
    for secret in [photos.with_file_name("secret"), photos.join("secret"), photos.join("sub").join(NAME)] {
        fs::write(secret, "SECRET").unwrap();
    }
    (pi, operator)
}

/// As it is written, without a client that tidies paths; the answer, whole.
async fn get(pi: &Pi, path: &str, token: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(pi.address()).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
        pi.address()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default(), answer)
}

#[tokio::test]
async fn no_name_leads_out_of_the_folder() {
    let (pi, operator) = guarded().await;
    let mut wire = pi.on(Door::Stdio).await;
    for name in [
        "",
        ".",
        "..",
        "secret",
        "../secret",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "..%2Fsecret",
        "%2e%2e%2fsecret",
        "..\\secret",
        "sub/20261122T081600123Z-1f9a03c7.jpg",
        "./20261122T081600123Z-1f9a03c7.jpg",
        "20261122T081600123Z-1f9a03c7.jpg/../../secret",
        "20261122T081600123Z-1f9a03c7.jpg%00",
        "20261122T081600123Z-1F9A03C7.jpg",
        "20261122T081600123Z-1f9a03c7.JPG",
        "20261122T081600123Z-1f9a03c7.jpg ",
        "２0261122T081600123Z-1f9a03c7.jpg",
    ] {
        wire.call("camera.get_photo", json!({ "name": name })).await.failed("invalid_argument");
        let path = format!("/photos/{name}");
        if path.is_ascii() && !path.contains([' ', '\\']) {
            let (status, answer) = get(&pi, &path, &operator).await;
            assert!([400, 404].contains(&status) && !answer.contains("SECRET"), "{path}: {answer}");
        }
    }
    wire.call("camera.get_photo", json!({ "name": format!("{NAME}\u{0}") })).await.failed("invalid_argument");
    wire.call("camera.get_photo", json!({ "name": 7 })).await.refused("/name");
    wire.call("camera.get_photo", json!({ "name": "x".repeat(100_000) })).await.failed("invalid_argument");
    for path in
        ["/photos", "/photos/../photos/../secret", "//photos/secret", "/photos/?name=secret", "/photos/../healthz"]
    {
        let (status, answer) = get(&pi, path, &operator).await;
        assert!(status != 200 && !answer.contains("SECRET"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn what_has_a_photos_name_and_is_none_is_not_there() {
    let (pi, operator) = guarded().await;
    let photos = folder(&pi);
    let (link, directory, fifo, dangling) = (
        "20261122T081600123Z-00000001.jpg",
        "20261122T081600123Z-00000002.jpg",
        "20261122T081600123Z-00000003.jpg",
        "20261122T081600123Z-00000004.jpg",
    );
    symlink(photos.with_file_name("secret"), photos.join(link)).unwrap();
    symlink("/nowhere", photos.join(dangling)).unwrap();
    fs::create_dir(photos.join(directory)).unwrap();
    let made = std::process::Command::new("mkfifo").arg(photos.join(fifo)).status().unwrap();
    assert!(made.success());
    for name in [link, directory, fifo, dangling, NAME] {
        soon(pi.call("camera.get_photo", json!({ "name": name }))).await.failed("not_found");
        let (status, answer) = get(&pi, &format!("/photos/{name}"), &operator).await;
        assert!(status == 404 && !answer.contains("SECRET"), "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_photo_that_has_grown_beyond_an_answer_is_not_read() {
    let (pi, _) = guarded().await;
    let file = fs::File::create(folder(&pi).join(NAME)).unwrap();
    // Sparse: nothing is written, and reading it would take eight gibibytes of memory.
    file.set_len(8 << 30).unwrap();
    pi.call("camera.get_photo", json!({ "name": NAME })).await.failed("content_too_large");
}
