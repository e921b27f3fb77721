//! `camera.*` before the simulated board's two cameras: one gives pixels, one compresses them itself.

mod doors;
mod failing;
mod keeping;
mod rpicam;
mod taking;

use crate::support::camera::*;
