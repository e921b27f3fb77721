//! Which board it is.

use crate::support::trees::{Copied, tree};
use ::hw::{
    board::{Board, Choice},
    model::{BoardKind, BootMethod, PROFILES, RevisionError},
};

#[test]
fn every_captured_raspberry_pi_is_recognised() {
    for (name, model, revision, serial, profile, boot_flow, memory) in [
        (
            "pi-zero-2-w",
            "Raspberry Pi Zero 2 W Rev 1.0",
            "902120",
            "00000000a1b2c3d4",
            "Raspberry Pi Zero 2 W",
            BootMethod::UBoot,
            512,
        ),
        (
            "pi-3b",
            "Raspberry Pi 3 Model B Rev 1.2",
            "a02082",
            "00000000b5c6d7e8",
            "Raspberry Pi 3 Model B",
            BootMethod::UBoot,
            1024,
        ),
        (
            "pi-4b",
            "Raspberry Pi 4 Model B Rev 1.1",
            "c03111",
            "10000000c1d2e3f4",
            "Raspberry Pi 4 Model B",
            BootMethod::Tryboot,
            4096,
        ),
        (
            "pi-5",
            "Raspberry Pi 5 Model B Rev 1.0",
            "d04170",
            "f1d2c3b4a5968778",
            "Raspberry Pi 5",
            BootMethod::Tryboot,
            8192,
        ),
    ] {
        let board = Board::detect(Choice::Auto, &tree(name)).unwrap();
        assert_eq!(board.kind, BoardKind::RaspberryPi, "{name}");
        assert_eq!(
            (board.model.as_str(), board.revision.as_deref(), board.serial.as_deref()),
            (model, Some(revision), Some(serial))
        );
        let known = board.profile.unwrap();
        assert_eq!((known.name, known.boot_flow), (profile, boot_flow));
        let revision = board.decoded_revision().unwrap().unwrap();
        assert_eq!(revision.memory_mib, Some(memory), "{name}");
        assert!(known.memory_mib.contains(&memory), "{name}: the profile knows the size that was captured");
        assert!(!board.is_simulated());
    }
}

#[test]
fn every_model_of_the_table_is_recognised_by_its_device_tree() {
    let pi = Copied::of("pi-4b");
    for profile in &PROFILES {
        pi.write(
            "proc/device-tree/compatible",
            format!("{}\0brcm,{}\0", profile.compatible, profile.soc.to_lowercase()),
        );
        let board = Board::detect(Choice::RaspberryPi, &pi.root()).unwrap();
        assert_eq!(board.profile, Some(profile));
        assert_eq!(board.reason, format!("the device tree says {}", profile.compatible));
    }
}

#[test]
fn a_pc_is_simulated_unless_told_otherwise() {
    let pc = tree("pc");
    let auto = Board::detect(Choice::Auto, &pc).unwrap();
    assert_eq!((auto.kind, auto.reason.as_str()), (BoardKind::Simulated, "there is no device tree"));
    assert!(auto.is_simulated() && auto.model.contains("simulated"));
    assert!(auto.decoded_revision().unwrap().is_ok());

    let linux = Board::detect(Choice::Linux, &pc).unwrap();
    assert_eq!((linux.kind, linux.model.as_str()), (BoardKind::Linux, "ACME Computers Desk 3000"));
    assert!(!linux.is_simulated() && linux.profile.is_none());

    let conflict = Board::detect(Choice::RaspberryPi, &pc).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "board = \"raspberry-pi\", but there is no device tree; set board = \"auto\", \"linux\" or \"simulated\""
    );
}

#[test]
fn another_board_is_linux_when_it_has_a_gpio_chip() {
    let rock = Copied::of("pc");
    rock.write("proc/device-tree/compatible", b"radxa,zero3w\0rockchip,rk3566\0")
        .write("proc/device-tree/model", b"Radxa ZERO 3W\0");
    let without = Board::detect(Choice::Auto, &rock.root()).unwrap();
    assert_eq!(without.kind, BoardKind::Simulated);
    assert_eq!(without.reason, "the device tree says radxa,zero3w, and there is no GPIO chip");
    rock.write("dev/gpiochip0", "");
    let with = Board::detect(Choice::Auto, &rock.root()).unwrap();
    assert_eq!((with.kind, with.model.as_str(), with.serial), (BoardKind::Linux, "Radxa ZERO 3W", None));
}

