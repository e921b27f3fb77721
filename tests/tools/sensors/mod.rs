//! `sensors.*`: on a simulated board, on made trees, and where a sensor hangs or vanishes.

mod hanging;

use crate::support::{
    pi::Pi,
    trees::{Copied, machine, machine_as, tree},
};
use hw::{board::Choice, sensors::simulated::SimulatedSensors};
use serde_json::{Value, json};

fn simulated() -> (Pi, SimulatedSensors) {
    let pi = Pi::on(machine_as(Choice::Simulated, tree("pc")));
    let sensors = pi.services.machine.board.simulated.as_ref().expect("it is simulated").sensors.clone();
    (pi, sensors)
}

/// A machine with two monitors.
fn two() -> (Pi, Copied) {
    let tree = Copied::of("pi-5");
    tree.without("sys/class/hwmon");
    for (n, chip, degrees) in [(0, "cpu_thermal", 52_350), (1, "rp1_adc", 51_000)] {
        tree.write(&format!("sys/class/hwmon/hwmon{n}/name"), format!("{chip}\n"));
        tree.write(&format!("sys/class/hwmon/hwmon{n}/temp1_input"), format!("{degrees}\n"));
    }
    tree.write("sys/class/hwmon/hwmon1/in1_input", "1478\n");
    (Pi::on(machine(tree.root())), tree)
}

fn names(listed: &Value) -> Vec<&str> {
    listed["sensors"].as_array().unwrap().iter().map(|sensor| sensor["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_simulated_board_has_some_and_says_so() {
    let (pi, sensors) = simulated();
    let answer = pi.call("sensors.list", json!({})).await;
    assert!(answer.simulated);
    let listed = answer.ok();
    assert_eq!(
        names(&listed),
        ["ds18b20@28-0000075bcd15/temp", "pwmfan@cooling_fan/fan1", "rp1_adc@1f000c8000.adc/in1"]
    );
    assert_eq!(listed["sensors"][2]["label"], "supply");
    sensors.set("ds18b20@28-0000075bcd15/temp", Some(-3.5));
    let answer = pi.call("sensors.read", json!({})).await;
    assert!(answer.simulated);
    let read = answer.ok();
    let values: Vec<_> = read["readings"].as_array().unwrap().iter().map(|one| (&one["value"], &one["unit"])).collect();
    assert_eq!(
        values,
        [(&json!(-3.5), &json!("celsius")), (&json!(2400.0), &json!("rpm")), (&json!(5.08), &json!("volts"))]
    );
}

#[tokio::test]
async fn one_quantity_a_page_and_names() {
    let (pi, _tree) = two();
    let listed = pi.call("sensors.list", json!({"quantity": "temperature"})).await.ok();
    assert_eq!(names(&listed), ["cpu_thermal/temp1", "rp1_adc/temp1"]);
    let page = pi.call("sensors.list", json!({"limit": 1, "offset": 1})).await.ok();
    assert_eq!(names(&page), ["rp1_adc/in1"]);
    assert_eq!((&page["pagination"]["total_count"], &page["pagination"]["next_offset"]), (&json!(3), &json!(2)));
    let read = pi.call("sensors.read", json!({"quantity": "voltage"})).await.ok();
    assert_eq!(read["readings"], json!([{"name": "rp1_adc/in1", "value": 1.478, "unit": "volts"}]));
    let asked = json!({"names": ["rp1_adc/temp1", "rp1_adc/in1", "rp1_adc/temp1"]});
    let read = pi.call("sensors.read", asked).await.ok();
    let values: Vec<&Value> = read["readings"].as_array().unwrap().iter().map(|one| &one["value"]).collect();
    assert_eq!(values, [51.0, 1.478, 51.0], "as they were asked for");
}

#[tokio::test]
async fn one_that_is_gone_fails_alone() {
    let (pi, tree) = two();
    let listed = pi.call("sensors.list", json!({})).await.ok();
    let all: Vec<String> = names(&listed).into_iter().map(str::to_owned).collect();
    tree.without("sys/class/hwmon/hwmon0").write("sys/class/hwmon/hwmon1/in1_input", "garbage\n");
    let read = pi.call("sensors.read", json!({ "names": all })).await.ok();
    let [gone, broken, good] = read["readings"].as_array().unwrap().as_slice() else { panic!("{read}") };
    assert_eq!((&gone["name"], &gone["error"]), (&json!("cpu_thermal/temp1"), &json!("not_found")));
    assert!(gone.get("value").is_none() && gone["message"].as_str().unwrap().contains("sensors.list"), "{gone}");
    assert_eq!((&broken["error"], &broken["unit"]), (&json!("unavailable"), &json!("volts")));
    assert_eq!(good["value"], 51.0);
    let near = pi.call("sensors.read", json!({"names": ["rp1_adc/temp2"]})).await.ok();
    assert!(near["readings"][0]["message"].as_str().unwrap().contains("did you mean 'rp1_adc/temp1'"), "{near}");
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused() {
    let (pi, _tree) = two();
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    for (args, path) in [
        (json!({"names": []}), "/names"),
        (json!({ "names": many }), "/names"),
        (json!({"names": [""]}), "/names/0"),
        (json!({"names": ["x".repeat(97)]}), "/names/0"),
        (json!({"quantity": "warmth"}), "/quantity"),
        (json!({"names": ["cpu_thermal/temp1"], "quantity": "temperature"}), "/quantity"),
    ] {
        let refused = pi.call("sensors.read", args.clone()).await.refused();
        assert_eq!(
            (&refused["error_code"], &refused["details"]["path"]),
            (&json!("invalid_argument"), &json!(path)),
            "{args}"
        );
    }
    pi.call("sensors.read", json!({"names": ["x".repeat(96)]})).await.ok();
}

#[tokio::test]
async fn a_machine_without_sensors_says_what_to_do() {
    let tree = Copied::of("pi-5");
    tree.without("sys/class/hwmon");
    let pi = Pi::on(machine(tree.root()));
    for tool in ["sensors.list", "sensors.read"] {
        let answer = pi.call(tool, json!({})).await.ok();
        assert!(answer["note"].as_str().unwrap().contains("i2c.identify"), "{answer}");
    }
    let answer = pi.call("sensors.read", json!({"quantity": "pressure"})).await.ok();
    assert!(answer["note"].as_str().unwrap().contains("pressure"), "{answer}");
}
