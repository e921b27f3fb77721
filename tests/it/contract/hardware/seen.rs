//! What tools show of a real machine is what its kernel shows, and looking changes nothing. These ask no device anything, so they
//! run on whatever machine they are started on (`raspi-mcp-selftest`). The simulated board has no kernel: there are none for it.

use super::{
    Assertion, Bench,
    hand::look::{self, Line, Look},
};
use serde_json::{Value, json};

/// `row!(name, |look| ...)`: a row of the table, for machines that have what it is about.
macro_rules! row {
    ($name:ident, |$look:ident| $applies:expr) => {
        Assertion {
            name: concat!("seen::", stringify!($name)),
            applies: |hand| hand.look.as_ref().is_some_and(|$look: &Look| $applies),
            run: |bench| Box::pin($name(bench)),
        }
    };
}

pub const ASSERTIONS: &[Assertion] = &[
    row!(the_model_is_that_of_the_device_tree, |look| look.model.is_some()),
    row!(the_kernel_is_named, |look| look.has_hardware()),
    row!(pins_are_as_the_kernel_has_them, |look| look.header.is_some()),
    row!(looking_at_pins_changes_none, |look| look.header.is_some()),
    row!(the_i2c_buses_are_those_of_the_kernel, |look| !look.i2c.is_empty()),
    row!(the_spi_devices_are_those_of_the_kernel, |look| !look.spi.is_empty()),
];

fn seen(bench: &Bench) -> &Look {
    bench.hand.look.as_ref().expect("a machine with a kernel")
}

async fn the_model_is_that_of_the_device_tree(bench: &Bench) {
    let model = seen(bench).model.as_deref();
    let capabilities = bench.call("system.get_capabilities", json!({})).await.ok();
    assert_eq!(capabilities["board"]["model"].as_str(), model, "{}", capabilities["board"]);
    let info = bench.call("system.get_basic_info", json!({})).await.ok();
    assert_eq!(info["model"].as_str(), model, "{info}");
}

async fn the_kernel_is_named(bench: &Bench) {
    let info = bench.call("system.get_basic_info", json!({})).await.ok();
    assert_eq!(info["kernel_version"], seen(bench).kernel, "{info}");
}

/// All pins of the header by tools, and the label of their chip.
async fn pins(bench: &Bench) -> (Vec<Value>, String) {
    let list = bench.call("gpio.list_pins", json!({"all": true})).await.ok();
    let label = seen(bench).header.clone().expect("the header's chip");
    assert!(list["chip"].as_str().is_some_and(|told| told.contains(&label)), "{label}: {}", list["chip"]);
    (list["pins"].as_array().expect("pins").clone(), label)
}

/// A pin that this server holds itself, lent or in its safe state, has no consumer by its own word.
fn is_ours(pin: &Value) -> bool {
    pin.get("lease").is_some() || pin["safe_state"] != "input"
}

async fn pins_are_as_the_kernel_has_them(bench: &Bench) {
    let (pins, label) = pins(bench).await;
    let lines = look::lines(&label);
    for pin in pins.iter().filter(|pin| !is_ours(pin)) {
        let number = usize::try_from(pin["pin"].as_u64().expect("a number")).expect("a small one");
        let Some(line) = lines.get(number) else { panic!("GPIO {number} is no line of {label}: {pin}") };
        assert_eq!(pin.get("consumer").and_then(Value::as_str), line.consumer.as_deref(), "{pin}, {line:?}");
        // An alternate function is neither; the kernel calls it an input.
        if ["input", "output"].contains(&pin["mode"].as_str().expect("a mode")) {
            assert_eq!(pin["mode"] == "output", line.output, "{pin}, {line:?}");
        }
    }
}

async fn looking_at_pins_changes_none(bench: &Bench) {
    let (first, label) = pins(bench).await;
    let before: Vec<Line> = look::lines(&label);
    let (second, _) = pins(bench).await;
    assert_eq!(look::lines(&label), before);
    let modes = |pins: &[Value]| -> Vec<_> {
        pins.iter().map(|pin| (pin["mode"].clone(), pin.get("function").cloned())).collect()
    };
    assert_eq!(modes(&first), modes(&second));
}

async fn the_i2c_buses_are_those_of_the_kernel(bench: &Bench) {
    let listed = bench.call("i2c.list_buses", json!({})).await.ok();
    let buses = listed["buses"].as_array().expect("buses");
    let told =
        |bus: &Value| (bus["bus"].as_u64().unwrap_or(u64::MAX), bus["description"].as_str().unwrap_or("").to_owned());
    let mut told: Vec<(u64, String)> = buses.iter().map(told).collect();
    let mut there: Vec<(u64, String)> =
        seen(bench).i2c.iter().map(|(bus, name)| (u64::from(*bus), name.clone())).collect();
    told.sort();
    there.sort();
    assert_eq!(told, there);
}

async fn the_spi_devices_are_those_of_the_kernel(bench: &Bench) {
    let listed = bench.call("spi.list_buses", json!({})).await.ok();
    let mut told = Vec::new();
    for bus in listed["buses"].as_array().expect("buses") {
        for device in bus["devices"].as_array().expect("devices") {
            told.push((bus["bus"].as_u64().expect("a number"), device["chip_select"].as_u64().expect("a number")));
        }
    }
    let mut there: Vec<(u64, u64)> =
        seen(bench).spi.iter().map(|(bus, select)| ((*bus).into(), (*select).into())).collect();
    told.sort_unstable();
    there.sort_unstable();
    assert_eq!(told, there);
}
