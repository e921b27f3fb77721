//! What is before the simulated cameras.

use crate::contract::hardware::hand::{Camera, Held, Scene};
use hw::camera::{
    Holder,
    simulated::{CameraTrouble, SimulatedCameras},
};
use std::sync::Arc;

pub struct SimulatedScene {
    state: Arc<SimulatedCameras>,
    cameras: [Camera; 2],
}

impl SimulatedScene {
    pub fn of(state: &Arc<SimulatedCameras>) -> Self {
        let camera = |id: &str, name, mjpeg| Camera { id: id.into(), name, mjpeg, size: (640, 480) };
        let cameras = [camera("/dev/video0", "test card", false), camera("/dev/video2", "webcam", true)];
        Self { state: Arc::clone(state), cameras }
    }
}

/// Nobody in particular.
const OTHER: u32 = 812;

struct Hog(Arc<SimulatedCameras>, String);

impl Drop for Hog {
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
    fn hog(&self, camera: &Camera) -> (Held, u32) {
        self.state.fail(&camera.id, CameraTrouble::Busy(Holder { pid: OTHER, name: "motion".into() }));
        (Box::new(Hog(Arc::clone(&self.state), camera.id.clone())), OTHER)
    }
    fn lights(&self, _: &Camera) -> Held {
        Box::new(())
    }
}
