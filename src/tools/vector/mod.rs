//! `vector.*`: search in the manual and in indexed files (docs/contract/vector.md). The index is lexical, whatever the
//! name says.

mod get_page;
mod get_status;
mod rebuild;
mod search;

use crate::{
    indexing::ManualText,
    registry::{context::Context, row::ToolRow},
    tools::{
        files,
        tools::{line_of, words},
    },
};
use base::os::blocking::Turns;
use contract::meta::Mode;
use serde_json::Value;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<search::Search>(),
    ToolRow::of::<get_page::GetPage>(),
    ToolRow::of::<get_status::GetStatus>(),
    ToolRow::of::<rebuild::Rebuild>(),
];

/// Whether `files.read` and `files.list` would show the caller the files of a configured root: `tool` shows no more than
/// that.
fn may_read_files(cx: &Context, tool: &str) -> bool {
    let Some(read) = files::TOOLS.iter().find(|row| row.name() == "files.read") else { return false };
    let policy = cx.services.policy.held();
    let meta = read.meta;
    // A passage names its file. A file that a person has to be asked about is not shown without asking.
    let shown = ["files:list", "files:read"].into_iter().all(|action| cx.shows(tool, action));
    shown && policy.admit(meta, &cx.caller).is_ok() && matches!(policy.judge(meta, &Value::Null), Ok(Mode::Allow))
}

/// The index is used by one at a time, and each call has the texts of all tools, 0.1 MB.
static TURNS: Turns = Turns::new(1);

/// The descriptions of the tools that this server has.
fn descriptions(cx: &Context) -> Vec<ManualText> {
    let words = words();
    let text = |entry: std::sync::Arc<crate::registry::entry::Entry>| {
        let meta = entry.meta();
        let (name, title, description) = (meta.name, meta.title, meta.description);
        let words = line_of(&words, name).unwrap_or_default().trim();
        ManualText { name: name.to_owned(), text: format!("# {title}: {name}\n\n{description}\n\n{words}\n") }
    };
    cx.registry.entries().map(text).collect()
}
