//! The throttling word, by each way there is.

use crate::support::trees::{Copied, machine, machine_as, tree};
use ::hw::{
    board::{Board, BoardPart, Choice},
    firmware::{Firmware, Throttled, throttled_by_mailbox},
};
use base::os::Root;
use std::{future::ready, io, time::Duration};

fn with_mailbox(root: &Root, word: fn() -> io::Result<u32>) -> Firmware {
    let board = Board::detect(Choice::Auto, root).unwrap();
    Firmware::new(root, &board, Some(Box::new(move || Box::pin(ready(word())))))
}

#[tokio::test]
async fn the_kernels_file_on_every_tree_that_has_it() {
    for (name, word) in [("pi-zero-2-w", 0x5_0000), ("pi-3b", 0x5_0005), ("pi-4b", 0)] {
        let pi = machine(tree(name));
        assert_eq!(pi.firmware.source(), Some("sysfs"), "{name}");
        assert_eq!(pi.firmware.throttled().await.unwrap(), Some(Throttled::last_seconds(word)), "{name}");
    }
}

#[tokio::test]
async fn bits_mean_what_the_documentation_says() {
    let word = Throttled::since_boot(0x5_0005);
    assert!(word.under_voltage() && word.throttled() && word.under_voltage_occurred() && word.throttled_occurred());
    assert!(!word.freq_capped() && !word.soft_temperature_limit());
    assert!(!word.freq_capped_occurred() && !word.soft_temperature_limit_occurred());
    let word = Throttled::since_boot(0xa_000a);
    assert!(word.freq_capped() && word.soft_temperature_limit());
    assert!(word.freq_capped_occurred() && word.soft_temperature_limit_occurred() && !word.under_voltage_occurred());
}

#[tokio::test]
async fn the_file_of_a_raspberry_pi_5_where_its_kernel_has_one() {
    let pi = Copied::of("pi-5");
    assert_eq!(machine(pi.root()).firmware.source(), None);
    assert_eq!(machine(pi.root()).firmware.throttled().await.unwrap(), None, "no way to ask is no fault");
    pi.write("sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled", "e0000\n");
    assert_eq!(machine(pi.root()).firmware.throttled().await.unwrap(), Some(Throttled::last_seconds(0xe_0000)));
}

#[tokio::test]
async fn the_mailbox_first_since_the_kernel_clears_the_record_of_its_file() {
    let pi5 = tree("pi-5");
    let firmware = with_mailbox(&pi5, || Ok(0x8_0008));
    assert_eq!(firmware.source(), Some("mailbox"));
    assert_eq!(firmware.throttled().await.unwrap(), Some(Throttled::since_boot(0x8_0008)));

    // A dip a minute ago: the firmware remembers it, the file does not.
    let pi = Copied::of("pi-4b");
    let firmware = with_mailbox(&pi.root(), || Ok(0x5_0000));
    assert_eq!(firmware.source(), Some("mailbox"));
    let word = firmware.throttled().await.unwrap().unwrap();
    assert!(word.under_voltage_occurred() && word.remembers());
    assert_eq!(firmware.throttled_now(), Some(Throttled::last_seconds(0)));

    let firmware = with_mailbox(&pi.root(), || Err(io::Error::other("the mailbox is full")));
    assert_eq!(firmware.throttled().await.unwrap(), Some(Throttled::last_seconds(0)), "the file is left");
    pi.write("sys/devices/platform/soc/soc:firmware/get_throttled", "perhaps\n");
    let fault = firmware.throttled().await.unwrap_err();
    assert_eq!(fault.to_string(), "the mailbox is full", "the first fault is told");
    let fault = machine(pi.root()).firmware.throttled().await.unwrap_err();
    assert!(fault.to_string().contains("'perhaps' is no hexadecimal number"), "{fault}");
}

#[test]
fn a_mailbox_that_is_none_says_so() {
    let pi = Copied::of("pi-5");
    let fault = throttled_by_mailbox(&pi.root()).unwrap_err();
    assert_eq!(fault.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()), "a captured tree has a file there");
    pi.without("dev/vcio");
    assert_eq!(throttled_by_mailbox(&pi.root()).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn vcgencmd_before_the_kernels_file() {
    let pi = Copied::of("pi-4b");
    pi.script("usr/bin/vcgencmd", "[ \"$1\" = get_throttled ] && echo throttled=0x50000");
    let pi4 = machine(pi.root());
    assert_eq!(pi4.firmware.source(), Some("vcgencmd"));
    assert_eq!(pi4.firmware.throttled().await.unwrap(), Some(Throttled::since_boot(0x5_0000)));
    pi.script("usr/bin/vcgencmd", "echo 'VCHI initialization failed'; exit 255");
    assert_eq!(pi4.firmware.throttled().await.unwrap(), Some(Throttled::last_seconds(0)), "the file is left");
}

#[tokio::test]
async fn vcgencmd_of_a_raspberry_pi_5() {
    let pi = Copied::of("pi-5");
    pi.script("usr/bin/vcgencmd", "[ \"$1\" = get_throttled ] && echo throttled=0x50000");
    let pi5 = machine(pi.root());
    assert_eq!(pi5.firmware.source(), Some("vcgencmd"));
    assert_eq!(pi5.firmware.throttled().await.unwrap(), Some(Throttled::since_boot(0x5_0000)));
    pi.script("usr/bin/vcgencmd", "echo 'VCHI initialization failed'; exit 255");
    let fault = pi5.firmware.throttled().await.unwrap_err();
    assert!(fault.to_string().ends_with("vcgencmd get_throttled: it answered 'VCHI initialization failed'"), "{fault}");
    pi.write("usr/bin/vcgencmd", "no program");
    assert!(pi5.firmware.throttled().await.is_err());
}

#[tokio::test]
async fn a_vcgencmd_that_hangs_is_ended_with_all_it_started() {
    let pi = Copied::of("pi-5");
    let pid = pi.root().path("child");
    pi.script("usr/bin/vcgencmd", &format!("sleep 60 & echo $! > {}; wait", pid.display()));
    let started = std::time::Instant::now();
    let fault = machine(pi.root()).firmware.throttled().await.unwrap_err();
    assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
    assert!((2..4).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    let child = std::fs::read_to_string(pid).unwrap().trim().to_owned();
    // Killed, though perhaps not yet collected by the init of this machine.
    let ended = || match std::fs::read_to_string(format!("/proc/{child}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    tokio::time::timeout(Duration::from_secs(5), async {
        while !ended() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the grandchild is gone");
}

#[tokio::test]
async fn boards_without_that_firmware_are_not_asked() {
    let pc = Copied::of("pc");
    pc.script("usr/bin/vcgencmd", "echo throttled=0x1");
    let board = machine_as(Choice::Linux, pc.root());
    assert_eq!((board.firmware.source(), board.firmware.throttled().await.unwrap()), (None, None));
}

#[tokio::test]
async fn a_simulated_board_obeys_the_test() {
    let pc = machine(tree("pc"));
    let handle = pc.board.simulated.clone().unwrap();
    assert_eq!(pc.firmware.throttled().await.unwrap(), Some(Throttled::since_boot(0)));
    handle.set_throttled_now(1);
    assert_eq!(pc.firmware.throttled().await.unwrap(), Some(Throttled::since_boot(0x1_0001)));
    handle.fail(BoardPart::Throttling, "the firmware does not answer");
    assert_eq!(pc.firmware.throttled().await.unwrap_err().to_string(), "the firmware does not answer");
}
