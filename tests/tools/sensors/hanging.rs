//! A sensor that does not answer: it holds one thread, and others are told.

use hw::sensors::{Reading, Sensor, SensorPort, Sensors, Wanted, simulated::SimulatedSensors};
use std::{
    io,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Sensors of which each reading waits for [`Stuck::let_go`].
#[derive(Default)]
struct Stuck {
    sensors: SimulatedSensors,
    free: Mutex<bool>,
    freed: Condvar,
    inside: AtomicUsize,
}

impl Stuck {
    fn let_go(&self) {
        *self.free.lock().unwrap() = true;
        self.freed.notify_all();
    }
}

impl SensorPort for Stuck {
    fn list(&self) -> Vec<Sensor> {
        self.sensors.list()
    }
    fn read(&self, sensor: &Sensor) -> io::Result<Reading> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        drop(self.freed.wait_while(self.free.lock().unwrap(), |free| !*free).unwrap());
        self.sensors.read(sensor)
    }
}

const PATIENCE: Duration = Duration::from_millis(50);

#[tokio::test]
async fn one_that_hangs_holds_one_thread_and_the_rest_is_not_read_for_a_caller_who_has_gone() {
    let stuck = Arc::new(Stuck::default());
    let sensors = Sensors::on(Arc::clone(&stuck) as Arc<dyn SensorPort>);
    let first = tokio::spawn({
        let sensors = sensors.clone();
        async move { sensors.read("test", Wanted::Quantity(None), PATIENCE).await }
    });
    while stuck.inside.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        let refused = sensors.read("test", Wanted::Quantity(None), PATIENCE).await.unwrap_err();
        assert_eq!(refused.code.symbol(), "unavailable");
    }
    assert_eq!(stuck.inside.load(Ordering::SeqCst), 1);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    stuck.let_go();
    let read = sensors.read("test", Wanted::Quantity(None), Duration::from_secs(10)).await.unwrap();
    assert!(read.iter().all(|one| one.reading.is_ok()));
    assert_eq!(stuck.inside.load(Ordering::SeqCst), 1 + read.len(), "one of the caller who left, and all of this one");
}
