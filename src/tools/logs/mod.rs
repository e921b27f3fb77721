//! `logs.*`: what the server said and what was done through it.

mod recent_audit_logs;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[Entry::of::<recent_audit_logs::RecentAuditLogs>()];
