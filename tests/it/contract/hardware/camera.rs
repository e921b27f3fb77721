//! What holds of cameras, photos and captures on every board.

use super::{
    Bench, assertions,
    hand::{Camera, Hand, Scene},
};
use crate::support::picture::{decoded, from_base64, shows};
use hw::model::BoardKind;
use serde_json::{Value, json};

assertions! {
    camera: |hand| hand.scene.is_some() =>
        cameras_are_listed_with_what_they_give,
        a_jpeg_shows_what_is_before_the_camera,
        a_png_shows_what_is_before_the_camera,
        a_camera_that_compresses_is_not_compressed_again,
        a_photo_is_kept_and_found_again,
        a_size_it_does_not_have_comes_out_as_told,
        frames_are_let_go_first,
        two_callers_take_turns,
        many_pictures_leave_no_descriptor,
        a_camera_that_is_not_there_is_not_found;
    |hand| hand.scene.as_ref().is_some_and(|scene| scene.cameras().iter().any(|camera| scene.is_exclusive(camera))) =>
        a_camera_in_use_says_by_whom;
}

/// What stands in the right half is free of what some drivers write over the left.
const RIGHT: std::ops::Range<usize> = 4..8;

fn scene(hand: &Hand) -> &dyn Scene {
    hand.scene.as_deref().expect("cameras")
}

fn cameras(bench: &Bench) -> Vec<Camera> {
    scene(&bench.hand).cameras().to_vec()
}

fn sized(camera: &Camera, format: &str) -> Value {
    json!({"camera": camera.id, "width": camera.size.0, "height": camera.size.1, "format": format})
}

/// A capture, the picture in it, and that both agree.
async fn captured(bench: &Bench, args: Value) -> (Value, Vec<u8>) {
    let out = bench.call("camera.capture", args).await.ok();
    let bytes = from_base64(out["image_data"].as_str().unwrap());
    let (width, height, _) = decoded(&bytes);
    assert_eq!((&out["width"], &out["height"]), (&json!(width), &json!(height)));
    assert_eq!(out["size_bytes"], bytes.len());
    (out, bytes)
}

async fn cameras_are_listed_with_what_they_give(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let list = bench.call("camera.list_cameras", json!({})).await.ok();
        let listed = list["cameras"].as_array().unwrap();
        let found: Vec<&Value> = listed.iter().filter(|each| each["camera"] == camera.id).collect();
        assert_eq!(found.len(), 1, "one camera of that name: {list}");
        assert!(found[0]["name"].as_str().unwrap().contains(camera.name), "{}", found[0]);
        assert_eq!(found[0]["allowed"], true);
        let formats = found[0]["formats"].as_array().unwrap();
        let usable: Vec<&Value> = formats.iter().filter(|format| format["usable"] == true).collect();
        let size = format!("{}x{}", camera.size.0, camera.size.1);
        assert!(
            usable.iter().any(|format| format["sizes"].as_array().unwrap().contains(&json!(size))),
            "{size}: {usable:?}"
        );
        let compresses =
            usable.iter().any(|format| ["MJPG", "JPEG"].contains(&format["pixel_format"].as_str().unwrap()));
        assert_eq!(compresses, camera.mjpeg, "{usable:?}");
    }
}

async fn a_jpeg_shows_what_is_before_the_camera(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let (out, bytes) = captured(bench, sized(&camera, "jpeg")).await;
        assert_eq!((&out["format"], &out["camera"]), (&json!("jpeg"), &json!(camera.id)));
        assert_eq!((&out["width"], &out["height"]), (&json!(camera.size.0), &json!(camera.size.1)));
        assert!(bytes.starts_with(&[0xff, 0xd8]) && bytes.ends_with(&[0xff, 0xd9]), "from its start to its end");
        shows(&bytes, RIGHT);
    }
}

async fn a_png_shows_what_is_before_the_camera(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let (out, bytes) = captured(bench, sized(&camera, "png")).await;
        assert_eq!((&out["format"], &out["passed_through"]), (&json!("png"), &json!(false)));
        shows(&bytes, RIGHT);
    }
}

async fn a_camera_that_compresses_is_not_compressed_again(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let (out, _) = captured(bench, sized(&camera, "jpeg")).await;
        assert_eq!(out["passed_through"], camera.mjpeg, "{out}");
    }
}

async fn a_photo_is_kept_and_found_again(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let args = json!({"camera": camera.id, "resolution": "640x480"});
        let answer = bench.call("camera.take_photo", args).await;
        assert!(answer.changed);
        let out = answer.ok();
        let bytes = std::fs::read(out["file_path"].as_str().unwrap()).unwrap();
        shows(&bytes, RIGHT);
        let again = bench.call("camera.get_photo", json!({"name": out["name"]})).await.ok();
        assert_eq!(from_base64(again["image_data"].as_str().unwrap()), bytes);
    }
}

async fn a_size_it_does_not_have_comes_out_as_told(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        // `captured` looks whether the picture is what is told.
        captured(bench, json!({"camera": camera.id, "width": 17, "height": 19})).await;
    }
}

async fn frames_are_let_go_first(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let (out, _) = captured(bench, sized(&camera, "jpeg")).await;
        let wanted = bench.settings().camera.warmup_frames;
        assert_eq!(out["warmup_frames"], wanted);
        assert!(wanted > 0, "the bench lets some go");
    }
}

async fn two_callers_take_turns(bench: &Bench) {
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let one = captured(bench, sized(&camera, "jpeg"));
        let other = captured(bench, sized(&camera, "jpeg"));
        futures::join!(one, other);
    }
}

async fn many_pictures_leave_no_descriptor(bench: &Bench) {
    let open = || {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        descriptors
            .filter(|entry| {
                let link = std::fs::read_link(entry.as_ref().unwrap().path()).unwrap_or_default();
                link.to_string_lossy().contains("video")
            })
            .count()
    };
    // An emulated processor takes seconds for a picture.
    let pictures = if bench.hand.kind == BoardKind::Simulated { 20 } else { 2 };
    for camera in cameras(bench) {
        let _lights = scene(&bench.hand).lights(&camera);
        let before = open();
        for _ in 0..pictures {
            captured(bench, sized(&camera, "jpeg")).await;
        }
        assert_eq!(open(), before);
    }
}

async fn a_camera_that_is_not_there_is_not_found(bench: &Bench) {
    let error = bench.call("camera.capture", json!({"camera": "/dev/video63"})).await.refused();
    assert_eq!((&error["error_code"], &error["details"]["parameter"]), (&json!("not_found"), &json!("camera")));
}

async fn a_camera_in_use_says_by_whom(bench: &Bench) {
    for camera in cameras(bench).into_iter().filter(|camera| scene(&bench.hand).is_exclusive(camera)) {
        let (held, pid) = scene(&bench.hand).hog(&camera);
        let error = bench.call("camera.capture", sized(&camera, "jpeg")).await.refused();
        assert_eq!(error["error_code"], "resource_exhausted", "{error}");
        assert_eq!((&error["details"]["device"], &error["details"]["pid"]), (&json!(camera.id), &json!(pid)));
        let name = error["details"]["in_use_by"].as_str().unwrap();
        assert!(!name.is_empty() && error["message"].as_str().unwrap().contains(name), "{error}");
        drop(held);
        captured(bench, sized(&camera, "jpeg")).await;
    }
}
