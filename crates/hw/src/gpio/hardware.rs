//! The hardware behind a board's pins.

use super::SimulatedGpio;
use crate::{
    model::{BoardKind, BoardProfile},
    pwm::SimulatedPwm,
};

/// How the pins of a board are accessed: through the kernel, on a Raspberry Pi through its registers as well, or in
/// memory.
#[derive(Clone, Debug)]
pub struct Hardware {
    pub kind: BoardKind,
    /// `None` for boards other than Raspberry Pis and for models newer than the table.
    pub profile: Option<&'static BoardProfile>,
    /// The pins of a simulated board.
    pub simulated: Option<Twin>,
}

/// Handles to the pins and channels of a simulated board.
#[derive(Clone, Debug)]
pub struct Twin {
    pub gpio: SimulatedGpio,
    pub pwm: SimulatedPwm,
}
