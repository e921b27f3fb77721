//! NetworkManager's connections: a copy where the data partition cannot take it along, and the way back.

use super::{Machine, mode};
use std::os::unix::fs::PermissionsExt;

const FOLDER: &str = "etc/NetworkManager/system-connections";
const OFFICE: &str = "[connection]\nid=office\n[wifi-security]\npsk=hunter2hunter2\n";

/// The data partition is another one: nothing that lay there is there.
fn loses_data(machine: &Machine) {
    let folder = machine.home.path().join(FOLDER);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
}

#[test]
fn connections_are_kept_and_put_back_where_data_is_lost() {
    let machine = Machine::with(&[]);
    machine.starts();
    machine.puts(&format!("{FOLDER}/office.nmconnection"), OFFICE);
    machine.puts(&format!("{FOLDER}/.office.nmconnection.x"), "half of one");
    machine.puts(&format!("{FOLDER}/readme.txt"), "none");
    machine.starts();
    loses_data(&machine);
    let done = machine.starts();
    assert_eq!(done.notes, ["connections were put back: office.nmconnection"]);
    assert_eq!(machine.reads(&format!("{FOLDER}/office.nmconnection")).as_deref(), Some(OFFICE));
    assert_eq!(mode(&machine.home.path().join(FOLDER).join("office.nmconnection")), 0o600);
    // As they are now, they are what is kept.
    machine.card.take_events();
    assert_eq!(machine.starts().notes, [""; 0]);
    assert_eq!(machine.card.take_events(), []);
}

/// NetworkManager does not flush a new file, so a power failure leaves it without contents.
#[test]
fn a_connection_that_the_power_failed_on_comes_from_the_copy() {
    let machine = Machine::with(&[]);
    machine.puts(&format!("{FOLDER}/office.nmconnection"), OFFICE);
    machine.puts(&format!("{FOLDER}/guest.nmconnection"), "[connection]\nid=guest\n");
    machine.starts();
    for lost in ["", "\0\0\0\0"] {
        machine.puts(&format!("{FOLDER}/office.nmconnection"), lost);
        let done = machine.starts();
        assert_eq!(done.notes, ["connections were put back: office.nmconnection"]);
        assert!(done.faults[0].contains("the power failed"), "{:?}", done.faults);
        assert_eq!(machine.reads(&format!("{FOLDER}/office.nmconnection")).as_deref(), Some(OFFICE));
    }
    // One that nobody has a copy of takes nothing's place.
    machine.puts(&format!("{FOLDER}/new.nmconnection"), "");
    assert_eq!(machine.starts().notes, [""; 0]);
    // One that was deleted stays away.
    std::fs::remove_file(machine.home.path().join(FOLDER).join("office.nmconnection")).unwrap();
    assert_eq!(machine.starts().notes, [""; 0]);
    assert!(machine.reads(&format!("{FOLDER}/office.nmconnection")).is_none());
}

#[test]
fn what_is_made_without_the_data_partition_does_not_take_the_copys_place() {
    let machine = Machine::with(&[]);
    machine.puts(&format!("{FOLDER}/office.nmconnection"), OFFICE);
    machine.starts();
    loses_data(&machine);
    machine.puts(&format!("{FOLDER}/guest.nmconnection"), "[connection]\nid=guest\n");
    // The initramfs says so before anything starts: not through `starts`, which empties /run.
    machine.puts("run/raspi-mcp-data-lost", "no file system that could be mended\n");
    machine.prepares().unwrap();
    loses_data(&machine);
    assert_eq!(machine.starts().notes, ["connections were put back: office.nmconnection"]);
}

#[test]
fn what_is_too_much_is_left_out_and_told() {
    let machine = Machine::with(&[]);
    for number in 0..33 {
        machine.puts(&format!("{FOLDER}/a{number:02}.nmconnection"), OFFICE);
    }
    machine.puts(&format!("{FOLDER}/long.nmconnection"), &"x".repeat(17 << 10));
    let done = machine.starts();
    assert_eq!(done.faults.len(), 2, "{:?}", done.faults);
    assert!(done.faults.iter().all(|fault| !fault.contains("hunter2")), "{:?}", done.faults);
    loses_data(&machine);
    machine.starts();
    assert!(machine.reads(&format!("{FOLDER}/a31.nmconnection")).is_some());
    assert!(machine.reads(&format!("{FOLDER}/a32.nmconnection")).is_none());
}

