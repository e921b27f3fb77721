//! What is before the simulated cameras.

use crate::contract::hardware::hand::{Camera, Held, Hog, Scene};
use raspi_mcp::hw::camera::{
    Holder,
    simulated::{Simulated, Trouble},
};
use std::sync::Arc;

pub struct SimulatedScene {
    state: Arc<Simulated>,
    cameras: [Camera; 2],
}

impl SimulatedScene {
    pub fn of(state: &Arc<Simulated>) -> Self {
        let camera = |id: &str, name, mjpeg| Camera { id: id.into(), name, mjpeg, size: (640, 480) };
        let cameras = [camera("/dev/video0", "test card", false), camera("/dev/video2", "webcam", true)];
        Self { state: Arc::clone(state), cameras }
    }
}

struct Busy(Arc<Simulated>, String);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.heal(&self.1);
    }
}

impl Scene for SimulatedScene {
    fn cameras(&self) -> &[Camera] {
        &self.cameras
    }
    fn is_exclusive(&self, _: &Camera) -> bool {
        true
    }
    fn hog(&self, camera: &Camera) -> Hog {
        let holder = Holder { pid: 812, name: "motion".into() };
        self.state.fail(&camera.id, Trouble::Busy(holder.clone()));
        let held = Box::new(Busy(Arc::clone(&self.state), camera.id.clone()));
        Hog { pid: holder.pid, name: holder.name, _until: held }
    }
    fn lights(&self, _: &Camera) -> Held {
        Box::new(())
    }
}
