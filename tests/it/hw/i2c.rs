//! The kernel's buses by their files: what can be seen without one. `contract/hardware` has the rest, on real adapters.

use crate::support::{pi::Pi, trees::Copied};
use ::hw::i2c::{BoundDevice, Dev, Functions, I2cAdapter, I2cPort, TransferKind};
use contract::values::I2cAddress;
use serde_json::json;

fn tree() -> Copied {
    let tree = Copied::of("pi-4b");
    let device =
        |folder: &str, name: &str| tree.write(&format!("sys/bus/i2c/devices/{folder}/name"), format!("{name}\n"));
    device("1-0068", "ds3231");
    tree.link("sys/bus/i2c/devices/1-0068/driver", "../../drivers/rtc-ds1307");
    device("1-0048", "tmp102");
    // Another bus, and an address of ten bits.
    device("20-0050", "24c02");
    tree.link("sys/bus/i2c/devices/20-0050/driver", "../../drivers/at24");
    device("1-a050", "wide");
    tree.link("sys/bus/i2c/devices/1-a050/driver", "../../drivers/wide");
    tree
}

#[test]
fn buses_and_their_drivers_are_those_of_sysfs() {
    let tree = tree();
    let dev = Dev::new(tree.root());
    let bus = |number, name: &str| I2cAdapter { number, name: Some(name.into()) };
    assert_eq!(
        dev.buses(),
        [bus(1, "bcm2835 (i2c@7e804000)"), bus(20, "fef04500.i2c"), bus(21, "fef09500.i2c")],
        "by number"
    );
    let clock = BoundDevice { address: 0x68, driver: "rtc-ds1307".into(), device: Some("ds3231".into()) };
    assert_eq!(dev.holders(1), [clock], "a device without a driver belongs to nobody");
    assert_eq!(dev.holders(20)[0].driver, "at24");
    assert!(dev.holders(2).is_empty() && Dev::new(Copied::empty().root()).buses().is_empty());
}

#[test]
fn what_is_no_bus_says_so() {
    let tree = tree();
    let dev = Dev::new(tree.root());
    assert_eq!(dev.functions(7).unwrap_err().word(), "no_bus");
    let address = I2cAddress::new(0x48).unwrap();
    assert_eq!(dev.perform(7, address, TransferKind::Quick, &[], &mut []).unwrap_err().word(), "no_bus");
    // A file that is no device.
    assert_eq!(dev.functions(1).unwrap_err().word(), "io");
    assert_eq!(dev.perform(1, address, TransferKind::Quick, &[], &mut []).unwrap_err().word(), "io");
    assert_eq!(Functions(0).names(), [""; 0]);
}

#[tokio::test]
async fn a_board_without_buses_says_how_to_get_one() {
    let tree = tree();
    tree.without("dev/i2c-1").without("dev/i2c-20").without("dev/i2c-21");
    let pi = Pi::on(crate::support::trees::machine(tree.root()));
    let answer = pi.call("i2c.list_buses", json!({})).await;
    assert!(!answer.simulated);
    let listed = answer.ok();
    assert_eq!(listed["buses"], json!([]));
    assert!(listed["hint"].as_str().unwrap().contains("dtparam=i2c_arm=on"), "{listed}");
}

#[tokio::test]
async fn a_board_lists_its_buses_and_allows_nothing_until_somebody_does() {
    let tree = tree();
    let pi = Pi::on(crate::support::trees::machine(tree.root()));
    let listed = pi.call("i2c.list_buses", json!({})).await.ok();
    let header = &listed["buses"][0];
    assert_eq!((&header["bus"], &header["allowed"], &header["readable"]), (&json!(1), &json!(false), &json!([])));
    assert_eq!(header["in_use"], json!([{"address": 0x68, "driver": "rtc-ds1307", "device": "ds3231"}]));
    assert!(header["problem"].as_str().unwrap().starts_with("I2C bus 1 failed"), "files are no devices: {header}");
    assert_eq!(listed["buses"][1].get("header"), None, "not on the header");
}
