//! `system.get_capabilities`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine, machine_as, tree},
};
use hw::board::Choice;
use serde_json::json;

const TOOL: &str = "system.get_capabilities";

#[tokio::test]
async fn a_4b_with_a_camera() {
    let answer = Pi::like("pi-4b").call(TOOL, json!({})).await;
    assert!(!answer.simulated);
    let all = answer.ok();
    assert_eq!(
        all["board"],
        json!({
            "kind": "raspberry-pi", "model": "Raspberry Pi 4 Model B Rev 1.1", "simulated": false,
            "reason": "the device tree says raspberrypi,4-model-b",
            "profile": {"name": "Raspberry Pi 4 Model B", "soc": "BCM2711", "boot_flow": "tryboot", "pwm_gpios": [12, 13, 18, 19], "i2c_buses": [0, 1]},
            "memory_mib": 4096, "manufacturer": "Sony UK",
        })
    );
    let modules = &all["modules"];
    assert_eq!(modules["gpio"]["devices"], json!(["/dev/gpiochip0", "/dev/gpiochip1"]));
    assert_eq!(modules["i2c"]["devices"][0], "/dev/i2c-1 (bcm2835 (i2c@7e804000))");
    assert_eq!(modules["camera"]["devices"], json!(["/dev/video0 (unicam-image)"]), "codecs are no cameras");
    assert_eq!(modules["throttling"], json!({"available": true, "enabled": true, "devices": ["sysfs"]}));
    assert_eq!(
        (&modules["systemd"]["available"], &modules["network_manager"]["available"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        all["tools"]["system.get_basic_info"],
        json!({"enabled": true, "stability": "beta", "schema_version": 1})
    );
}

#[tokio::test]
async fn what_is_there_without_a_tool_for_it_is_not_enabled_and_says_why() {
    let all = Pi::like("pi-4b").call(TOOL, json!({})).await.ok();
    for (name, module) in all["modules"].as_object().unwrap() {
        let says_why = module.get("reason").is_some();
        assert_eq!(says_why, module["enabled"] == false, "{name}: {module}");
    }
}

#[tokio::test]
async fn the_agent_offline_is_told() {
    let all = Pi::like("pi-4b").call(TOOL, json!({})).await.ok();
    let agent = &all["modules"]["agent"];
    assert_eq!((&agent["available"], &agent["enabled"]), (&json!(false), &json!(false)));
    assert!(agent["reason"].as_str().unwrap().contains("agent"), "{agent}");
}

#[tokio::test]
async fn a_bare_machine_says_what_each_module_misses() {
    let bare = Copied::empty();
    let all = Pi::on(machine_as(Choice::Linux, bare.root())).call(TOOL, json!({})).await.ok();
    assert_eq!(all["board"]["model"], "Linux machine without a model name");
    for name in ["gpio", "pwm", "i2c", "camera", "systemd", "network_manager", "temperature", "throttling"] {
        let module = &all["modules"][name];
        assert_eq!(module["available"], false, "{name}");
        assert!(module["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{name}: {module}");
    }
    assert_eq!(all["modules"]["systemd"]["reason"], "systemd does not run here (no /run/systemd/system)");
}

#[tokio::test]
async fn a_usb_camera_and_a_device_without_a_name() {
    let copy = Copied::of("pi-5");
    copy.write("dev/video1", "")
        .write("sys/class/video4linux/video1/name", "UVC Camera (046d:0825)\n")
        .write("dev/video2", "");
    copy.write("dev/videolan", "");
    let all = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.ok();
    assert_eq!(all["modules"]["camera"]["devices"], json!(["/dev/video1 (UVC Camera (046d:0825))", "/dev/video2"]));
}

#[tokio::test]
async fn each_device_is_told_with_what_the_kernel_calls_it() {
    let copy = Copied::of("pc");
    copy.write("dev/gpiochip0", "").write("dev/gpiochip1", "").write("dev/gpiochip-of-a-stranger", "");
    copy.link("sys/bus/gpio/devices/gpiochip0", "../../../devices/platform/9030000.pl061/gpiochip0")
        .link("sys/bus/gpio/devices/gpiochip1", "../../../devices/platform/gpio-sim.0/gpiochip1");
    copy.write("sys/class/pwm/pwmchip0/npwm", "4\n").write("sys/class/pwm/pwmchip4/npwm", "all\n");
    copy.without("sys/class/hwmon").without("sys/class/thermal");
    copy.write("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n").write("sys/class/hwmon/hwmon0/name", "lm75\n");
    copy.write("sys/class/hwmon/hwmon1/temp1_input", "21000\n");
    let all = Pi::on(machine_as(Choice::Linux, copy.root())).call(TOOL, json!({})).await.ok();
    let devices = |module: &str| all["modules"][module]["devices"].clone();
    assert_eq!(devices("gpio"), json!(["/dev/gpiochip0 (9030000.pl061)", "/dev/gpiochip1 (gpio-sim.0)"]));
    assert_eq!(devices("pwm"), json!(["/sys/class/pwm/pwmchip0 (channels: 4)", "/sys/class/pwm/pwmchip4"]));
    assert_eq!(
        devices("temperature"),
        json!([
            "/sys/class/thermal/thermal_zone0 (cpu-thermal)",
            "/sys/class/hwmon/hwmon0 (lm75)",
            "/sys/class/hwmon/hwmon1"
        ])
    );
}

#[tokio::test]
async fn a_simulated_board_does_not_lend_this_machines_devices() {
    let answer = Pi::on(machine_as(Choice::Simulated, tree("pi-4b"))).call(TOOL, json!({})).await;
    assert!(answer.simulated);
    let all = answer.ok();
    assert_eq!(all["modules"]["gpio"]["devices"], json!(["simulated"]));
    assert_eq!(all["modules"]["temperature"]["devices"], json!(["simulated"]));
    assert_eq!(all["modules"]["systemd"]["available"], true, "services are this machine's own");
}
