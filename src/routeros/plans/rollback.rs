//! Takes an applied plan back: the inverse of what was recorded, as a plan of its own, with its own approval, confirmed or taken back
//! like any other.

use super::{
    super::{
        call::RouterCall,
        plan::{Action, Base, Change, Fields},
        service::RouterService,
        table::Answer,
    },
    apply::{no_token, start},
    make::{all_or_why, risk},
    record::{DevicePlan, Plan, Step, now_ms},
    store::new_id,
};
use base::error::ToolError;
use futures::{StreamExt, stream};

const AT_ONCE: usize = 16;

pub fn subject<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move { Ok(inverse_of(service, call).await?.subject(call.text("plan_id"))) })
}

pub fn rollback<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let plan = inverse_of(service, call).await?;
        service.work.files.keep_plan(&plan)?;
        start(service, call, plan).await
    })
}

/// The inverse of a plan at the routers where it was done.
async fn inverse_of(service: &RouterService, call: &RouterCall) -> Result<Plan, ToolError> {
    no_token(call)?;
    let plan = service.work.files.plan(call.text("plan_id"))?;
    let refused = |why: &str| {
        ToolError::precondition(format!("the plan {} {why}", plan.plan_id)).with("plan_id", plan.plan_id.as_str())
    };
    let job = match (&plan.job_id, plan.status.as_str()) {
        (Some(job), "applied" | "halted") => service.work.files.job(job)?,
        (_, "rolled_back") => return Err(refused("is taken back already")),
        (_, "applying") => return Err(refused("is being applied").hint("wait for its job, or cancel that call")),
        _ => return Err(refused("was not applied: there is nothing to take back")),
    };
    let done = |device: &&DevicePlan| {
        job.devices.iter().any(|step| step.device_id == device.device_id && step.status == Step::Success)
    };
    let devices: Vec<DevicePlan> = plan.devices.iter().filter(done).cloned().collect();
    if devices.is_empty() {
        return Err(refused("was done at no router: there is nothing to take back"));
    }
    let inverted = devices.into_iter().map(|device| async move {
        let read = async {
            let router = service.router(call, &device.device_id)?;
            let changes = inverse(&device)?;
            let base = Base::read(&router.client, &changes).await;
            router.note(base.as_ref().err());
            Ok(DevicePlan {
                risk: risk(&changes, !device.dangers.is_empty(), device.environment),
                changes,
                base: base?,
                unread: Vec::new(),
                ..device.clone()
            })
        };
        let read: Result<DevicePlan, ToolError> = read.await;
        (device.device_id.clone(), read)
    });
    let devices = all_or_why(stream::iter(inverted).buffered(AT_ONCE).collect().await)?;
    Ok(Plan {
        plan_id: new_id("plan")?,
        tool: call.tool.name.to_owned(),
        apply: call.tool.name.to_owned(),
        created_by: call.principal.clone(),
        created_ms: now_ms(),
        summary: format!("Takes back {}: {}", plan.plan_id, call.text("reason")),
        timer_seconds: plan.timer_seconds,
        status: "draft".into(),
        job_id: None,
        rollback_of: Some(plan.plan_id),
        devices,
    })
}

/// The changes that take a router's part of a plan back, last first.
fn inverse(device: &DevicePlan) -> Result<Vec<Change>, ToolError> {
    let mut all = Vec::new();
    for (at, change) in device.changes.iter().enumerate().rev() {
        let row = device.base.row(at);
        let later = || device.changes[at + 1..].iter();
        let (select, action) = match &change.action {
            Action::Add(..) => (change.after(), Action::Remove),
            // The row was removed afterwards, and is made again as it was.
            Action::Set(_)
                if later().any(|later| {
                    later.action == Action::Remove && later.menu == change.menu && later.select == change.select
                }) =>
            {
                continue;
            }
            Action::Set(to) => {
                let old = |name: &String| row.and_then(|row| row.fields.get(name)).cloned().unwrap_or_default();
                let before: Fields = to.keys().map(|name| (name.clone(), old(name))).collect();
                let select =
                    change.select.iter().map(|(name, value)| (name.clone(), to.get(name).unwrap_or(value).clone()));
                (select.collect(), Action::Set(before))
            }
            Action::Remove => {
                let row = row.ok_or_else(|| ToolError::internal("a removed row without its record"))?;
                let keys = &change.select;
                let more = row.fields.iter().filter(|(name, value)| !keys.contains_key(*name) && !value.is_empty());
                let more = more.map(|(name, value)| (name.clone(), value.clone())).collect();
                // A rule comes back where it was.
                (keys.clone(), Action::Add(more, row.following.clone()))
            }
        };
        all.push(Change { menu: change.menu.clone(), select, action });
    }
    Ok(all)
}
