//! The search index of the real program: killed again and again while it indexes, and right afterwards.

use crate::support::served::{Door, Wire, process::command, soon};
use serde_json::json;
use std::{fs, time::Duration};
use tempfile::TempDir;

#[tokio::test]
async fn killed_in_the_middle_it_goes_on_and_finds_what_is_there() {
    let home = TempDir::new().unwrap();
    let (root, config) = (home.path().join("files"), home.path().join("config.toml"));
    fs::create_dir(&root).unwrap();
    for number in 0..400 {
        fs::write(root.join(format!("{number}.txt")), format!("zebra number{number}\n").repeat(40)).unwrap();
    }
    let text = format!("[[files.roots]]\nname = \"data\"\npath = \"{}\"\nindex = true\n", root.display());
    fs::write(&config, text).unwrap();
    let args = ["serve", "--stdio", "--config", config.to_str().unwrap(), "--set", "socket.enabled=false"];
    for kill in 0..6_u64 {
        let mut child = command(&home, &args).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(60 + 40 * kill)).await;
        child.kill().await.unwrap();
        // What is there changes while nobody looks.
        fs::remove_file(root.join(format!("{kill}.txt"))).unwrap();
        fs::write(root.join(format!("{}.txt", 399 - kill)), "giraffe\n").unwrap();
    }
    let mut child = command(&home, &args).spawn().unwrap();
    let mut wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let status = soon(async {
        loop {
            let status = wire.call("vector.get_status", json!({})).await;
            if status.ok()["files"]["state"] == "ready" {
                return status.ok().clone();
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await;
    let data = status["namespaces"].as_array().unwrap().iter().find(|one| one["name"] == "data").unwrap();
    assert_eq!(data["documents"], 394, "{status}");
    let found = wire.call("vector.search", json!({ "query": "giraffe", "namespace": "data", "top_k": 50 })).await;
    assert_eq!(found.ok()["matches"].as_array().unwrap().len(), 6);
    for (word, there) in [("number3", 0), ("number17", 1), ("number398", 0)] {
        let found = wire.call("vector.search", json!({ "query": word, "filter": { "path_prefix": &word[6..] } })).await;
        let exact = found.ok()["matches"].as_array().unwrap();
        let exact = exact.iter().filter(|one| one["metadata"]["path"] == format!("data:{}.txt", &word[6..]));
        assert_eq!(exact.count(), there, "{word}");
    }
}
