//! `tools.*`: finding the right tool without reading them all.

mod search;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[Entry::of::<search::Search>()];
