//! `logs.*`: the journal, the server's log and the audit.

mod journal_args;
mod journal_empty;
mod journal_page;
mod query_journal;
mod recent_app_logs;
mod recent_audit_logs;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<recent_app_logs::GetRecentAppLogs>(),
    Entry::of::<recent_audit_logs::GetRecentAuditLogs>(),
    Entry::of::<query_journal::QueryJournal>(),
];
