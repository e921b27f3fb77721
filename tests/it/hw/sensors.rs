//! Sensors on made trees: hwmon, IIO and 1-Wire, in units, by names that last, and what is wrong with their files.

use crate::support::trees::{Copied, tree};
use ::hw::sensors::{Kernel, Reading, Sensor, SensorPort};
use std::io;

/// The LM75 of an I2C bus, as a Raspberry Pi's kernel shows it; `hwmon` is the number that it happens to have.
fn lm75(tree: &Copied, hwmon: &str) {
    let device = "sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048";
    let folder = format!("{device}/hwmon/{hwmon}");
    for (file, content) in [
        ("name", "lm75\n"),
        ("temp1_input", "-12500\n"),
        ("temp1_max", "80000\n"),
        ("temp1_max_hyst", "75000\n"),
        ("temp1_crit", "broken\n"),
        ("temp1_label", "outside\n"),
        ("temp1_max_alarm", "1\n"),
        ("temp1_crit_alarm", "0\n"),
        ("update_interval", "100\n"),
    ] {
        tree.write(&format!("{folder}/{file}"), content);
    }
    tree.link(&format!("{folder}/device"), "../../../1-0048")
        .link(&format!("{device}/subsystem"), "../../../../../../bus/i2c")
        .link(&format!("{device}/driver"), "../../../../../../bus/i2c/drivers/lm75")
        .link(&format!("{device}/of_node"), "../../../../../../firmware/devicetree/base/soc/i2c@7e804000/lm75@48")
        .link(
            &format!("sys/class/hwmon/{hwmon}"),
            &format!("../../devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon/{hwmon}"),
        );
}

fn sensors(tree: &Copied) -> Vec<Sensor> {
    Kernel(tree.root()).list()
}

fn read(tree: &Copied, name: &str) -> io::Result<Reading> {
    let all = sensors(tree);
    let found = all.iter().find(|sensor| sensor.name == name);
    Kernel(tree.root()).read(found.unwrap_or_else(|| panic!("no {name} among {all:#?}")))
}

fn value(tree: &Copied, name: &str) -> f64 {
    let value = read(tree, name).unwrap().value.unwrap();
    (value * 1e9).round() / 1e9
}

#[test]
fn a_chip_of_a_bus_with_its_place_its_limits_and_its_alarms() {
    let tree = Copied::empty();
    lm75(&tree, "hwmon3");
    let [sensor] = &sensors(&tree)[..] else { panic!("one sensor") };
    assert_eq!(sensor.name, "lm75@1-0048/temp1");
    assert_eq!((sensor.quantity.word, sensor.quantity.unit), ("temperature", "celsius"));
    assert_eq!((sensor.label.as_deref(), sensor.chip.as_str(), sensor.interface), (Some("outside"), "lm75", "hwmon"));
    assert_eq!((sensor.device.bus.as_deref(), sensor.device.address.as_deref()), (Some("i2c-1"), Some("0x48")));
    assert_eq!(sensor.device.driver.as_deref(), Some("lm75"));
    assert_eq!(sensor.device.device_tree.as_deref(), Some("/soc/i2c@7e804000/lm75@48"));
    let reading = read(&tree, "lm75@1-0048/temp1").unwrap();
    assert_eq!((reading.value, reading.limits, reading.alarms), (Some(-12.5), vec![("max", 80.0)], vec!["max_alarm"]));
}

#[test]
fn a_restart_gives_other_numbers_and_the_same_names() {
    let (before, after) = (Copied::empty(), Copied::empty());
    lm75(&before, "hwmon3");
    lm75(&after, "hwmon0");
    before.write("sys/class/hwmon/hwmon0/name", "cpu_thermal\n").write("sys/class/hwmon/hwmon0/temp1_input", "40000");
    after.write("sys/class/hwmon/hwmon7/name", "cpu_thermal\n").write("sys/class/hwmon/hwmon7/temp1_input", "40000");
    let names = |tree: &Copied| sensors(tree).into_iter().map(|sensor| sensor.name).collect::<Vec<_>>();
    assert_eq!(names(&before), ["cpu_thermal/temp1", "lm75@1-0048/temp1"]);
    assert_eq!(names(&before), names(&after));
}

