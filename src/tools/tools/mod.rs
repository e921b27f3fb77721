//! `tools.*`: finding the right tool without reading them all, and calling those that are not listed.

mod access;
pub(super) mod arguments;
mod describe;
mod ranking;
mod run;
mod run_read;
mod search;
mod spelling;

use crate::registry::row::ToolRow;

#[cfg(feature = "console")]
pub(crate) use {arguments::Arguments, run::shown};

pub(crate) use ranking::{line_of, words};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<describe::Describe>(),
    ToolRow::of::<run::Run>(),
    ToolRow::of::<run_read::RunRead>(),
    ToolRow::of::<search::Search>(),
];
