//! What sensors measure, in which unit, and how the kernel's numbers become it.
//!
//! hwmon: Documentation/hwmon/sysfs-interface.rst. IIO: Documentation/ABI/testing/sysfs-bus-iio, whose units hold after
//! `(raw + offset) * scale`.

/// What is measured, and the unit of its values.
#[derive(Debug, PartialEq, Eq)]
pub struct Quantity {
    pub word: &'static str,
    pub unit: &'static str,
}

/// One type of channel: its prefix in file names, what it measures, and the factor to its unit.
pub type ChannelType = (&'static str, &'static Quantity, f64);

macro_rules! quantities {
    ($($name:ident $word:literal $unit:literal),+ $(,)?) => {
        $(pub static $name: Quantity = Quantity { word: $word, unit: $unit };)+
        /// All of them.
        pub static QUANTITIES: &[&Quantity] = &[$(&$name),+];
    };
}

quantities! {
    TEMPERATURE "temperature" "celsius",
    VOLTAGE "voltage" "volts",
    CURRENT "current" "amperes",
    POWER "power" "watts",
    ENERGY "energy" "joules",
    HUMIDITY "humidity" "percent",
    FAN "fan_speed" "rpm",
    DUTY "duty_cycle" "percent",
    PRESSURE "pressure" "kilopascals",
    ILLUMINANCE "illuminance" "lux",
    INTENSITY "light_intensity" "count",
    PROXIMITY "proximity" "count",
    DISTANCE "distance" "meters",
    ACCELERATION "acceleration" "meters_per_second_squared",
    ROTATION "rotation_rate" "radians_per_second",
    MAGNETIC "magnetic_field" "gauss",
    ANGLE "angle" "radians",
    INCLINATION "inclination" "degrees",
    CONCENTRATION "concentration" "ppm",
    PARTICLES "mass_concentration" "micrograms_per_cubic_meter",
    RESISTANCE "resistance" "ohms",
    CAPACITANCE "capacitance" "nanofarads",
    UV_INDEX "uv_index" "index",
    ACIDITY "acidity" "ph",
    CONDUCTIVITY "conductivity" "siemens_per_meter",
}

/// Channels of hwmon: millivolts, milliamperes, microwatts and so on.
pub static HWMON: &[ChannelType] = &[
    ("temp", &TEMPERATURE, 1e-3),
    ("in", &VOLTAGE, 1e-3),
    ("curr", &CURRENT, 1e-3),
    ("power", &POWER, 1e-6),
    ("energy", &ENERGY, 1e-6),
    ("humidity", &HUMIDITY, 1e-3),
    ("fan", &FAN, 1.0),
    // 0 to 255
    ("pwm", &DUTY, 100.0 / 255.0),
];

/// Channels of IIO.
pub static IIO: &[ChannelType] = &[
    ("temp", &TEMPERATURE, 1e-3),
    ("voltage", &VOLTAGE, 1e-3),
    ("current", &CURRENT, 1e-3),
    ("power", &POWER, 1e-3),
    ("energy", &ENERGY, 1.0),
    ("humidityrelative", &HUMIDITY, 1e-3),
    ("pressure", &PRESSURE, 1.0),
    ("illuminance", &ILLUMINANCE, 1.0),
    ("intensity", &INTENSITY, 1.0),
    ("proximity", &PROXIMITY, 1.0),
    ("distance", &DISTANCE, 1.0),
    ("accel", &ACCELERATION, 1.0),
    ("gravity", &ACCELERATION, 1.0),
    ("anglvel", &ROTATION, 1.0),
    ("magn", &MAGNETIC, 1.0),
    ("angl", &ANGLE, 1.0),
    ("incli", &INCLINATION, 1.0),
    // Percent.
    ("concentration", &CONCENTRATION, 1e4),
    ("massconcentration", &PARTICLES, 1.0),
    ("resistance", &RESISTANCE, 1.0),
    ("capacitance", &CAPACITANCE, 1.0),
    ("uvindex", &UV_INDEX, 1.0),
    ("ph", &ACIDITY, 1.0),
    ("electricalconductivity", &CONDUCTIVITY, 1.0),
];

/// Splits `temp12_input` after the letters and the digits: the type, its number, and the rest. The letters must be those
/// of a type.
pub fn split<'a>(types: &'static [ChannelType], name: &'a str) -> Option<(&'static ChannelType, &'a str, &'a str)> {
    let letters = name.len() - name.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
    let (word, rest) = name.split_at(letters);
    let kind = types.iter().find(|(prefix, ..)| *prefix == word)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    Some((kind, number, rest))
}