/// NetworkManager would take the one in /run, with the passphrase of the file, in place of the changed one.
#[test]
fn a_connection_that_was_changed_since_takes_the_place_of_the_files() {
    let file = b"[wifi]\nssid = \"home\"\npassphrase = \"correct horse\"\n";
    let machine = Machine::with(&[("raspi-mcp.toml", file)]);
    machine.starts();
    let ours = "run/NetworkManager/system-connections/raspi-mcp.nmconnection";
    let first = machine.reads(ours).unwrap();
    assert!(first.contains("psk=correct\\shorse"), "{first}");
    let theirs = format!("{FOLDER}/raspi-mcp.nmconnection");
    let secure = |mode| {
        let path = machine.home.path().join(&theirs);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // As NetworkManager stores it.
    let changed = first.replace("correct\\shorse", "battery staple");
    machine.puts(&theirs, &changed);
    secure(0o600);
    machine.starts();
    assert_eq!(machine.reads(ours), None);
    // Also from the copy.
    loses_data(&machine);
    assert_eq!(machine.starts().notes, ["connections were put back: raspi-mcp.nmconnection"]);
    assert_eq!((machine.reads(&theirs), machine.reads(ours)), (Some(changed.clone()), None));
    // NetworkManager ignores a file that others can read.
    secure(0o644);
    machine.starts();
    assert_eq!(machine.reads(ours).as_ref(), Some(&first));
    // One of another network leaves this one alone.
    secure(0o600);
    machine.puts(&theirs, &changed.replace("uuid=", "uuid=0"));
    machine.starts();
    assert_eq!(machine.reads(ours).as_ref(), Some(&first));
    // A link in its place is how NetworkManager deletes one.
    loses_data(&machine);
    std::os::unix::fs::symlink("/dev/null", machine.home.path().join(&theirs)).unwrap();
    machine.puts(&format!("{FOLDER}/office.nmconnection"), OFFICE);
    machine.starts();
    assert_eq!(machine.reads(ours), Some(first));
}

#[test]
fn a_name_that_somebody_gave_the_machine_stays() {
    let machine = Machine::with(&[("raspi-mcp.toml", b"name = \"porch\"\n")]);
    machine.puts("etc/hostname", "garage\n");
    machine.puts("proc/sys/kernel/hostname", "garage\n");
    machine.starts();
    assert_eq!(machine.reads("proc/sys/kernel/hostname").as_deref(), Some("garage\n"));
    machine.puts("etc/hostname", "localhost\n");
    machine.starts();
    assert_eq!(machine.reads("proc/sys/kernel/hostname").as_deref(), Some("porch"));
    // hostnamed has it from there, and a cut while that was written leaves nothing that anybody gave.
    assert_eq!(machine.reads("etc/hostname").as_deref(), Some("porch\n"));
    machine.puts("etc/hostname", "");
    machine.starts();
    assert_eq!(machine.reads("etc/hostname").as_deref(), Some("porch\n"));
    // Nor what a disk makes of a file that was written when the power failed.
    machine.puts("etc/hostname", "\0\0\0\0");
    machine.starts();
    assert_eq!(machine.reads("etc/hostname").as_deref(), Some("porch\n"));
    // A name in the making is the person's already.
    machine.puts("etc/hostname", &format!("attic{}", "\n".repeat(60)));
    machine.starts();
    assert!(machine.reads("etc/hostname").unwrap().starts_with("attic\n"));
    machine.puts("etc/hostname", "porch\n");
    // The name is written, and the power failed before the kernel had it.
    machine.puts("proc/sys/kernel/hostname", "raspi-mcp\n");
    machine.starts();
    assert_eq!(machine.reads("proc/sys/kernel/hostname").as_deref(), Some("porch"));
}
