//! Makes a plan: reads the routers side by side and changes nothing.

use super::{
    super::{
        call::RouterCall,
        plan::{Action, Base, Change, Fields, holds, is_exactly, is_known_by_all},
        routers::Router,
        service::RouterService,
        table::Answer,
    },
    danger::dangers,
    kinds::Kind,
    record::{DevicePlan, Plan, Risk, now_ms},
    seen::Seen,
    store::new_id,
    way::Way,
};
use base::error::ToolError;
use contract::meta::Environment;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many routers are read side by side. Each takes up to three connections.
const AT_ONCE: usize = 16;
/// Of one router: its scheduler keeps the inverse of all of them.
const MOST_CHANGES: usize = 200;

/// Makes and keeps a plan of this kind.
pub fn plan<'a>(service: &'a RouterService, call: &'a RouterCall, kind: &'static Kind) -> Answer<'a> {
    Box::pin(async move {
        let routers = routers(service, call)?;
        let (total, at) = (routers.len() as u64, std::sync::atomic::AtomicU64::new(0));
        let read = |router: Arc<Router>| {
            let at = &at;
            async move {
                let planned = one(service, call, kind, &router).await;
                router.note(planned.as_ref().err());
                let done = at.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                (call.progress)(done, total, router.id());
                (router.id().to_owned(), planned)
            }
        };
        let planned: Vec<_> = stream::iter(routers).map(read).buffered(AT_ONCE).collect().await;
        let devices = all_or_why(planned)?;
        if devices.iter().all(|device| device.changes.is_empty()) {
            return Err(ToolError::precondition(
                "every one of these routers is as wanted already: there is nothing to plan",
            )
            .with("devices", json!(devices.iter().map(|device| &device.device_id).collect::<Vec<_>>())));
        }
        let description = call.text("description");
        let plan = Plan {
            plan_id: new_id("plan")?,
            tool: call.tool.name.to_owned(),
            apply: kind.apply.to_owned(),
            created_by: call.principal.clone(),
            created_ms: now_ms(),
            summary: match description {
                "" => format!("{} on {}", call.tool.title, count(total)),
                given => format!("{given} on {}", count(total)),
            },
            timer_seconds: call.number("timer_seconds") as u64,
            status: "draft".into(),
            job_id: None,
            rollback_of: None,
            devices,
        };
        service.work.files.keep_plan(&plan)?;
        Ok(plan.shown())
    })
}

fn count(routers: u64) -> String {
    if routers == 1 { "1 router".into() } else { format!("{routers} routers") }
}

/// The routers of the call, each once.
fn routers(service: &RouterService, call: &RouterCall) -> Result<Vec<Arc<Router>>, ToolError> {
    let ids = call.texts("device_ids");
    if let Some((_, twice)) = ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)) {
        return Err(ToolError::invalid(format!("the router {twice} is named twice")).with("parameter", "device_ids"));
    }
    ids.iter().map(|id| service.router(call, id).cloned()).collect()
}

/// Every router, or an error that names all that could not be planned.
pub(super) fn all_or_why<T>(planned: Vec<(String, Result<T, ToolError>)>) -> Result<Vec<T>, ToolError> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let total = planned.len();
    for (device, one) in planned {
        match one {
            Ok(one) => good.push(one),
            Err(error) => bad.push((device, error)),
        }
    }
    let why: Vec<Value> = bad
        .iter()
        .map(|(device, error)| json!({ "device_id": device, "message": error.message, "hint": error.hint }))
        .collect();
    let Some((_, first)) = bad.into_iter().next() else { return Ok(good) };
    let message = if why.len() > 1 {
        format!("{} of {total} routers: {}", why.len(), first.message)
    } else {
        first.message.clone()
    };
    let first = first.with_message(message);
    Err(if total > 1 { first.with("devices", why) } else { first })
}

