//! Explains why `logs.query_journal` has found nothing: an unknown unit, a journal that began with this boot, or a
//! filter.

use crate::{registry::context::Context, tools::empty};
use base::os::systemd::properties;
use std::time::Duration;

/// Time limit for systemd's answer, which normally takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// journald's persistent storage; without it the journal is only in memory (journald.conf(5), Storage=).
const PERSISTENT: &str = "var/log/journal";

/// One sentence. `given` are the arguments that narrowed the query.
pub async fn why(cx: &Context, unit: Option<&str>, given: &[(&str, bool)]) -> String {
    if let Some(unit) = unit
        && is_unknown(cx, unit).await
    {
        return format!("systemd knows no unit '{unit}': service.list_services has the names of services");
    }
    let mut why = empty::narrowed("lines", given);
    if !cx.services.machine.root.has(PERSISTENT) {
        why.push_str("; the journal is kept in memory here (no /var/log/journal) and begins with this boot");
    }
    why
}

/// Whether systemd reports that the unit does not exist. False without an answer.
async fn is_unknown(cx: &Context, unit: &str) -> bool {
    let name = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
    let Ok(Ok(answer)) = tokio::time::timeout(PATIENCE, properties::of_unit(&cx.services.machine.bus, &name)).await
    else {
        return false;
    };
    answer.read().is_ok_and(|properties| properties.text("LoadState") == Some("not-found"))
}
