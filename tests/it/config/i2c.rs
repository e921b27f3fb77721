//! `[[i2c.buses]]`: which devices of which buses, and what is wrong with one that says nothing.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

#[test]
fn nothing_is_listed_until_somebody_does() {
    assert!(Machine::new().starts().i2c.buses.is_empty());
}

#[test]
fn those_of_all_files_count_together_also_of_one_bus() {
    let settings = Machine::new()
        .site("[[i2c.buses]]\nbus = 1\naddresses = [\"0x48\", \"0x50-0x57\", \"0x49\"]\n")
        .file("/etc/raspi-mcp/20.toml", "[[i2c.buses]]\nbus = 1\naddresses = [\"0x20\"]\nwritable = true\n")
        .starts();
    let buses = &settings.i2c.buses;
    assert_eq!((buses.len(), buses[0].bus, buses[0].writable, buses[1].writable), (2, 1, false, true));
    assert_eq!(buses[0].addresses.ranges(), ["0x48-0x49", "0x50-0x57"]);
    assert_eq!(buses[1].addresses.ranges(), ["0x20"]);
}

#[test]
fn every_field_says_what_it_wants() {
    let pi = Machine::new().site(
        "[[i2c.buses]]\nbus = -1\naddresses = [\"0x07\", \"72\", 72, \"0x50-0x48\"]\nwritable = 1\nwriteable = true\n\
         [[i2c.buses]]\naddresses = []\n[[i2c.buses]]\nbus = 1048576\naddresses = \"0x48\"\n",
    );
    let bounds = "i2c.buses.bus must be a whole number from 0 to 1048575";
    assert_eq!(
        pi.refuses(),
        [
            format!("{SITE}:2:7: {bounds}, not -1"),
            format!("{SITE}:3:14: i2c.buses.addresses: 0x07 is reserved; devices have 0x08 to 0x77"),
            format!("{SITE}:4:12: i2c.buses.writable must be true or false, not 1"),
            format!("{SITE}:5:1: unknown key \"writeable\" in [[i2c.buses]]; did you mean \"writable\"?"),
            format!(
                "{SITE}:7:13: i2c.buses.addresses is empty, so this allows nothing; \"0x08-0x77\" is every address"
            ),
            format!("{SITE}:6:1: this bus has no bus; every [[i2c.buses]] needs bus and addresses"),
            format!("{SITE}:9:7: {bounds}, not 1048576"),
            format!(
                "{SITE}:10:13: i2c.buses.addresses must be a list of addresses like \"0x48\" and ranges like \"0x50-0x57\", not \"0x48\""
            ),
        ]
    );
}

#[test]
fn only_files_hold_them_and_never_one_that_the_server_wrote() {
    let plain = Machine::new().site("[i2c]\nbuses = \"1\"\n").refuses().join("\n");
    assert!(plain.contains("i2c.buses must be tables [[i2c.buses]]"), "{plain}");
    let by_variable = Machine::new().variable("RASPI_MCP__I2C__BUSES", "1").refuses().concat();
    assert!(by_variable.contains("can only be set in a file"), "{by_variable}");
    let by_state = Machine::new().state("[[i2c.buses]]\nbus = 1\naddresses = [\"0x48\"]\n").restricted().concat();
    assert!(by_state.contains("a state fragment may not set i2c.buses"), "{by_state}");
}
