//! `rpicam-still`, by a program that takes its options: what it is told, and that nothing of it is left.

use base::os::{Root, blocking::StopSignal};
use hw::camera::{
    Camera, CameraError, PictureFormat, Size, Wish,
    encode::encode,
    port::{CameraPort, Until},
    rpicam::Rpicam,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The program, as a script that first notes its arguments.
struct Fake {
    dir: TempDir,
    port: Rpicam,
}

impl Fake {
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("usr/bin/rpicam-still");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let here = dir.path().display();
        fs::write(&program, format!("#!/bin/sh\nexport PATH=/usr/bin:/bin\ncd {here}\necho \"$@\" > args\n{script}\n"))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let port = Rpicam::find(&Root::at(dir.path())).unwrap();
        Self { dir, port }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn take(&self, format: PictureFormat, until: &Until) -> Result<hw::camera::Shot, CameraError> {
        let wish = Wish { size: Size::new(48, 32), format, quality: 77, warmup: 30, max_bytes: 100_000 };
        self.port.take(&camera(), &wish, until, &mut |raw| encode(raw, &wish))
    }
}

fn camera() -> Camera {
    Camera {
        id: "csi:1".into(),
        name: "imx708".into(),
        driver: "libcamera".into(),
        bus: "/base/soc/i2c0mux/i2c@1/imx708@1a".into(),
        backend: hw::camera::Backend::Rpicam,
        modes: Vec::new(),
    }
}

fn within(limit: Duration) -> Until {
    Until { deadline: Instant::now() + limit, stop: StopSignal::of("test") }
}

const LONG: Duration = Duration::from_secs(20);

fn picture(into: &Path) {
    let mut bytes = Vec::new();
    let pixels = vec![90; 48 * 32 * 3];
    jpeg_encoder::Encoder::new(&mut bytes, 90).encode(&pixels, 48, 32, jpeg_encoder::ColorType::Rgb).unwrap();
    fs::write(into, bytes).unwrap();
}

#[test]
fn where_it_is_not_installed_there_are_no_such_cameras() {
    assert!(Rpicam::find(&Root::at(tempfile::tempdir().unwrap().path())).is_none());
}

#[test]
fn it_is_told_which_camera_and_what_size() {
    let fake = Fake::new("cat picture; echo 'ERROR: only a warning' >&2");
    picture(&fake.path("picture"));
    let shot = fake.take(PictureFormat::Jpeg, &within(LONG)).unwrap();
    assert_eq!((shot.picture.size, shot.picture.passed_through, shot.warmup), (Size::new(48, 32), true, None));
    let args = fs::read_to_string(fake.path("args")).unwrap();
    for wanted in
        ["--camera 1", "--width 48", "--height 32", "--encoding jpg", "--quality 77", "--timeout 1020", "--output -"]
    {
        assert!(args.contains(wanted), "{wanted}: {args}");
    }
}

#[test]
fn a_png_is_the_programs_own() {
    let fake = Fake::new("cat picture");
    let mut png = Vec::new();
    let mut writer = png::Encoder::new(&mut png, 48, 32).write_header().unwrap();
    writer.write_image_data(&[7; 48 * 32]).unwrap();
    writer.finish().unwrap();
    fs::write(fake.path("picture"), &png).unwrap();
    let shot = fake.take(PictureFormat::Png, &within(LONG)).unwrap();
    assert_eq!((shot.picture.size, shot.picture.bytes), (Size::new(48, 32), png));
    assert!(fs::read_to_string(fake.path("args")).unwrap().contains("--encoding png"));
    fs::write(fake.path("picture"), "no picture").unwrap();
    assert!(matches!(fake.take(PictureFormat::Png, &within(LONG)), Err(CameraError::Torn(_))));
}

#[test]
fn its_list_and_its_failures_are_understood() {
    let fake = Fake::new("echo '0 : imx219 [3280x2464 10-bit RGGB] (/base/soc/i2c0mux/i2c@1/imx219@10)'");
    let listed = fake.port.list(&within(LONG)).unwrap();
    assert_eq!((listed.len(), listed[0].id.as_str()), (1, "csi:0"));
    assert_eq!(fs::read_to_string(fake.path("args")).unwrap().trim(), "--list-cameras");
    let none = Fake::new("echo 'ERROR: *** no cameras available ***' >&2; exit 255");
    assert_eq!(none.port.list(&within(LONG)).unwrap(), []);
    assert_eq!(none.take(PictureFormat::Jpeg, &within(LONG)).unwrap_err(), CameraError::Absent);
    let busy = Fake::new("echo 'ERROR: *** failed to acquire camera /base/x ***' >&2; exit 255");
    assert_eq!(busy.take(PictureFormat::Jpeg, &within(LONG)).unwrap_err(), CameraError::Busy(None));
    let odd = Fake::new("echo 'it burns' >&2; exit 3");
    assert_eq!(odd.take(PictureFormat::Jpeg, &within(LONG)).unwrap_err(), CameraError::Failed("it burns".into()));
}

/// Whether the process that wrote its number there has ended.
fn is_gone(file: &Path) -> bool {
    let pid = fs::read_to_string(file).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // One that nobody has waited for yet is a name in a list, no more.
    stat.is_empty() || stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

#[test]
fn neither_it_nor_what_it_started_outlives_the_wait() {
    // A grandchild that holds the streams open, too.
    let fake = Fake::new("sleep 600 & echo $! > grandchild; echo $$ > child; sleep 600");
    let begun = Instant::now();
    let fault = fake.take(PictureFormat::Jpeg, &within(Duration::from_millis(400))).unwrap_err();
    assert!(matches!(fault, CameraError::NoFrame { .. }), "{fault:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let ended = Instant::now();
    while !(is_gone(&fake.path("child")) && is_gone(&fake.path("grandchild"))) {
        assert!(ended.elapsed() < Duration::from_secs(10), "they are still there");
        std::thread::yield_now();
    }
}

#[test]
fn what_it_left_behind_ends_with_it() {
    let fake = Fake::new("sleep 600 & echo $! > grandchild; cat picture");
    picture(&fake.path("picture"));
    fake.take(PictureFormat::Jpeg, &within(LONG)).unwrap();
    let ended = Instant::now();
    while !is_gone(&fake.path("grandchild")) {
        assert!(ended.elapsed() < Duration::from_secs(10), "it is still there");
        std::thread::yield_now();
    }
}

#[test]
fn a_flood_is_cut_at_the_bound() {
    let fake = Fake::new("cat /dev/zero");
    assert_eq!(fake.take(PictureFormat::Jpeg, &within(LONG)).unwrap_err(), CameraError::TooLarge { limit: 100_000 });
    let loud = Fake::new("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo; exit 1");
    assert!(
        matches!(loud.take(PictureFormat::Jpeg, &within(LONG)).unwrap_err(), CameraError::Failed(why) if why.len() <= 200)
    );
}
