//! Pictures as they should be.

use super::{CARD, WEBCAM, enabled, folder, from_base64, image, pi, scene, shows_the_card, small};
use crate::support::{
    pi::Pi as Captured,
    served::{Door, Pi},
};
use contract::meta::Role;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

#[tokio::test]
async fn a_fresh_server_lists_its_cameras_and_takes_no_picture() {
    let pi = Pi::start().await;
    let answer = pi.call("camera.list_cameras", json!({})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let cameras = &answer.ok()["cameras"];
    assert_eq!((&cameras[0]["camera"], &cameras[1]["camera"]), (&json!(CARD), &json!(WEBCAM)));
    assert_eq!(cameras[0]["formats"][0]["sizes"], json!(["320x180", "640x480", "1280x720", "1920x1080"]));
    assert_eq!((&cameras[1]["formats"][1]["pixel_format"], &cameras[1]["allowed"]), (&json!("MJPG"), &json!(true)));
    assert!(answer.ok().get("note").is_none());
    for tool in ["camera.take_photo", "camera.capture", "camera.get_photo"] {
        let args =
            if tool == "camera.get_photo" { json!({"name": "20261122T081600123Z-1f9a03c7.jpg"}) } else { json!({}) };
        pi.call(tool, args).await.failed("permission_denied");
    }
    assert_eq!(scene(&pi).frames(), 0, "nobody looked");
    assert!(!folder(&pi).exists());
}

#[tokio::test]
async fn a_reader_takes_and_sees_no_picture() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    pi.call("camera.list_cameras", json!({})).await.ok();
    for tool in ["camera.take_photo", "camera.capture"] {
        pi.call(tool, json!({})).await.failed("permission_denied");
    }
    assert_eq!(scene(&pi).frames(), 0);
}

#[tokio::test]
async fn a_capture_is_an_image_for_models_and_a_field_for_programs() {
    let pi = pi().await;
    let answer = pi.call("camera.capture", small(CARD)).await;
    let (bytes, mime) = image(&answer);
    shows_the_card(&bytes);
    let out = answer.ok();
    assert_eq!(
        (&out["width"], &out["height"], &out["format"], &out["size_bytes"]),
        (&json!(320), &json!(180), &json!("jpeg"), &json!(bytes.len()))
    );
    assert_eq!((mime.as_str(), &out["pixel_format"]), ("image/jpeg", &json!("YUYV")));
    assert_eq!((&out["passed_through"], &out["camera"]), (&json!(false), &json!(CARD)));
    assert_eq!((&answer.meta()["simulated"], &answer.meta()["changed"]), (&json!(true), &json!(false)));
    // Once in the answer, and not as text.
    assert!(out.get("image_data").is_none());
    assert_eq!(serde_json::from_str::<Value>(answer.result()["content"][0]["text"].as_str().unwrap()).unwrap(), *out);
    assert!(!folder(&pi).exists(), "nothing is kept");

    // docs/contract/camera.md: the bare method has it as a field, through whichever door.
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.access.loopback_role = Role::OpsRw;
    })
    .await;
    for door in [Door::Stdio, Door::Http, Door::Api, Door::Ws] {
        let bare = pi.on(door).await.request("camera.capture", small(CARD)).await;
        let result = bare.result();
        shows_the_card(&from_base64(result["image_data"].as_str().unwrap()));
        assert!(result["timestamp"].as_str().unwrap().ends_with('Z'), "{door:?}");
    }
}

#[tokio::test]
async fn what_the_camera_compressed_is_passed_on_whole() {
    let pi = pi().await;
    let answer = pi.call("camera.capture", small(WEBCAM)).await;
    let (bytes, _) = image(&answer);
    shows_the_card(&bytes);
    assert_eq!((&answer.ok()["passed_through"], &answer.ok()["pixel_format"]), (&json!(true), &json!("MJPG")));
    assert!(bytes.ends_with(&[0xff, 0xd9]), "cut at its end");
    assert!(bytes.windows(2).any(|two| two == [0xff, 0xc4]), "with the Huffman tables that the camera left out");
    // Never compressed where it can be had so, whichever camera.
    for camera in [CARD, WEBCAM] {
        let args = json!({"camera": camera, "width": 320, "height": 180, "format": "png"});
        let answer = pi.call("camera.capture", args).await;
        let (bytes, mime) = image(&answer);
        assert_eq!((mime.as_str(), &answer.ok()["pixel_format"]), ("image/png", &json!("YUYV")));
        shows_the_card(&bytes);
    }
}

#[tokio::test]
async fn sizes_are_negotiated_and_told_as_they_came_out() {
    let pi = pi().await;
    for (width, height, came) in
        [(320, 180, (320, 180)), (321, 180, (640, 480)), (16, 16, (320, 180)), (4608, 3456, (1920, 1080))]
    {
        let answer = pi.call("camera.capture", json!({"camera": WEBCAM, "width": width, "height": height})).await;
        let out = answer.ok();
        assert_eq!((&out["width"], &out["height"]), (&json!(came.0), &json!(came.1)), "{width}x{height}");
        let (w, h, _) = super::decoded(&image(&answer).0);
        assert_eq!((w, h), came);
    }
    let quality = |quality: u32| {
        let pi = &pi;
        async move {
            let args = json!({"camera": CARD, "width": 320, "height": 180, "quality": quality});
            pi.call("camera.capture", args).await.ok()["size_bytes"].as_u64().unwrap()
        }
    };
    assert!(quality(10).await * 2 < quality(95).await);
}

#[tokio::test]
async fn frames_are_let_go_first() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.warmup_frames = 7;
    })
    .await;
    let answer = pi.call("camera.capture", small(CARD)).await;
    assert_eq!((&answer.ok()["warmup_frames"], scene(&pi).frames()), (&json!(7), 8));
}

