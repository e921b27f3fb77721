//! What is kept, for how long, and what is left alone.

use super::{enabled, folder};
use crate::support::served::Pi;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path};

async fn photo(pi: &Pi) -> Value {
    pi.call("camera.take_photo", json!({"resolution": "640x480"})).await.ok().clone()
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn the_oldest_go_when_there_are_too_many() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.max_photos = 3;
    })
    .await;
    let mut taken = Vec::new();
    for n in 0..5u64 {
        let out = photo(&pi).await;
        assert_eq!(out["removed_photos"], u64::from(n >= 3), "{n}");
        taken.push(out["name"].as_str().unwrap().to_owned());
        assert!(names(&folder(&pi)).len() <= 3);
    }
    // Two of one millisecond are in no order, and then either may be the one that goes.
    assert_eq!(names(&folder(&pi)).len(), 3);
    assert!(names(&folder(&pi)).contains(&taken[4]));
}

#[tokio::test]
async fn they_go_when_they_are_too_large_together() {
    let pi = Pi::with(enabled).await;
    let size = photo(&pi).await["size_bytes"].as_u64().unwrap();
    let room = size * 5 / 2;
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.max_bytes = room;
    })
    .await;
    for _ in 0..4 {
        photo(&pi).await;
        let sum: u64 = fs::read_dir(folder(&pi)).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(sum <= room, "{sum} of {room}");
    }
    assert_eq!(names(&folder(&pi)).len(), 2);
    // One alone that is more than all may be.
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.max_bytes = size / 2;
    })
    .await;
    pi.call("camera.take_photo", json!({"resolution": "640x480"})).await.failed("content_too_large");
    assert!(!folder(&pi).exists());
}

#[tokio::test]
async fn what_is_old_goes_and_what_is_not_ours_stays() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.camera.max_photos = 2;
        settings.camera.max_age_days = 30;
    })
    .await;
    let folder = folder(&pi);
    fs::create_dir_all(&folder).unwrap();
    let old = "20200229T120000000Z-00000000.jpg";
    let no_date = "20209999T999999999Z-00000000.png";
    let ours = [old, no_date];
    let others = [
        "20200229T120000000Z-00000000.jpeg",
        "20200229T120000000Z-0000000.jpg",
        "x20200229T120000000Z-00000000.jpg",
        "20200229T120000000Z-0000000G.jpg",
        "notes.txt",
        ".hidden",
    ];
    for name in ours.iter().chain(&others) {
        fs::write(folder.join(name), "x").unwrap();
    }
    // Of the form, and no file: a folder, and a link to what is somebody's.
    let (directory, link) = ("20200101T000000000Z-aaaaaaaa.jpg", "20200101T000000000Z-bbbbbbbb.jpg");
    fs::create_dir(folder.join(directory)).unwrap();
    let treasure = folder.with_file_name("treasure");
    fs::write(&treasure, "SECRET").unwrap();
    symlink(&treasure, folder.join(link)).unwrap();

    assert_eq!(photo(&pi).await["removed_photos"], 2);
    let left = names(&folder);
    assert!(ours.iter().all(|name| !left.contains(*name)), "{left:?}");
    for name in others.iter().chain(&[directory, link]) {
        assert!(left.contains(*name), "{name} is not ours to remove");
    }
    assert_eq!(fs::read_to_string(&treasure).unwrap(), "SECRET");
    // And they do not count: two photos still fit.
    photo(&pi).await;
    assert_eq!(photo(&pi).await["removed_photos"], 1);
}

#[tokio::test]
async fn a_link_in_the_place_of_the_folder_leads_nowhere() {
    let pi = Pi::with(enabled).await;
    let folder = folder(&pi);
    let elsewhere = folder.with_file_name("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    pi.call("camera.take_photo", json!({})).await.failed("unavailable");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
