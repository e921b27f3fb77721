//! `logs.*`: the journal, the server's log and the audit.

mod journal_args;
mod journal_empty;
mod journal_end;
mod journal_grep;
mod journal_page;
mod query_journal;
mod recent_app_logs;
mod recent_audit_logs;

pub use query_journal::{QueryJournal, newest_of};

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<recent_app_logs::GetRecentAppLogs>(),
    ToolRow::of::<recent_audit_logs::GetRecentAuditLogs>(),
    ToolRow::of::<query_journal::QueryJournal>(),
];