#[tokio::test]
async fn a_photo_is_a_file_with_a_name_of_the_servers() {
    let pi = pi().await;
    let answer = pi.call("camera.take_photo", json!({})).await;
    let out = answer.ok();
    assert_eq!((&out["width"], &out["height"], &out["public_url"]), (&json!(1280), &json!(720), &Value::Null));
    let (path, name) = (out["file_path"].as_str().unwrap(), out["name"].as_str().unwrap());
    assert_eq!(path, folder(&pi).join(name).to_str().unwrap());
    assert_eq!(answer.meta()["resource_uri"], format!("raspi://camera/photos/{name}"));
    assert_eq!((&answer.meta()["changed"], &answer.meta()["simulated"]), (&json!(true), &json!(true)));
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes.len() as u64, out["size_bytes"].as_u64().unwrap());
    shows_the_card(&bytes);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.as_ref()), mode(&folder(&pi))), (0o600, 0o700), "for the server's eyes");
    assert_eq!(fs::read_dir(folder(&pi)).unwrap().count(), 1, "and nothing beside it");
    // Twice is two.
    let args = json!({"camera": WEBCAM, "resolution": "640x480", "format": "png"});
    let again = pi.call("camera.take_photo", args).await;
    assert!(again.ok()["name"].as_str().unwrap().ends_with(".png"));
    shows_the_card(&fs::read(again.ok()["file_path"].as_str().unwrap()).unwrap());
    assert_eq!(fs::read_dir(folder(&pi)).unwrap().count(), 2);
    pi.audited(|record| record["tool"] == "camera.take_photo" && record["changed"] == true).await;
}

#[tokio::test]
async fn the_list_of_allowed_cameras_holds() {
    for (allow, good, bad) in [
        ("Simulated web*", WEBCAM, Some(CARD)),
        ("/dev/video0", CARD, Some(WEBCAM)),
        ("simulated-2", WEBCAM, Some(CARD)),
        ("*", CARD, None),
    ] {
        let pi = Pi::with(|settings| {
            enabled(settings);
            settings.camera.allow = vec![allow.into()];
        })
        .await;
        // Without a word the first that is allowed.
        let answer = pi.call("camera.capture", json!({"width": 320, "height": 180})).await;
        assert_eq!(answer.ok()["camera"], good, "{allow}");
        if let Some(bad) = bad {
            let error = pi.call("camera.capture", small(bad)).await.failed("permission_denied").clone();
            assert_eq!(error["details"]["required_permission"], format!("camera:capture:{bad}"));
        }
    }
    // On any other board none is.
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.allow = vec!["/dev/video9".into()];
    })
    .await;
    pi.call("camera.capture", json!({})).await.failed("permission_denied");
    assert!(pi.call("camera.list_cameras", json!({})).await.ok()["note"].as_str().unwrap().contains("camera.allow"));
    assert_eq!(scene(&pi).frames(), 0);
    let captured = Captured::like("pi-4b");
    assert!(!captured.services.cameras.allows_any());
    let list = captured.call("camera.list_cameras", json!({})).await.ok();
    assert_eq!(list["cameras"], json!([]), "files of a captured tree are no devices");
}

#[tokio::test]
async fn arguments_that_no_camera_has_are_refused_before_one_is_opened() {
    let pi = pi().await;
    for (args, path) in [
        (json!({"width": 15}), "/width"),
        (json!({"width": 4609}), "/width"),
        (json!({"height": 3457}), "/height"),
        (json!({"width": "320"}), "/width"),
        (json!({"width": -1}), "/width"),
        (json!({"quality": 0}), "/quality"),
        (json!({"quality": 101}), "/quality"),
        (json!({"format": "gif"}), "/format"),
        (json!({"format": "JPEG"}), "/format"),
        (json!({"camera": 0}), "/camera"),
        (json!({"camera": "x".repeat(129)}), "/camera"),
    ] {
        pi.call("camera.capture", args).await.refused(path);
    }
    for (args, path) in [
        (json!({"resolution": "1x1"}), "/resolution"),
        (json!({"resolution": {"width": 640}}), "/resolution"),
        (json!({"format": "../../x"}), "/format"),
    ] {
        pi.call("camera.take_photo", args).await.refused(path);
    }
    pi.call("camera.take_photo", json!({"file_path": "/tmp/x.jpg"})).await.failed("invalid_argument");
    for camera in ["/dev/video1", "/dev/mem", "../video0", "/dev/video0\u{0}", "video0; id", "", "csi:0"] {
        let error = pi.call("camera.capture", json!({ "camera": camera })).await.failed("not_found").clone();
        assert_eq!(error["details"]["cameras"], json!([CARD, WEBCAM]), "{camera:?}");
    }
    assert_eq!(scene(&pi).frames(), 0);
}

#[tokio::test]
async fn without_a_name_the_newest_photo_is_meant() {
    let pi = pi().await;
    let refused = pi.call("camera.get_photo", json!({})).await;
    refused.failed("not_found");
    let mut names = Vec::new();
    for _ in 0..2 {
        let taken = pi.call("camera.take_photo", json!({ "resolution": "640x480" })).await;
        names.push(taken.ok()["name"].as_str().unwrap().to_owned());
        assert_eq!(pi.call("camera.get_photo", json!({})).await.ok()["name"], *names.last().unwrap());
    }
    // Other files, whatever their names, are no photos.
    fs::write(folder(&pi).join("99991231T235959999Z-zzzzzzzz.jpg"), "x").unwrap();
    assert_eq!(pi.call("camera.get_photo", json!({})).await.ok()["name"], names[1]);
    assert_eq!(pi.call("camera.get_photo", json!({ "name": names[0] })).await.ok()["name"], names[0]);
}
