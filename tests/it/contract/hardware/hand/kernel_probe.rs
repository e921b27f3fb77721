//! A DS18B20 that ci/qemu-hw's own 1-Wire master has at its bus, bit by bit; its parameters are what a hand would do.

use super::{Held, Probe};
use std::fs;

const PARAMETERS: &str = "/sys/module/w1_bench/parameters";

pub struct KernelProbe;

/// Puts a parameter back when it is dropped.
struct Back(&'static str);

impl Drop for Back {
    fn drop(&mut self) {
        put(self.0, "0");
    }
}

fn put(parameter: &str, value: &str) {
    fs::write(format!("{PARAMETERS}/{parameter}"), value).expect("the parameter can be set");
}

impl Probe for KernelProbe {
    fn address(&self) -> &str {
        "28-0000005ca1ab"
    }
    fn set(&self, sixteenths: i16) -> bool {
        put("sixteenths", &sixteenths.to_string());
        true
    }
    fn can_fail(&self) -> bool {
        true
    }
    fn disturb(&self) -> Held {
        put("disturbed", "1");
        Box::new(Back("disturbed"))
    }
    fn take(&self) -> Held {
        put("away", "1");
        Box::new(Back("away"))
    }
}

/// A real DS18B20, at that address: it shows the room, and nobody at the bench changes that.
pub struct Thermometer(pub String);

impl Probe for Thermometer {
    fn address(&self) -> &str {
        &self.0
    }
    fn set(&self, _: i16) -> bool {
        false
    }
    fn can_fail(&self) -> bool {
        false
    }
    fn disturb(&self) -> Held {
        unreachable!("it cannot fail on demand")
    }
    fn take(&self) -> Held {
        unreachable!("it cannot fail on demand")
    }
}
