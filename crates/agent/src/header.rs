//! The registers of a Raspberry Pi's header. Read access to them includes write access, so the server has none.

use base::error::ToolError;
use contract::values::Pin;
use hw::{
    board::Board,
    gpio::{pin_cache::PinLook, registers::Registers},
    model::BoardKind,
};
use std::sync::OnceLock;

/// The registers of the header; opened on first use.
#[derive(Default)]
pub struct HeaderRegisters {
    board: Option<Board>,
    registers: OnceLock<Result<Registers, String>>,
}

impl HeaderRegisters {
    /// The header of a Raspberry Pi; other boards have none.
    pub fn of(board: &Board) -> Self {
        let board = (board.kind == BoardKind::RaspberryPi).then(|| board.clone());
        Self { board, registers: OnceLock::new() }
    }

    /// Reads every pin of the header from its registers.
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
