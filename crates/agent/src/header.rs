//! The registers of a Raspberry Pi's header: whoever can read those can write them, so they are not the server's.

use base::error::ToolError;
use contract::values::Pin;
use hw::{
    board::Board,
    gpio::{pin_cache::PinLook, registers::Registers},
    model::Kind,
};
use std::sync::OnceLock;

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

    /// Every pin of the header, as its registers have it.
    ///
    /// # Errors
    /// `capability_missing` for a board whose registers are not known; `unavailable` when they cannot be opened.
    pub(super) fn look(&self) -> Result<Vec<PinLook>, ToolError> {
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
