//! Parses the output of `rpicam-still --list-cameras`.
//!
//! ```text
//! Available cameras
//! -----------------
//! 0 : imx708 [4608x2592 10-bit RGGB] (/base/soc/i2c0mux/i2c@1/imx708@1a)
//!     Modes: 'SRGGB10_CSI2P' : 1536x864 [120.13 fps - (768, 432)/3072x1728 crop]
//!                              2304x1296 [56.03 fps - (0, 0)/4608x2592 crop]
//! ```

use super::port::{Backend, Camera, CameraFormat, Size, Sizes};

/// The cameras of a listing, without those on USB, which V4L2 handles. Unknown lines are ignored.
pub fn parse(text: &str) -> Vec<Camera> {
    let mut cameras: Vec<Camera> = Vec::new();
    for line in text.lines() {
        if let Some(camera) = camera(line) {
            cameras.push(camera);
        } else if let Some(camera) = cameras.last_mut() {
            mode(line, &mut camera.modes);
        }
    }
    cameras.retain(|camera| !camera.bus.contains("/usb"));
    cameras
}

/// `0 : imx708 [4608x2592 10-bit RGGB] (/base/…)`; the part in square brackets is optional.
fn camera(line: &str) -> Option<Camera> {
    let (number, rest) = line.split_once(" : ")?;
    let number: u32 = number.parse().ok()?;
    let (front, bus) = rest.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let name = front.split_once(" [").map_or(front, |(name, _)| name).trim();
    (!name.is_empty() && !bus.is_empty()).then(|| Camera {
        id: format!("csi:{number}"),
        name: name.to_owned(),
        driver: "libcamera".into(),
        bus: bus.to_owned(),
        backend: Backend::Rpicam,
        modes: Vec::new(),
    })
}

/// `Modes: 'SRGGB10_CSI2P' : 1536x864 [120.13 fps - (768, 432)/3072x1728 crop]`; later lines begin with the format or the size.
fn mode(line: &str, modes: &mut Vec<CameraFormat>) {
    let rest = line.trim().strip_prefix("Modes:").unwrap_or(line.trim()).trim_start();
    let rest = match rest.strip_prefix('\'').and_then(|rest| rest.split_once("' :")) {
        Some((code, rest)) => {
            modes.push(CameraFormat { code: code.to_owned(), sizes: Vec::new() });
            rest.trim_start()
        }
        None => rest,
    };
    let size = rest.split_whitespace().next().and_then(|size| {
        let (width, height) = size.split_once('x')?;
        Some(Size::new(width.parse().ok()?, height.parse().ok()?))
    });
    if let (Some(size), Some(mode)) = (size, modes.last_mut()) {
        mode.sizes.push(Sizes::One(size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cameras of a Pi 5, as rpicam-apps 1.5 prints them.
    const PI_5: &str = "\
Available cameras
-----------------
0 : imx708 [4608x2592 10-bit RGGB] (/base/axi/pcie@1000120000/rp1/i2c@88000/imx708@1a)
    Modes: 'SRGGB10_CSI2P' : 1536x864 [120.13 fps - (768, 432)/3072x1728 crop]
                             2304x1296 [56.03 fps - (0, 0)/4608x2592 crop]
                             4608x2592 [14.35 fps - (0, 0)/4608x2592 crop]

1 : imx219 [3280x2464 10-bit RGGB] (/base/axi/pcie@1000120000/rp1/i2c@70000/imx219@10)
    Modes: 'SRGGB10_CSI2P' : 640x480 [206.65 fps - (1000, 752)/1280x960 crop]
                             1640x1232 [41.85 fps - (0, 0)/3280x2464 crop]
           'SRGGB8' : 640x480 [206.65 fps - (1000, 752)/1280x960 crop]
                      3280x2464 [21.19 fps - (0, 0)/3280x2464 crop]
";

    fn shown(camera: &Camera) -> (String, Vec<String>) {
        let sizes = |mode: &CameraFormat| mode.sizes.iter().map(|size| format!("{size:?}")).collect::<Vec<_>>().len();
        let modes = camera.modes.iter().map(|mode| format!("{} {}", mode.code, sizes(mode))).collect();
        (format!("{} {} {}", camera.id, camera.name, camera.bus), modes)
    }

    #[test]
    fn cameras_with_their_modes() {
        let cameras = parse(PI_5);
        assert_eq!(
            cameras.iter().map(shown).collect::<Vec<_>>(),
            [
                (
                    "csi:0 imx708 /base/axi/pcie@1000120000/rp1/i2c@88000/imx708@1a".into(),
                    vec!["SRGGB10_CSI2P 3".to_owned()]
                ),
                (
                    "csi:1 imx219 /base/axi/pcie@1000120000/rp1/i2c@70000/imx219@10".into(),
                    vec!["SRGGB10_CSI2P 2".to_owned(), "SRGGB8 2".to_owned()]
                ),
            ]
        );
        assert_eq!(cameras[1].modes[1].sizes[1], Sizes::One(Size::new(3280, 2464)));
    }

    #[test]
    fn older_releases_tabs_and_missing_parts() {
        // libcamera-apps 1.0 names no bits; some terminals' copies have tabs; a sensor may not tell its area.
        let older = "0 : imx477 [4056x3040] (/base/soc/i2c0mux/i2c@1/imx477@1a)\n\tModes: 'SRGGB12_CSI2P' : 2028x1080 [50.03 fps - (0, 440)/4056x2160 crop]\n\t\t\t 2028x1520 [40.01 fps]\n";
        assert_eq!(shown(&parse(older)[0]).1, ["SRGGB12_CSI2P 2"]);
        assert_eq!(parse("0 : ov5647 (/base/soc/i2c0mux/i2c@1/ov5647@36)")[0].name, "ov5647");
    }

    #[test]
    fn nothing_is_made_of_anything_else() {
        for text in [
            "",
            "No cameras available!",
            "ERROR: *** no cameras available ***",
            "x : imx708 [1x1] (/base)",
            "0 : imx708 [1x1]",
            "0 :  [1x1] (/base)",
            "-1 : imx708 [1x1] (/base)",
            "    Modes: 'SRGGB8' : 640x480 [1 fps]",
            "0 : UVC Camera [640x480] (/base/scb/pcie@7d500000/pci@0,0/usb@0,0-1.3:1.0-046d:0825)",
        ] {
            assert_eq!(parse(text), [], "{text}");
        }
    }
}
