//! dist/layout.toml is the one truth: the bench's disk and the script agree with it.

use ::update::{
    Slot,
    disk::{Area, Layout},
};
use base::error::ErrorCode;
use std::{fs, path::Path};

const MIB: u64 = 1 << 20;

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_one_that_is_built_in_says_what_docs_boot_md_says() {
    let layout = Layout::shipped().unwrap();
    assert_eq!((layout.name.as_str(), layout.disk), ("mbr-ab-1", 0x7270_6d63));
    assert_eq!((layout.uboot_state, layout.first_partition), ([MIB, 5 * MIB], 8 * MIB));
    let numbers = [
        (Area::Config, 1),
        (Area::Boot(Slot::A), 2),
        (Area::Boot(Slot::B), 3),
        (Area::Root(Slot::A), 5),
        (Area::Root(Slot::B), 6),
        (Area::AgentState, 7),
    ];
    for (area, number) in numbers {
        assert_eq!(layout.partition(area).map(|partition| partition.number), Some(number), "{area:?}");
    }
    assert_eq!(layout.partition(Area::AgentState).unwrap().size, 16 * MIB);
    assert_eq!(
        (layout.boots(2), layout.boots(3), layout.boots(1), layout.boots(4)),
        (Some(Slot::A), Some(Slot::B), None, None)
    );
    assert_eq!(layout.part_uuid(5), "72706d63-05");
}

#[test]
fn the_benchs_disk_is_the_same_but_for_sizes() {
    let layout = Layout::shipped().unwrap();
    let bench = file("ci/qemu.d/layout.sfdisk");
    assert!(bench.contains(&format!("label-id: {:#010x}", layout.disk)));
    let lines: Vec<&str> = bench.lines().filter(|line| line.starts_with("start=")).collect();
    let value = |line: &str, name: &str| {
        let words = line.split(',').map(|word| word.trim().trim_end_matches("MiB"));
        words.filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name).unwrap().1.to_owned()
    };
    assert_eq!(value(lines[0], "start").parse::<u64>().unwrap() * MIB, layout.first_partition);
    for partition in layout.partitions() {
        let line = lines[usize::from(partition.number) - 1];
        assert_eq!(u8::from_str_radix(&value(line, "type"), 16).unwrap(), partition.kind, "{line}");
        assert!(value(line, "size").parse::<u64>().unwrap() * MIB >= partition.size, "{line}");
    }
}

#[test]
fn the_script_has_the_same_numbers() {
    let (layout, script) = (Layout::shipped().unwrap(), file("dist/boot/boot.cmd"));
    for (name, at) in ["ab_block_1", "ab_block_2"].iter().zip(layout.uboot_state) {
        assert!(script.contains(&format!("setenv {name} {:x}\n", at / 512)), "{name}");
    }
    for slot in Slot::BOTH {
        let number = |area| layout.partition(area).unwrap().number;
        let (boot, root) = (number(Area::Boot(slot)), number(Area::Root(slot)));
        assert!(script.contains(&format!("setenv ab_boot {boot}; setenv ab_root {root};")), "{slot}");
    }
}

#[test]
fn a_layout_that_is_wrong_says_where() {
    let good = file("dist/layout.toml");
    let parse = |from: &str, to: &str| Layout::parse(&good.replacen(from, to, 1)).unwrap_err();
    assert!(good.contains("disk = \"72706d63\""));
    for (from, to, why) in [
        ("disk = \"72706d63\"", "disk = \"+2706d63\"", "not 8 hexadecimal digits"),
        ("disk = \"72706d63\"", "disk = \"7270\"", "not 8 hexadecimal digits"),
        ("[1048576, 5242880]", "[1048576]", "length"),
        ("[1048576, 5242880]", "[0, 5242880]", "uboot_state has to be"),
        ("[1048576, 5242880]", "[1048576, 1048580]", "uboot_state has to be"),
        ("[1048576, 5242880]", "[1048576, 8388608]", "uboot_state has to be"),
        ("[1048576, 5242880]", "[1048576, -1]", "invalid"),
        ("area = \"boot A\"", "area = \"boot C\"", "\"boot C\" is no area"),
        ("area = \"boot A\"", "area = \"boot B\"", "is there twice"),
        ("area = \"boot A\"", "area = \"data\"", "partition 8 (data) is there twice"),
        ("[[partition]]\nnumber = 2\narea = \"boot A\"\ntype = \"0c\"\n", "", "no partition is the area \"boot A\""),
        ("number = 8", "number = 7", "the number of the data partition is there twice"),
        ("number = 2", "number = 1", "is there twice"),
        ("number = 2", "number = 0", "none of an MBR's"),
        ("number = 2", "number = 16", "none of an MBR's"),
        ("type = \"83\"", "type = \"830\"", "not 2 hexadecimal digits"),
        ("\"/usr/share/", "\"share/", "config_template has to be a full path"),
        ("name =", "title =", "unknown field"),
        ("name =", "", "TOML"),
    ] {
        let said = parse(from, to);
        assert!(said.contains(why), "{to}: {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layout.toml");
    assert_eq!(Layout::read(&path).unwrap_err().code, ErrorCode::Unavailable);
    fs::write(&path, "nonsense").unwrap();
    let error = Layout::read(&path).unwrap_err();
    assert!(error.code == ErrorCode::FailedPrecondition && error.message.contains("layout.toml cannot be used"));
    fs::write(&path, &good).unwrap();
    assert_eq!(Layout::read(&path), Layout::shipped());
    fs::write(&path, good.replace("mbr-ab-1", "other")).unwrap();
    assert_eq!(Layout::of(&path).unwrap().name, "other");
    assert_eq!(Layout::of(&folder.path().join("none")), Layout::shipped());
}