async fn one(
    service: &RouterService,
    call: &RouterCall,
    kind: &Kind,
    router: &Router,
) -> Result<DevicePlan, ToolError> {
    let seen = Seen::read(&router.client, kind.menus).await?;
    let version = seen.version()?.to_owned();
    service.work.files.tested(router.id(), &version)?;
    let mut changes = (kind.build)(call, &seen)?;
    changes.retain(|change| !is_so(&seen, change));
    if changes.len() > MOST_CHANGES {
        return Err(
            seen.refusal(format!("{} changes are too many; at most {MOST_CHANGES} are done at once", changes.len()))
        );
    }
    let base = Base::in_menus(&seen.menus, &changes).map_err(|error| error.with("device_id", router.id()))?;
    let way = Way::find(router.client.device(), &seen);
    let dangers = dangers(&way, &seen, &changes, &base);
    if !dangers.is_empty() && !call.flag("may_cut_off") {
        return Err(seen
            .refusal(dangers.join(" "))
            .with("dangers", dangers)
            .hint("may_cut_off = true plans it all the same: the router takes it back when this machine does not reach it any more"));
    }
    if let (Some(check), false) = (kind.check, changes.is_empty()) {
        check(router, call).await?;
    }
    let environment = router.standing.environment;
    let risk = risk(&changes, !dangers.is_empty(), environment);
    let (device_id, unread) = (router.id().to_owned(), seen.unread);
    Ok(DevicePlan { device_id, environment, version, risk, dangers, unread, changes, base })
}

/// Whether a router is as the change wants it.
pub fn is_so(seen: &Seen, change: &Change) -> bool {
    let rows = |fields| {
        let listing = seen.menus.get(&change.menu);
        let rows: Vec<&Value> = match listing {
            Some(Value::Array(rows)) => rows.iter().collect(),
            Some(single) => vec![single],
            None => Vec::new(),
        };
        rows.into_iter()
            .filter(|row| row["dynamic"] != "true" && row["disabled"] != "true" && holds(row, fields))
            .count()
    };
    match &change.action {
        Action::Remove => false,
        Action::Add(_, place) if is_known_by_all(&change.menu) => is_in_place(seen, change, place.as_ref()),
        Action::Add(..) => rows(&change.after()) == 1,
        Action::Set(to) => {
            let mut wanted = change.select.clone();
            wanted.extend(
                to.iter()
                    .filter(|(name, _)| !change.select.contains_key(*name))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            let keeps_keys = to.iter().all(|(name, value)| change.select.get(name).is_none_or(|old| old == value));
            keeps_keys && rows(&wanted) == 1
        }
    }
}

/// Whether just this rule is there, switched on, at its place: before the rule that `place` selects, or as the last one of its chain.
fn is_in_place(seen: &Seen, change: &Change, place: Option<&Fields>) -> bool {
    let wanted = change.after();
    let is_of_chain =
        |row: &&Value| row["dynamic"] != "true" && row["chain"] == wanted.get("chain").map_or("", String::as_str);
    let mut rows = seen.rows(&change.menu).filter(is_of_chain);
    let Some(row) = rows.find(|row| row["disabled"] != "true" && is_exactly(&change.menu, row, &wanted)) else {
        return false;
    };
    match place {
        // It is the first one itself, or stands before the one that was named.
        Some(place) => holds(row, place) || rows.next().is_some_and(|next| holds(next, place)),
        None => rows.next().is_none(),
    }
}

pub(super) fn risk(changes: &[Change], is_dangerous: bool, environment: Environment) -> Risk {
    const LOW: [&str; 3] = ["ip/dns", "system/ntp/client", "ip/firewall/address-list"];
    if changes.is_empty() {
        return Risk::None;
    }
    let is_low = changes.iter().all(|change| LOW.contains(&change.menu.as_str()));
    match (is_dangerous, is_low, environment) {
        (true, ..) | (_, false, Environment::Prod) => Risk::High,
        (false, true, Environment::Lab | Environment::Staging) => Risk::Low,
        _ => Risk::Medium,
    }
}
