//! Whatever a file holds, its reader answers or refuses: it never panics, and a number is never out of its bounds.

use super::faults::READERS;
use crate::support::trees::Copied;
use base::os::{Root, hwmon, mounts, os_release};
use hw::board::{Board, Choice};
use proptest::{prelude::*, test_runner::TestRunner};

/// Text made of what such files are made of: the words of real ones, numbers up to the largest, and nonsense.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        Just(u64::MAX.to_string()),
        prop::sample::select(vec![
            "cpu ",
            "cpu",
            "MemTotal:",
            "MemAvailable:",
            "MemFree:",
            "Buffers:",
            "Cached:",
            "kB",
            "processor\t:",
            "Revision\t:",
            "mmcblk0",
            "eth0:",
            "lo:",
            "/",
            "ext4",
            "rw",
            "0x",
            "-",
            ".",
            "1e308",
            "NaN",
            "=",
            "\"",
            "\\",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ];
    let line = prop::collection::vec(word, 0..20).prop_map(|words| words.join(" "));
    prop_oneof![
        prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn read_all(root: &Root) {
    for (_, _, read) in READERS {
        let _ = read(root);
    }
    let _ = (os_release::read(root), hwmon::temperatures(root));
    if let Ok(mounts) = mounts::read(root) {
        assert!(mounts::watched(&mounts).starts_with('/'));
    }
    let board = Board::detect(Choice::Auto, root).unwrap();
    let _ = board.decoded_revision();
}

#[test]
fn any_content_is_answered_or_refused() {
    // One directory for all cases: making files costs more than reading them.
    let copy = Copied::empty();
    let more = [
        "etc/os-release",
        "sys/class/hwmon/hwmon0/temp1_input",
        "proc/device-tree/compatible",
        "proc/device-tree/model",
    ];
    let files: Vec<&str> = READERS.iter().map(|(file, _, _)| *file).chain(more).collect();
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&lines(), |content| {
            for file in &files {
                copy.write(file, &content);
            }
            read_all(&copy.root());
            Ok(())
        })
        .unwrap();
}
