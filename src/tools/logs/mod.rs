//! `logs.*`: the journal, the server's log and the audit.

mod journal_args;
mod journal_empty;
mod journal_page;
mod query_journal;
mod recent_app_logs;
mod recent_audit_logs;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<recent_app_logs::GetRecentAppLogs>(),
    Row::of::<recent_audit_logs::GetRecentAuditLogs>(),
    Row::of::<query_journal::QueryJournal>(),
];
