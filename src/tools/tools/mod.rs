//! `tools.*`: finding the right tool without reading them all, and calling those that are not listed.

mod arguments;
mod describe;
mod ranking;
mod run;
mod run_read;
mod search;
mod spelling;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<describe::Describe>(),
    Row::of::<run::Run>(),
    Row::of::<run_read::RunRead>(),
    Row::of::<search::Search>(),
];
