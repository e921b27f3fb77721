//! `manage.mark_good`: a person does not wait for the automatic commit, and finds the same faults.

use super::web::{Web, admin, slot, until};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Something on this device that has to work (`update.health_urls`), and does once a person has seen to it.
struct Page {
    url: String,
    works: Arc<AtomicBool>,
}

impl Page {
    async fn that_fails() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
        let works = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&works);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let status = if now.load(Ordering::SeqCst) { "200 OK" } else { "503 Not Yet" };
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
            }
        });
        Self { url, works }
    }
}

#[tokio::test]
async fn a_person_commits_a_trial_once_it_is_well_and_no_earlier() {
    let page = Page::that_fails().await;
    let mut web = Web::new();
    web.release("1.1.0", 11, "the second system\n");
    let pi = web.pi(|settings| settings.update.health_urls = vec![page.url.clone()]).await;
    let mut wire = admin(&pi).await;
    wire.call("manage.update_server", json!({})).await.ok();
    until(&mut wire, "found sick", |status| {
        status["phase"] == "trial" && status["health_problems"].to_string().contains("503")
    })
    .await;
    let refused = wire.call("manage.mark_good", json!({})).await;
    let refused = refused.failed("failed_precondition");
    assert!(refused["details"]["problems"][0].as_str().unwrap().contains("it answers 503"), "{refused}");
    let status = wire.call("manage.get_update_status", json!({})).await.ok().clone();
    assert_eq!((&status["phase"], &slot(&status, "B")["state"]), (&json!("trial"), &json!("trial")));

    page.works.store(true, Ordering::SeqCst);
    let kept = wire.call("manage.mark_good", json!({})).await;
    assert_eq!(*kept.ok(), json!({"slot": "B", "version": "1.1.0", "state": "good", "previous_state": "trial"}));
    assert_eq!((&kept.meta()["changed"], &kept.meta()["simulated"]), (&json!(true), &json!(true)));
    // At once: the automatic commit would still have a look to go.
    let status = wire.call("manage.get_update_status", json!({})).await.ok().clone();
    assert_eq!((&status["phase"], &status["status"]["status"]), (&json!("committed"), &json!("succeeded")));
    assert_eq!((&slot(&status, "B")["state"], &slot(&status, "B")["next"]), (&json!("good"), &json!(true)));

    let again = wire.call("manage.mark_good", json!({})).await;
    assert_eq!(again.ok()["previous_state"], "good");
    assert_ne!(again.meta()["changed"], true);
}
