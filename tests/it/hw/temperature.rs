//! The temperature, by each of the four steps (docs/contract/system.md).

use crate::support::trees::{Copied, machine, machine_as, tree};
use ::hw::{
    board::Choice,
    machine::Machine,
    temperature::{self, TemperatureReading, TemperatureSource},
};
use std::io;

async fn measured(machine: &Machine) -> io::Result<Option<TemperatureReading>> {
    temperature::read(&machine.root, &machine.board, &machine.firmware).await
}

#[tokio::test]
async fn first_the_thermal_zone_on_every_raspberry_pi() {
    for (name, celsius) in [("pi-zero-2-w", 42.932), ("pi-3b", 48.312), ("pi-4b", 51.121), ("pi-5", 52.35)] {
        let reading = measured(&machine(tree(name))).await.unwrap().unwrap();
        assert_eq!(reading, TemperatureReading { celsius, source: TemperatureSource::ThermalZone }, "{name}");
    }
}

#[tokio::test]
async fn then_vcgencmd_then_hwmon_then_nothing() {
    let pi = Copied::of("pi-5");
    pi.without("sys/class/thermal").script("usr/bin/vcgencmd", "[ \"$1\" = measure_temp ] && echo \"temp=47.2'C\"");
    let reading = measured(&machine(pi.root())).await.unwrap().unwrap();
    assert_eq!(reading, TemperatureReading { celsius: 47.2, source: TemperatureSource::Vcgencmd });

    pi.without("usr/bin/vcgencmd");
    let reading = measured(&machine(pi.root())).await.unwrap().unwrap();
    assert_eq!(reading, TemperatureReading { celsius: 52.35, source: TemperatureSource::Hwmon });

    pi.without("sys/class/hwmon");
    // sysinfo, the last step, reads this machine only: a captured tree gets no answer from it.
    assert_eq!(measured(&machine(pi.root())).await.unwrap(), None);
}

#[tokio::test]
async fn of_several_monitors_the_processors() {
    let pc = Copied::of("pc");
    pc.without("sys/class/thermal");
    let reading = measured(&machine_as(Choice::Linux, pc.root())).await.unwrap().unwrap();
    assert_eq!(
        reading,
        TemperatureReading { celsius: 44.0, source: TemperatureSource::Hwmon },
        "coretemp, not the disk before it"
    );
}

#[tokio::test]
async fn a_zone_is_the_processors_by_its_type_and_another_parts_is_none() {
    let pi = Copied::of("pi-5");
    pi.without("sys/class/thermal").without("sys/class/hwmon");
    let zone = |number: u32, kind: &str, millidegrees: u32| {
        pi.write(&format!("sys/class/thermal/thermal_zone{number}/type"), format!("{kind}\n"));
        pi.write(&format!("sys/class/thermal/thermal_zone{number}/temp"), format!("{millidegrees}\n"));
    };
    for (number, other) in ["iwlwifi_1", "acpitz", "battery", "nvme", "gpu-thermal"].into_iter().enumerate() {
        zone(u32::try_from(number).unwrap(), other, 81_000);
        assert_eq!(measured(&machine(pi.root())).await.unwrap(), None, "{other}");
    }
    pi.write("sys/class/hwmon/hwmon0/name", "nvme\n").write("sys/class/hwmon/hwmon0/temp1_input", "33000\n");
    assert_eq!(measured(&machine(pi.root())).await.unwrap(), None, "a disk's sensor is no processor's");
    zone(12, "cpu-thermal", 47_500);
    let reading = measured(&machine(pi.root())).await.unwrap().unwrap();
    assert_eq!(reading, TemperatureReading { celsius: 47.5, source: TemperatureSource::ThermalZone });
}

#[tokio::test]
async fn when_every_source_fails_the_first_fault_is_told() {
    let pi = Copied::of("pi-4b");
    pi.write("sys/class/thermal/thermal_zone0/temp", "hot\n").write("sys/class/hwmon/hwmon0/temp1_input", "");
    let fault = measured(&machine(pi.root())).await.unwrap_err();
    assert_eq!(fault.kind(), io::ErrorKind::InvalidData);
    assert!(fault.to_string().starts_with("/sys/class/thermal/thermal_zone0/temp"), "{fault}");
}

#[tokio::test]
async fn a_simulated_board_has_its_own() {
    let pc = machine(tree("pc"));
    let reading = measured(&pc).await.unwrap().unwrap();
    assert_eq!(reading.source, TemperatureSource::Simulated);
    assert!((44.0..=50.0).contains(&reading.celsius), "{}", reading.celsius);
    pc.board.simulated.as_ref().unwrap().set_celsius(85.0);
    assert_eq!(measured(&pc).await.unwrap().unwrap().celsius, 85.0);
}

#[tokio::test]
async fn this_machine_answers_or_has_no_sensor() {
    // Whatever this machine is, sysinfo's step must neither fail nor invent.
    let here = machine_as(Choice::Linux, base::os::Root::system());
    if let Some(reading) = measured(&here).await.unwrap() {
        assert!((-60.0..200.0).contains(&reading.celsius), "{reading:?}");
    }
}
