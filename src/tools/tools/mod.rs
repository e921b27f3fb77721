//! `tools.*`: finding the right tool without reading them all.

mod describe;
mod ranking;
mod search;
mod spelling;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[Entry::of::<describe::Describe>(), Entry::of::<search::Search>()];
