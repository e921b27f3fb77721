//! A look at the pins of a Raspberry Pi through their registers: whoever can read those can write them, so they are not the
//! server's. Nothing is changed.

use crate::{
    agent::Agent,
    error::ToolError,
    hw::{
        board::Board,
        gpio::{registers::Registers, told::PinLook},
        model::Kind,
    },
    values::Pin,
};
use std::sync::OnceLock;

/// The tool whose answers it belongs to; who switches that off switches this off.
const LIST: &str = "gpio.list_pins";

/// The registers of the header; opened when they are first asked for.
#[derive(Default)]
pub struct Header {
    board: Option<Board>,
    registers: OnceLock<Result<Registers, String>>,
}

impl Header {
    /// That of a Raspberry Pi; other boards have none.
    pub fn of(board: &Board) -> Self {
        let board = (board.kind == Kind::RaspberryPi).then(|| board.clone());
        Self { board, registers: OnceLock::new() }
    }

    fn look(&self) -> Result<Vec<PinLook>, ToolError> {
        let board =
            self.board.as_ref().ok_or_else(|| ToolError::missing("this board has no registers that we know"))?;
        let registers = self.registers.get_or_init(|| Registers::open(board.profile)).as_ref().map_err(|why| {
            ToolError::unavailable(format!("the registers of the pins cannot be opened: {why}"))
                .with("resource", "/dev/gpiomem")
                .hint("Raspberry Pi's kernels have that device; others do not let anybody read them")
        })?;
        let looks = Pin::all().filter_map(|pin| {
            let (function, level) = registers.look(pin)?;
            Some(PinLook { pin: pin.bcm(), function, level })
        });
        Ok(looks.collect())
    }
}

impl Agent {
    /// Every pin of the header but its own, as the registers have it.
    pub(in crate::agent) fn look_at_pins(&self) -> Result<Vec<PinLook>, ToolError> {
        self.policy().check_read(LIST)?;
        let own = self.settings.approval.pins();
        let mut looks = self.header.look()?;
        looks.retain(|look| !own.contains(&look.pin));
        Ok(looks)
    }
}