#[test]
fn every_type_of_hwmon_in_its_unit() {
    let tree = Copied::empty();
    let folder = "sys/class/hwmon/hwmon0";
    tree.write(&format!("{folder}/name"), "all kinds, really\n");
    for (file, content) in [
        ("in1_input", "5080"),
        ("curr1_input", "-250"),
        ("power1_average", "2500000"),
        ("power2_average", "7"),
        ("power2_input", "3000000"),
        ("energy1_input", "1500000"),
        ("humidity1_input", "45500"),
        ("fan2_input", "2400"),
        ("pwm1", "51"),
        ("pwm1_enable", "1"),
        ("temp2_min", "0"),
        ("in0_lcrit_alarm", "1"),
        ("intrusion0_alarm", "1"),
        ("temp10_input", "-0"),
    ] {
        tree.write(&format!("{folder}/{file}"), content);
    }
    let name = |channel: &str| format!("all_kinds__really/{channel}");
    for (channel, number) in [
        ("in1", 5.08),
        ("curr1", -0.25),
        ("power1", 2.5),
        ("power2", 3.0),
        ("energy1", 1.5),
        ("humidity1", 45.5),
        ("fan2", 2400.0),
        ("pwm1", 20.0),
        ("temp10", 0.0),
    ] {
        assert_eq!(value(&tree, &name(channel)), number, "{channel}");
    }
    assert!(value(&tree, &name("temp10")).is_sign_positive(), "-0 is 0");
    let supply = read(&tree, &name("in0")).unwrap();
    assert_eq!((supply.value, supply.alarms), (None, vec!["lcrit_alarm"]), "an alarm and no value, as of rpi_volt");
    assert_eq!(sensors(&tree).len(), 10, "limits alone and an open case are no sensors: {:#?}", sensors(&tree));
}

#[test]
fn a_fault_that_the_chip_reports_is_no_value() {
    let tree = Copied::empty();
    lm75(&tree, "hwmon0");
    tree.write("sys/class/hwmon/hwmon0/temp1_fault", "1\n");
    let fault = read(&tree, "lm75@1-0048/temp1").unwrap_err();
    assert!(fault.to_string().contains("wire"), "{fault}");
    tree.write("sys/class/hwmon/hwmon0/temp1_fault", "0\n");
    assert_eq!(value(&tree, "lm75@1-0048/temp1"), -12.5);
}

/// A BME280's IIO device below its part.
fn iio(tree: &Copied, files: &[(&str, &str)]) {
    let device = "sys/devices/platform/i2c-1/1-0076";
    for (file, content) in files {
        tree.write(&format!("{device}/iio:device0/{file}"), content);
    }
    tree.link(&format!("{device}/subsystem"), "../../../../bus/i2c")
        .link("sys/bus/iio/devices/iio:device0", "../../../devices/platform/i2c-1/1-0076/iio:device0");
}

#[test]
fn channels_of_iio_with_scale_and_offset() {
    let tree = Copied::empty();
    iio(
        &tree,
        &[
            ("name", "bme280\n"),
            ("in_temp_input", "21500\n"),
            ("in_temp_raw", "99\n"),
            ("in_pressure_input", "101.325\n"),
            ("in_humidityrelative_input", "45500\n"),
            ("in_voltage0_raw", "-100\n"),
            ("in_voltage0_scale", "0.125\n"),
            ("in_voltage1_raw", "8\n"),
            ("in_voltage_scale", "2.0\n"),
            ("in_voltage0-voltage1_raw", "16\n"),
            ("in_voltage-voltage_scale", "3\n"),
            ("in_accel_x_raw", "-1024\n"),
            ("in_accel_offset", "24\n"),
            ("in_accel_scale", "0.01\n"),
            ("in_accel_x_label", "along\n"),
            ("in_concentration_co2_input", "0.0415\n"),
            ("in_proximity_raw", "17\n"),
            ("in_illuminance_raw", "5\n"),
            ("in_illuminance_scale", "0.054\n"),
            ("in_temp_sampling_frequency", "1\n"),
            ("in_unheardof_raw", "1\n"),
            ("out_voltage0_raw", "1\n"),
            ("sampling_frequency", "10\n"),
        ],
    );
    for (channel, number, unit) in [
        ("temp", 21.5, "celsius"),
        ("pressure", 101.325, "kilopascals"),
        ("humidityrelative", 45.5, "percent"),
        ("voltage0", -0.0125, "volts"),
        ("voltage1", 0.016, "volts"),
        ("voltage0-voltage1", 0.048, "volts"),
        ("accel_x", -10.0, "meters_per_second_squared"),
        ("concentration_co2", 415.0, "ppm"),
        ("proximity", 17.0, "count"),
        ("illuminance", 0.27, "lux"),
    ] {
        let name = format!("bme280@1-0076/{channel}");
        assert_eq!(value(&tree, &name), number, "{channel}");
        let all = sensors(&tree);
        let sensor = all.iter().find(|sensor| sensor.name == name).unwrap();
        assert_eq!((sensor.quantity.unit, sensor.device.bus.as_deref()), (unit, Some("i2c-1")), "{channel}");
    }
    let labels: Vec<_> = sensors(&tree).into_iter().filter_map(|sensor| sensor.label).collect();
    assert_eq!((labels, sensors(&tree).len()), (vec!["along".to_owned()], 10));
}

