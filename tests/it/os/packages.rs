//! Lists of packages: dpkg's, opkg's, an image's; large, broken, absent.

use crate::support::trees::Copied;
use base::os::{
    blocking::StopSignal,
    packages::{self, PackageList, Source},
};
use std::fmt::Write;

const DPKG: &str = "var/lib/dpkg/status";
const IMAGE: &str = "usr/share/raspi-mcp/packages";

fn read(tree: &Copied, name: &str) -> PackageList {
    packages::read(&tree.root(), name, &StopSignal::of("test")).unwrap().expect("there is a list")
}

fn shown(list: &PackageList) -> Vec<String> {
    let line = |of: &packages::Package| {
        format!("{} {} {} {}", of.name, of.version, of.architecture.as_deref().unwrap_or("-"), of.state)
    };
    list.packages.iter().map(line).collect()
}

const THREE: &str = "Package: zlib1g\nStatus: install ok installed\nArchitecture: arm64\nVersion: 1:1.2.13.dfsg-1\n\n\
    Package: nginx\nStatus: deinstall ok config-files\nConffiles:\n /etc/nginx.conf 0123\nVersion: 1.22.1-9\nArchitecture: all\n\n\
    Package: gone\nStatus: deinstall ok not-installed\nArchitecture: arm64\n";

#[test]
fn dpkgs_list_by_name_with_states() {
    let tree = Copied::empty();
    tree.write(DPKG, THREE);
    let list = read(&tree, "");
    assert_eq!((list.source, list.faults.len()), (Source::Dpkg, 0));
    assert_eq!(shown(&list), ["nginx 1.22.1-9 all config-files", "zlib1g 1:1.2.13.dfsg-1 arm64 installed"]);
    assert_eq!(shown(&read(&tree, "lib1")), ["zlib1g 1:1.2.13.dfsg-1 arm64 installed"]);
    assert_eq!(shown(&read(&tree, "apache")), [""; 0]);
}

#[test]
fn opkgs_list_and_an_images() {
    let tree = Copied::empty();
    assert!(packages::read(&tree.root(), "", &StopSignal::of("test")).unwrap().is_none());
    tree.write(
        IMAGE,
        "busybox 1.36.1 pkg:generic/busybox@1.36.1\ntzdata 2026a-0 pkg:deb/debian/tzdata@2026a-0?arch=arm64\n\nhalf\n",
    );
    let list = read(&tree, "");
    assert_eq!((list.source, list.file), (Source::Image, IMAGE));
    assert_eq!(shown(&list), ["busybox 1.36.1 - installed", "tzdata 2026a-0 arm64 installed"]);
    assert_eq!(list.faults, ["1 of its entries cannot be understood, the first before line 4"]);
    tree.write(
        "var/lib/opkg/status",
        "Package: kmod\nVersion: 31-r0\nDepends: libc6\nStatus: install user installed\nArchitecture: cortexa72\n\n",
    );
    let list = read(&tree, "");
    assert_eq!((list.source, shown(&list)), (Source::Opkg, vec!["kmod 31-r0 cortexa72 installed".to_owned()]));
}

#[test]
fn what_is_broken_is_counted_and_the_rest_is_told() {
    let tree = Copied::empty();
    let broken: &[&[u8]] = &[
        b"Package: no-version\nStatus: install ok installed\n",
        b"Package: no-status\nVersion: 1\n",
        b"Package: a line\nthat is none\nVersion: 1\nStatus: install ok installed\n",
        b"Package: bad\xff\nVersion: 1\nStatus: install ok installed\n",
        b"Package: esc\x1b[2J\nVersion: 1\nStatus: install ok installed\n",
        b"\0\0\0\0\n",
    ];
    for bytes in broken {
        tree.write(DPKG, [bytes, &b"\n"[..], THREE.as_bytes()].concat());
        let list = read(&tree, "");
        assert_eq!((list.packages.len(), list.faults.len()), (2, 1), "{}", String::from_utf8_lossy(bytes));
        assert!(list.faults[0].starts_with("1 of its entries"), "{:?}", list.faults);
    }
    // Cut in the middle, as by a power cut.
    tree.write(DPKG, &THREE[..THREE.len() - 60]);
    assert_eq!(read(&tree, "").packages.len(), 2);
    // A folder in place of the file is a fault, not an empty list.
    tree.without(DPKG).write(&format!("{DPKG}/x"), "");
    assert!(!read(&tree, "").faults.is_empty());
}

#[test]
fn three_thousand_packages_with_long_descriptions_and_more_than_are_kept() {
    let tree = Copied::empty();
    let many = |count: usize| {
        let mut text = String::new();
        for number in 0..count {
            write!(text, "Package: package-{number}\nStatus: install ok installed\nVersion: {number}\nArchitecture: arm64\nDescription: {}\n {}\n\n", "x".repeat(40), "y".repeat(900)).unwrap();
        }
        text
    };
    tree.write(DPKG, many(3000));
    let began = std::time::Instant::now();
    let list = read(&tree, "");
    println!("3000 packages in {:?}", began.elapsed());
    assert_eq!((list.packages.len(), list.faults.len()), (3000, 0));
    assert_eq!(read(&tree, "package-299").packages.len(), 11);
    // A line longer than what is kept of one.
    tree.write(
        DPKG,
        format!("Package: a\nDepends: {}\nVersion: 1\nStatus: install ok installed\n", "z".repeat(1 << 20)),
    );
    assert_eq!(shown(&read(&tree, "")), ["a 1 - installed"]);
    tree.write(DPKG, many(20_001));
    let list = read(&tree, "");
    assert_eq!(
        (list.packages.len(), list.faults),
        (20_000, vec!["1 more packages than the 20000 that are kept".to_owned()])
    );
}
