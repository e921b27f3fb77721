//! Time zones: linked, copied, named, missing, broken.

use crate::support::trees::Copied;
use base::os::clock;
use std::io::ErrorKind;

/// 2026-01-15 and 2026-07-15, noon UTC.
const WINTER: i64 = 1_768_478_400;
const SUMMER: i64 = 1_784_116_800;

/// London as a "slim" TZif file (RFC 9636) has it: one local time type and the rule for all years.
fn london() -> Vec<u8> {
    let header = |types: u32, letters: u32| {
        let mut header = b"TZif2".to_vec();
        header.extend([0; 15]);
        for count in [0, 0, 0, 0, types, letters] {
            header.extend(u32::to_be_bytes(count));
        }
        header
    };
    let body = [0, 0, 0, 0, 0, 0, b'G', b'M', b'T', 0];
    let block = [header(1, 4), body.to_vec()].concat();
    [block.clone(), block, b"\nGMT0BST,M3.5.0/1,M10.5.0\n".to_vec()].concat()
}

#[test]
fn a_link_into_the_zone_database() {
    let pi = Copied::empty();
    pi.link("etc/localtime", "/usr/share/zoneinfo/Europe/London").write("usr/share/zoneinfo/Europe/London", london());
    let zone = clock::zone(&pi.root()).unwrap();
    assert_eq!(zone.name, "Europe/London");
    assert_eq!(zone.offset(WINTER).unwrap(), (0, "GMT".into()));
    assert_eq!(zone.offset(SUMMER).unwrap(), (3600, "BST".into()));
}

#[test]
fn a_copied_file_with_a_name_beside_it_and_without() {
    let pi = Copied::empty();
    pi.write("etc/localtime", london());
    assert_eq!(clock::zone(&pi.root()).unwrap().name, "unnamed");
    pi.write("etc/timezone", "Europe/London\n");
    let zone = clock::zone(&pi.root()).unwrap();
    assert_eq!((zone.name.as_str(), zone.offset(SUMMER).unwrap().0), ("Europe/London", 3600));
}

#[test]
fn nothing_configured_is_utc() {
    let zone = clock::zone(&Copied::empty().root()).unwrap();
    assert_eq!((zone.name.as_str(), zone.offset(SUMMER).unwrap()), ("UTC", (0, "UTC".into())));
}

#[test]
fn a_link_to_nowhere_and_a_file_that_is_none() {
    let pi = Copied::empty();
    pi.link("etc/localtime", "/usr/share/zoneinfo/Europe/London");
    let zone = clock::zone(&pi.root()).unwrap();
    assert_eq!((zone.name.as_str(), zone.offset(0).unwrap()), ("Europe/London", (0, "UTC".to_owned())));
    let missing = zone.missing.unwrap();
    assert!(missing.contains("/usr/share/zoneinfo/Europe/London"), "{missing}");
    pi.write("usr/share/zoneinfo/Europe/London", "Greenwich");
    let fault = clock::zone(&pi.root()).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::InvalidData);
    assert!(fault.to_string().contains("it is no TZif file"), "{fault}");
}