#[test]
fn an_absurd_scale_is_a_fault_and_not_a_number() {
    let tree = Copied::empty();
    iio(&tree, &[("name", "adc\n"), ("in_voltage0_raw", "4095\n"), ("in_voltage_scale", "999999999999999\n")]);
    let mut bad = vec!["999999999999999", "1e300", "inf", "nan", "", "0x10", "0.5 0.25", "1.2.3"];
    let huge = "9".repeat(39);
    bad.push(&huge);
    for scale in bad {
        tree.write("sys/bus/iio/devices/iio:device0/in_voltage_scale", scale);
        let fault = read(&tree, "adc@1-0076/voltage0").unwrap_err();
        assert_eq!(fault.kind(), io::ErrorKind::InvalidData, "{scale}: {fault}");
    }
    tree.write("sys/bus/iio/devices/iio:device0/in_voltage_scale", "-0\n");
    assert!(value(&tree, "adc@1-0076/voltage0") == 0.0 && value(&tree, "adc@1-0076/voltage0").is_sign_positive());
    tree.write("sys/bus/iio/devices/iio:device0/in_voltage_scale", "-0.5\n");
    assert_eq!(value(&tree, "adc@1-0076/voltage0"), -2.0475);
}

#[test]
fn thermometers_of_one_wire_and_their_checksum() {
    let tree = Copied::empty();
    let folder = "sys/bus/w1/devices/28-0316a2797daa";
    let good = "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=-1062\n";
    tree.write(&format!("{folder}/w1_slave"), good).write("sys/bus/w1/devices/w1_bus_master1/w1_slave_count", "1\n");
    tree.write("sys/bus/w1/devices/10-0008019e9fa1/temperature", "23125\n");
    // w1_therm registers the same thermometer as a monitor.
    tree.write("sys/class/hwmon/hwmon1/name", "w1_slave_temp\n").write("sys/class/hwmon/hwmon1/temp1_input", "1\n");
    let names: Vec<String> = sensors(&tree).into_iter().map(|sensor| sensor.name).collect();
    assert_eq!(names, ["ds18b20@28-0316a2797daa/temp", "ds18s20@10-0008019e9fa1/temp"]);
    assert_eq!(value(&tree, &names[0]), -1.062);
    assert_eq!(value(&tree, &names[1]), 23.125);
    tree.write(&format!("{folder}/w1_slave"), good.replace("YES", "NO"));
    let fault = read(&tree, &names[0]).unwrap_err();
    assert!(fault.kind() == io::ErrorKind::InvalidData && fault.to_string().contains("CRC"), "{fault}");
    // A line that is held low: nine zeros, whose checksum is zero as well.
    let low = "00 00 00 00 00 00 00 00 00 : crc=00 YES\n00 00 00 00 00 00 00 00 00 t=0\n";
    for bad in ["", "YES", "00 : crc=00 YES\n00 t=\n", "00 : crc=00 YES\n00 t=1e5\n", "t=5", low] {
        tree.write(&format!("{folder}/w1_slave"), bad);
        assert_eq!(read(&tree, &names[0]).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
    }
}

#[test]
fn files_that_attack_are_faults_of_one_sensor() {
    let tree = Copied::empty();
    lm75(&tree, "hwmon0");
    let file = "sys/class/hwmon/hwmon0/temp1_input";
    tree.without(file).link(file, "/dev/zero");
    assert!(read(&tree, "lm75@1-0048/temp1").unwrap_err().to_string().contains("longer than a page"));
    tree.without(file);
    for bad in [&b"21\xff"[..], b"", b"\0\0", b"21500 21500", &[b'1'; 5000], &[b' '; 9000]] {
        tree.write(file, bad);
        assert_eq!(read(&tree, "lm75@1-0048/temp1").unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
    let found = sensors(&tree).remove(0);
    tree.without("sys/devices/platform/soc/3f804000.i2c/i2c-1/1-0048/hwmon");
    assert_eq!(
        Kernel(tree.root()).read(&found).unwrap_err().kind(),
        io::ErrorKind::NotFound,
        "it vanished after the list"
    );
    assert_eq!(sensors(&tree), [], "a link without its chip is no sensor");
}

#[test]
fn names_stay_plain_short_and_different() {
    let tree = Copied::empty();
    let odd = ["a\u{202e}b,c>d e", &"x".repeat(500), "twin", "twin", "twin"];
    for (n, name) in odd.iter().enumerate() {
        tree.write(&format!("sys/class/hwmon/hwmon{n}/name"), name);
        tree.write(&format!("sys/class/hwmon/hwmon{n}/temp1_input"), "1000");
    }
    tree.write("sys/class/hwmon/hwmon9/name", b"\xff\xfe").write("sys/class/hwmon/hwmon9/temp1_input", "1000");
    tree.write(&format!("sys/class/hwmon/hwmon9/temp{}_input", "9".repeat(200)), "1000");
    let names: Vec<String> = sensors(&tree).into_iter().map(|sensor| sensor.name).collect();
    let long = format!("{}/temp1", "x".repeat(30));
    assert_eq!(names, ["a_b_c_d_e/temp1", "hwmon/temp1", "twin/temp1", "twin/temp1#2", "twin/temp1#3", &long]);
}

#[test]
fn a_machine_without_them_has_none_and_captured_ones_have_theirs() {
    assert_eq!(sensors(&Copied::empty()), []);
    for (name, some) in [("pi-5", "cpu_thermal"), ("pi-4b", "cpu_thermal"), ("pc", "coretemp")] {
        let found = Kernel(tree(name)).list();
        assert!(found.iter().any(|sensor| sensor.chip == some), "{name}: {found:#?}");
    }
}
