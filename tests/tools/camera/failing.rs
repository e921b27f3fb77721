//! Cameras that do not do what they should.

use super::{CARD, WEBCAM, enabled, folder, pi, scene, small};
use crate::support::served::{Door, Pi, soon};
use hw::camera::{Holder, simulated::CameraTrouble};
use serde_json::json;
use std::{fs, time::Duration};

#[tokio::test]
async fn a_busy_camera_says_who_has_it_and_the_other_one_works() {
    let pi = pi().await;
    scene(&pi).fail(CARD, CameraTrouble::Busy(Holder { pid: 812, name: "motion".into() }));
    for tool in ["camera.capture", "camera.take_photo"] {
        let error = pi.call(tool, json!({ "camera": CARD })).await.failed("resource_exhausted").clone();
        assert_eq!(
            (&error["details"]["device"], &error["details"]["in_use_by"], &error["details"]["pid"]),
            (&json!(CARD), &json!("motion"), &json!(812))
        );
        assert!(error["message"].as_str().unwrap().contains("motion (process 812)") && error["hint"].is_string());
    }
    assert!(!folder(&pi).exists());
    pi.call("camera.capture", small(WEBCAM)).await.ok();
    scene(&pi).heal(CARD);
    pi.call("camera.capture", small(CARD)).await.ok();
}

#[tokio::test]
async fn a_camera_that_gives_nothing_is_a_timeout_with_its_time() {
    let pi = pi().await;
    scene(&pi).set_patience(Duration::from_millis(30));
    scene(&pi).fail(CARD, CameraTrouble::NoFrames);
    let error = pi.call("camera.capture", small(CARD)).await.failed("timeout").clone();
    assert_eq!(error["details"]["device"], CARD);
    assert!(error["timeoutMs"].as_u64().unwrap() >= 30, "{error}");
}

#[tokio::test]
async fn half_a_frame_is_tried_again_and_then_given_up() {
    let pi = pi().await;
    for camera in [CARD, WEBCAM] {
        let before = scene(&pi).frames();
        scene(&pi).fail(camera, CameraTrouble::Truncated);
        let error = pi.call("camera.take_photo", json!({"camera": camera, "resolution": "640x480"})).await;
        let error = error.failed("unavailable").clone();
        assert_eq!((&error["details"]["device"], scene(&pi).frames() - before), (&json!(camera), 8));
        assert!(error["message"].as_str().unwrap().contains("no whole frames"), "{error}");
    }
    assert!(!folder(&pi).exists(), "half a picture is none");
}

#[tokio::test]
async fn a_camera_that_is_pulled_out_says_so_and_then_is_gone() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.warmup_frames = 5;
    })
    .await;
    scene(&pi).fail(CARD, CameraTrouble::Unplugged { after: 3 });
    let error = pi.call("camera.capture", small(CARD)).await.failed("unavailable").clone();
    assert!(error["message"].as_str().unwrap().contains("unplugged"), "{error}");
    pi.call("camera.capture", small(CARD)).await.failed("not_found");
    scene(&pi).unplug(WEBCAM);
    let error = pi.call("camera.capture", json!({})).await.failed("capability_missing").clone();
    assert!(error["hint"].is_string());
    let list = pi.call("camera.list_cameras", json!({})).await;
    assert_eq!((&list.ok()["cameras"], list.ok()["note"].is_string()), (&json!([]), true));
}

#[tokio::test]
async fn who_waits_no_longer_lets_go_of_the_camera() {
    let pi = pi().await;
    scene(&pi).fail(CARD, CameraTrouble::NoFrames);
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("camera.capture", small(CARD));
    // The server has the line once the next one is answered.
    wire.request("system.get_clock", json!({})).await;
    wire.notify("$/cancelRequest", json!({ "id": id }));
    soon(wire.answer_to(id)).await.fault(-32011);
    // The next one has its turn at once, and not when the first would have given up.
    let begun = std::time::Instant::now();
    soon(wire.call("camera.capture", small(WEBCAM))).await.ok();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_picture_that_no_answer_holds_is_refused_with_a_way_out() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.limits.max_response_bytes = 12_000;
    })
    .await;
    let error = pi.call("camera.capture", json!({"camera": CARD, "width": 1920, "height": 1080})).await;
    let error = error.failed("content_too_large").clone();
    assert!(error["hint"].as_str().unwrap().contains("camera.take_photo"), "{error}");
    pi.call("camera.take_photo", json!({"camera": CARD, "resolution": "1920x1080"})).await.ok();
    let little = json!({"camera": CARD, "width": 320, "height": 180, "quality": 5});
    pi.call("camera.capture", little).await.ok();
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_keeps_no_photo_and_says_why() {
    let pi = pi().await;
    // A file where the folder should be.
    fs::create_dir_all(folder(&pi).parent().unwrap()).unwrap();
    fs::write(folder(&pi), "").unwrap();
    let error = pi.call("camera.take_photo", json!({})).await.failed("unavailable").clone();
    assert!(error["message"].as_str().unwrap().contains("cannot be kept"), "{error}");
    assert_eq!(scene(&pi).frames(), 0, "not looked at in vain");
}