#[test]
fn an_image_with_slots_is_never_simulated() {
    for started in ["raspi_mcp.slot=B", "raspi_mcp.verity=00,11,22"] {
        let machine = Copied::of("pc");
        machine.write("proc/cmdline", format!("quiet {started} panic=10\n"));
        assert_eq!(
            Board::detect(Choice::Auto, &machine.root()).unwrap().kind,
            BoardKind::Linux,
            "without a device tree"
        );
        machine.write("proc/device-tree/compatible", b"linux,dummy-virt\0");
        let board = Board::detect(Choice::Auto, &machine.root()).unwrap();
        assert_eq!(board.kind, BoardKind::Linux);
        assert_eq!(board.reason, "the device tree says linux,dummy-virt, and this image was made for it");
        assert!(Board::detect(Choice::Simulated, &machine.root()).unwrap().is_simulated(), "who says so means it");
    }
}

#[test]
fn the_second_name_of_the_device_tree_will_do() {
    let pi = Copied::of("pi-5");
    pi.without("proc/device-tree").without("proc/cpuinfo");
    pi.write("sys/firmware/devicetree/base/compatible", b"raspberrypi,5-model-b\0brcm,bcm2712\0")
        .write("sys/firmware/devicetree/base/system/linux,revision", 0x00d0_4170_u32.to_be_bytes());
    let board = Board::detect(Choice::Auto, &pi.root()).unwrap();
    assert_eq!((board.kind, board.model.as_str()), (BoardKind::RaspberryPi, "Raspberry Pi 5"));
    assert_eq!((board.revision.as_deref(), board.serial), (Some("d04170"), None));
}

#[test]
fn a_model_newer_than_the_table_is_still_a_raspberry_pi() {
    let pi = Copied::of("pi-5");
    pi.write("proc/device-tree/compatible", b"raspberrypi,6-model-b\0brcm,bcm2713\0")
        .write("proc/device-tree/model", b"Raspberry Pi 6 Model B Rev 1.0\0");
    let board = Board::detect(Choice::Auto, &pi.root()).unwrap();
    assert_eq!((board.kind, board.model.as_str()), (BoardKind::RaspberryPi, "Raspberry Pi 6 Model B Rev 1.0"));
    assert!(board.profile.is_none());
}

#[test]
fn garbage_in_the_device_tree_and_in_the_revision() {
    let pi = Copied::of("pi-4b");
    pi.write("proc/cpuinfo", "processor : 0\nRevision : beyond\n");
    let board = Board::detect(Choice::Auto, &pi.root()).unwrap();
    assert_eq!(board.revision.as_deref(), Some("c03111"), "the device tree has it too");
    pi.write("proc/cpuinfo", "processor : 0\nRevision : 000e\n");
    let board = Board::detect(Choice::Auto, &pi.root()).unwrap();
    assert_eq!(board.decoded_revision(), Some(Err(RevisionError::OldStyle(0xe))));
    pi.write("proc/device-tree/compatible", b"\xff\xfe\0\0");
    assert_eq!(Board::detect(Choice::Auto, &pi.root()).unwrap().kind, BoardKind::Simulated);
    pi.without("proc/device-tree");
    assert_eq!(Board::detect(Choice::Auto, &pi.root()).unwrap().reason, "there is no device tree");
}

#[test]
fn simulated_when_told_even_on_a_raspberry_pi() {
    let board = Board::detect(Choice::Simulated, &tree("pi-4b")).unwrap();
    assert_eq!((board.kind, board.reason.as_str()), (BoardKind::Simulated, "the configuration says so"));
    assert_ne!(board.serial.as_deref(), Some("10000000c1d2e3f4"));
}
