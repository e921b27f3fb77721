//! Sensors that the kernel has drivers for: hardware monitors (hwmon), Industrial I/O and 1-Wire thermometers.
//!
//! A list reads texts of the kernel only. A reading may block for as long as its driver takes (a 1-Wire thermometer 750
//! ms, a slow bus a second for each transfer), so it runs where that is allowed, and one call at a time: a sensor that hangs holds one
//! thread.

mod attribute;
mod device;
mod hwmon;
mod iio;
mod kernel;
mod port;
mod quantity;
pub mod simulated;
mod w1;

pub use kernel::Kernel;
pub use port::{LONGEST_NAME, Reading, Sensor, SensorDevice, SensorPort};
pub use quantity::{QUANTITIES, Quantity};

use crate::onewire::thermometer_family;
use base::{
    error::{ErrorCode, ToolError},
    nearest::nearest,
    os::{Root, blocking},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

/// How long one call may measure; what it has not begun by then is not read. Below the time limit of a tool.
pub const MEASURES: Duration = Duration::from_secs(20);

/// The sensors of this machine. Cheap to clone.
#[derive(Clone)]
pub struct Sensors {
    port: Arc<dyn SensorPort>,
    turn: Arc<Semaphore>,
}

/// Which sensors are to be read.
#[derive(Clone, Debug)]
pub enum Wanted {
    Names(Vec<String>),
    /// All of a quantity, or all.
    Quantity(Option<&'static Quantity>),
}

/// Whether the sensor of that name is on a 1-Wire bus: its place is the address of a device there.
pub fn is_onewire(name: &str) -> bool {
    let place = name.split_once('@').and_then(|(_, rest)| rest.split_once('/')).map(|(place, _)| place);
    place.is_some_and(|place| thermometer_family(place).is_some())
}

/// One sensor that was asked for.
#[derive(Clone, Debug)]
pub struct SensorReading {
    pub name: String,
    /// `None` if there is none of that name.
    pub sensor: Option<Sensor>,
    pub reading: Result<Reading, ToolError>,
}

impl Sensors {
    /// The sensors of this machine, or of a simulated board.
    pub fn of(root: &Root, simulated: Option<&simulated::SimulatedSensors>) -> Self {
        match simulated {
            Some(sensors) => Self::on(Arc::new(sensors.clone())),
            None => Self::on(Arc::new(Kernel(root.clone()))),
        }
    }

    pub fn on(port: Arc<dyn SensorPort>) -> Self {
        Self { port, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Every sensor, by name.
    pub fn list(&self) -> Vec<Sensor> {
        self.port.list()
    }

    /// Reads the wanted ones, one after the other. A sensor that cannot be read fails for itself only. Waits at most
    /// `patience` for other calls of this.
    ///
    /// # Errors
    /// `cancelled`; `unavailable` if others do not let go of the sensors.
    pub async fn read(
        &self,
        what: &'static str,
        wanted: Wanted,
        patience: Duration,
    ) -> Result<Vec<SensorReading>, ToolError> {
        let turn = match blocking::unless_told(what, timeout(patience, Arc::clone(&self.turn).acquire_owned())).await? {
            Ok(Ok(turn)) => turn,
            // Never closed; reported like a timeout.
            Ok(Err(_)) | Err(_) => {
                return Err(ToolError::unavailable("another call still reads the sensors, for longer than they take")
                    .hint("a sensor's bus may hang: try again, and look at logs.query_journal with priority err"));
            }
        };
        let port = Arc::clone(&self.port);
        let began = Instant::now();
        blocking::run(what, move |stop| {
            let _turn = turn;
            let there = port.list();
            let asked: Vec<(String, Option<Sensor>)> = match wanted {
                Wanted::Names(names) => names
                    .into_iter()
                    .map(|name| {
                        let sensor = there.iter().find(|sensor| sensor.name == name).cloned();
                        (name, sensor)
                    })
                    .collect(),
                Wanted::Quantity(quantity) => there
                    .iter()
                    .filter(|sensor| quantity.is_none_or(|quantity| sensor.quantity == quantity))
                    .map(|sensor| (sensor.name.clone(), Some(sensor.clone())))
                    .collect(),
            };
            let mut read = Vec::with_capacity(asked.len());
            for (name, sensor) in asked {
                stop.check()?;
                let reading = match &sensor {
                    None => Err(unknown(&name, &there)),
                    Some(_) if began.elapsed() > MEASURES => Err(ToolError::new(
                        ErrorCode::Timeout,
                        format!("the sensors before it took {} s", MEASURES.as_secs()),
                    )
                    .hint("ask for fewer at once")),
                    Some(sensor) => port.read(sensor).map_err(|fault| unread(&name, &fault)),
                };
                read.push(SensorReading { name, sensor, reading });
            }
            Ok(read)
        })
        .await
    }
}

/// The error for a name that none of them has.
pub fn unknown(name: &str, there: &[Sensor]) -> ToolError {
    let error = ToolError::not_found(format!("there is no sensor '{name}'"));
    match nearest(name, there.iter().map(|sensor| sensor.name.as_str())) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint("sensors.list has their names"),
    }
}

fn unread(name: &str, fault: &io::Error) -> ToolError {
    match fault.kind() {
        io::ErrorKind::NotFound => ToolError::not_found(format!("sensor '{name}' is gone"))
            .hint("is it plugged in? sensors.list has those there are"),
        _ => ToolError::unavailable(format!("sensor '{name}' cannot be read: {fault}"))
            .hint("look at its wires and at logs.query_journal"),
    }
}
